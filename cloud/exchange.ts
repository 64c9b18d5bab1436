/** One call to Google and its answer as they crossed the wire, before our code read them, without headers. */
export interface Exchange {
  readonly wire: 'grpc' | 'rest';
  /** `google.cloud.tpu.v2.Tpu/GetNode`; over REST the verb, the service and the path: `GET tpu /v2/projects/P/locations/Z/nodes`. */
  readonly method: string;
  /** JSON: the message, or the body; null if there is none. */
  readonly request: unknown;
  /** google.rpc.Code over gRPC, else the HTTP status. */
  readonly code: number;
  /** JSON: the message or the body; google.rpc.Status if gRPC refused the call. */
  readonly answer: unknown;
  /** Fields of the answer that Google's published protos lack, such as `tpu.nodeSpec.99`. REST shows them by their names. */
  readonly unknownFields?: readonly string[];
}

export type OnExchange = (exchange: Exchange) => void;

/** One call to Google and its answer as they crossed the wire, before our code read them, without headers. */
export interface Exchange {
  readonly wire: 'grpc' | 'rest';
  /**
   * `google.cloud.tpu.v2.Tpu/GetNode`; over REST the verb, the service and the path: `GET tpu /v2/projects/P/locations/Z/nodes`.
   */
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

/** Limit for one answer of a provider, in bytes. A page of 1,000 slices of 64 hosts has about 30 MiB. */
const MOST_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Reads the text of an answer. Behind a provider's address there may be a proxy, or a wrongly configured endpoint, so it never
 * collects more than `most` bytes (docs/adr/0095).
 * @param body from `fetch`, or a message of node:http
 * @throws Error with a text that is meant to follow the address in a message
 */
export async function answerText(body: AsyncIterable<Uint8Array> | null, most = MOST_ANSWER_BYTES): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > most) throw new Error(`the answer is longer than ${most} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** Bytes that can be read again from any offset, so that a copy that was cut goes on where it was. */
export interface FileSource {
  /** Bytes. */
  readonly size: number;
  /** Of all of them, lower case hex. */
  readonly sha256: string;
  read(start: number): AsyncIterable<Buffer>;
}

/** Bytes that can be read again from any offset, so that an interrupted copy continues where it stopped. */
export interface FileSource {
  /** Bytes. */
  readonly size: number;
  /** SHA-256 of all bytes, in lower case hex. */
  readonly sha256: string;
  read(start: number): AsyncIterable<Buffer>;
}

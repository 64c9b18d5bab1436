/** Bytes kept: a few lines of any sane length. */
const KEPT_BYTES = 16 * 1024;

/** The last lines of a stream, in bounded memory. */
export class OutputTail {
  readonly #lines: number;
  #kept = Buffer.alloc(0);

  constructor(lines: number) {
    this.#lines = lines;
  }

  add(chunk: Buffer): void {
    this.#kept = Buffer.concat([this.#kept, chunk.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES);
  }

  text(): string {
    return this.#kept.toString().trimEnd().split('\n').slice(-this.#lines).join('\n');
  }
}

import { PassThrough } from 'node:stream';
import { answerWithin } from '../abort.js';
import { HostUnfit, HostUnreachable } from './port.js';

/** Limit of bytes that have arrived and are not read yet. */
const MOST_BYTES = 1024 * 1024;
const MOST_LINE_BYTES = 256;
/** Total wait for requested bytes, plus the time at the slowest rate. A slower host is gone, or wants to block others. */
const STALL_MS = 60_000;
const SLOWEST_BYTES_A_MS = 16;

/** The messages and bytes between this process and one command on a host. At most a MiB of the host's bytes is in memory. */
export class Talk {
  /** Connected to the command's stdin. */
  readonly stdin = new PassThrough();
  readonly #where: string;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #end: 'ended' | Error | undefined;
  #arrived: () => void = () => undefined;
  #taken: () => void = () => undefined;

  /** @param where begins messages about the host */
  constructor(where: string) {
    this.#where = where;
  }

  /** Receives the command's output. */
  readonly hear = (chunk: Buffer): void | Promise<void> => {
    if (this.#end !== undefined) return undefined;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#arrived();
    if (this.#bytes > MOST_BYTES) return new Promise((resolve) => (this.#taken = resolve));
    return undefined;
  };

  /** Called when the command has ended, or its output is not wanted any more. */
  close(error?: Error): void {
    this.#end ??= error ?? 'ended';
    this.stdin.end();
    this.#taken();
    this.#arrived();
  }

  say(line: string): void {
    if (this.#end === undefined) this.stdin.write(`${line}\n`);
  }

  /**
   * Returns the next line, or undefined if the command has ended. Waits for as long as the command runs. @throws HostUnfit for a
   * line of another form
   */
  async line(): Promise<string | undefined> {
    let line = Buffer.alloc(0);
    for (;;) {
      const chunk = await this.#next(MOST_LINE_BYTES);
      if (chunk === undefined) return undefined;
      const at = chunk.indexOf('\n');
      line = Buffer.concat([line, at < 0 ? chunk : chunk.subarray(0, at)]);
      if (line.length > MOST_LINE_BYTES) throw this.wrong('a line without an end');
      if (at < 0) continue;
      this.#putBack(chunk.subarray(at + 1));
      return line.toString();
    }
  }

  /** Yields this many bytes. @throws HostUnreachable if they do not arrive */
  async *take(count: number): AsyncGenerator<Buffer> {
    let leftMs = STALL_MS + count / SLOWEST_BYTES_A_MS;
    for (let left = count; left > 0;) {
      const since = performance.now();
      const chunk = await answerWithin(Math.max(1, leftMs), () => this.#next(left));
      leftMs -= performance.now() - since;
      if (chunk === undefined) throw new HostUnreachable(`${this.#where} was lost while it handed over a file`);
      left -= chunk.length;
      yield chunk;
    }
  }

  wrong(what: string): HostUnfit {
    return new HostUnfit(`${this.#where}: its runner says ${what} where it should hand over files`);
  }

  /** Returns at least one byte and at most `most`. Undefined at the end. */
  async #next(most: number): Promise<Buffer | undefined> {
    while (this.#chunks.length === 0) {
      if (this.#end instanceof Error) throw this.#end;
      if (this.#end !== undefined) return undefined;
      await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
    const chunk = this.#chunks.shift() as Buffer;
    this.#bytes -= chunk.length;
    this.#putBack(chunk.subarray(most));
    if (this.#bytes <= MOST_BYTES) this.#taken();
    return chunk.subarray(0, most);
  }

  #putBack(rest: Buffer): void {
    if (rest.length === 0) return;
    this.#chunks.unshift(rest);
    this.#bytes += rest.length;
  }
}

import { log } from '@temporalio/activity';
import { type StorePort, StoreUnavailable } from '../../cloud/store/port.js';
import { CUT_BYTES, cutAfterMs } from '../../domain/log-cut.js';
import { logChunkObject, offsetOfChunk } from '../../domain/store-layout.js';
import type { WorkMeter } from '../work-meter.js';
import { pause } from './pause.js';

/** Where a log goes, and who is told how late it came. */
export interface Shipping {
  readonly store: StorePort;
  readonly meter: Pick<WorkMeter, 'logLag'>;
}

/**
 * Ships one host's output into the store, as objects named by the offset of their first byte. What is stored is an exact
 * prefix of the output, never a hole, never a double (DESIGN.md 5): an object is only ever created, at the offset where the
 * stored bytes end, so of two workers that ship the same run at one time the later finds its name taken and goes on behind.
 *
 * What enters: `append`, in order. What leaves: one object at a time. `append` answers with a promise when more than
 * `CUT_BYTES` are held back; the caller reads nothing more until it is settled.
 */
export class LogStream {
  readonly #store: StorePort;
  readonly #meter: Pick<WorkMeter, 'logLag'>;
  readonly #prefix: string;
  readonly #host: string;
  readonly #signal: AbortSignal;
  readonly #openedAt = Date.now();
  /** Offset of the first byte held back. */
  #offset = 0;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** When the first byte held back came in. */
  #heldSince = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  private constructor({ store, meter }: Shipping, prefix: string, host: string, signal: AbortSignal) {
    this.#store = store;
    this.#meter = meter;
    this.#prefix = prefix;
    this.#host = host;
    this.#signal = signal;
  }

  /** @param signal ends the tries to reach a store that is away; what is then held back is read again from the host. */
  static async open(shipping: Shipping, prefix: string, host: number, signal: AbortSignal): Promise<LogStream> {
    const stream = new LogStream(shipping, prefix, String(host), signal);
    stream.#offset = await stream.#patiently(() => stream.#storedEnd());
    return stream;
  }

  /** Offset of the next byte wanted. */
  get position(): number {
    return this.#offset + this.#heldBytes;
  }

  append(chunk: Buffer): void | Promise<void> {
    if (this.#heldBytes === 0) this.#heldSince = Date.now();
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes >= CUT_BYTES) return this.flush();
    this.#timer ??= setTimeout(() => void this.flush().catch(() => undefined), cutAfterMs(Date.now() - this.#openedAt));
  }

  /** Stores everything held back. Rejects only when the signal ends the tries. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#writeHeld());
    return this.#writing;
  }

  async #writeHeld(): Promise<void> {
    while (this.#heldBytes > 0) {
      const bytes = Buffer.concat(this.#held, this.#heldBytes);
      const name = logChunkObject(this.#prefix, this.#host, this.#offset);
      const { kind } = await this.#patiently(() => this.#store.write(name, bytes, 'absent', 'text/plain'));
      const end = kind === 'written' ? this.#offset + bytes.length : await this.#patiently(() => this.#storedEnd());
      this.#meter.logLag((Date.now() - this.#heldSince) / 1000);
      this.#forget(end);
    }
  }

  /** Drops what is stored already, by us or by another worker. */
  #forget(storedEnd: number): void {
    const all = Buffer.concat(this.#held, this.#heldBytes);
    const rest = all.subarray(Math.min(all.length, Math.max(0, storedEnd - this.#offset)));
    this.#offset += all.length - rest.length;
    this.#held = rest.length > 0 ? [rest] : [];
    this.#heldBytes = rest.length;
    // What is left came in while the rest was being written.
    this.#heldSince = Date.now();
  }

  async #storedEnd(): Promise<number> {
    const chunks = await this.#store.list(`${this.#prefix}host-${this.#host}.`);
    const ends = chunks.flatMap(({ name, size }) => {
      const offset = offsetOfChunk(name);
      return offset === undefined ? [] : [offset + size];
    });
    return Math.max(0, ...ends);
  }

  async #patiently<T>(call: () => Promise<T>): Promise<T> {
    for (let pauseMs = 500; ; pauseMs = Math.min(pauseMs * 2, 15_000)) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || this.#signal.aborted) throw error;
        log.warn(`the store cannot be reached, log of host ${this.#host} is held back: ${error.message}`);
        await pause(pauseMs, this.#signal);
      }
    }
  }
}

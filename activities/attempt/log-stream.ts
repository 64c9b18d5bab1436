import { objectPlace, StoreRefused, type StorePort } from '../../cloud/store/port.js';
import { CUT_BYTES, cutAfterMs, FINE_MS } from '../../domain/output-lines.js';
import { logChunkObject, lostTailObject, offsetOfChunk } from '../../domain/store-layout.js';
import { largest } from '../../domain/extremes.js';
import type { EpochMs } from '../../domain/units.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { WorkMeter } from '../dependencies.js';
import { StorePatience } from './store-patience.js';

/** The store of a log, and the meter of its delay. */
export interface Shipping {
  readonly store: StorePort;
  readonly meter: Pick<WorkMeter, 'logLag'>;
  /** Absent: the stream's own patience, which tells no job. */
  readonly patience?: StorePatience;
  /** Absent: all of the output is stored. */
  readonly limit?: LogLimit;
  /** Whether this log is followed now. Absent: it is not. */
  readonly isFollowed?: () => boolean;
}

/**
 * Ships one host's output into the store, as objects named by the offset of their first byte. The stored bytes are an exact
 * prefix of the output, never with a hole or a double (docs/design.md, "Logs and the store"): an object is only ever created, at
 * the offset where the stored bytes end. So if two workers ship the same run at one time, the later one finds its name taken and
 * goes on after it.
 *
 * With a limit the prefix ends at exactly that byte, wherever objects are cut and whichever worker ships. The rest is taken and
 * dropped, so that the reader of the host goes on as before, and a line after the stored output says so.
 *
 * `append` takes output in order, and one object is written at a time. `append` returns a promise when more than `CUT_BYTES` are
 * held back. The caller reads nothing more until it is settled.
 */
export class LogStream {
  readonly #store: StorePort;
  readonly #meter: Pick<WorkMeter, 'logLag'>;
  readonly #prefix: string;
  readonly #host: string;
  readonly #patience: StorePatience;
  readonly #limit: LogLimit | undefined;
  readonly #isFollowed: () => boolean;
  readonly #openedAt = Date.now();
  /** Offset of the first byte held back. */
  #offset = 0;
  /** End of the stored bytes as last seen. It is beyond `position` while a worker that cuts at other offsets is ahead. */
  #storedTo = 0;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Bytes beyond the limit that came in, or that need not be read. */
  #dropped = 0;
  #hasSaidLimit = false;
  /** Time at which the first byte held back came in. */
  #heldSince = 0;
  #storedSince: EpochMs | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #endsLine = true;

  private constructor(shipping: Shipping, prefix: string, host: string, signal: AbortSignal) {
    const { store, meter, patience, limit, isFollowed = () => false } = shipping;
    this.#store = store;
    this.#isFollowed = isFollowed;
    this.#meter = meter;
    this.#prefix = prefix;
    this.#host = host;
    this.#limit = limit;
    this.#patience = patience ?? new StorePatience(signal);
  }

  /** @param signal ends the attempts to reach a store that is away; bytes held back then are read again from the host */
  static async open(shipping: Shipping, prefix: string, host: number, signal: AbortSignal): Promise<LogStream> {
    const stream = new LogStream(shipping, prefix, String(host), signal);
    const chunks = await stream.#patience.through(() => stream.#lastChunks(0));
    stream.#offset = endOf(chunks);
    stream.#storedSince = chunks.at(-2)?.updatedAt;
    return stream;
  }

  /** Offset of the next byte wanted. */
  get position(): number {
    return this.#end + this.#dropped;
  }

  /** End of the bytes that are stored or held back. */
  get #end(): number {
    return this.#offset + this.#heldBytes;
  }

  get #room(): number {
    return Math.max(0, (this.#limit?.bytes ?? Infinity) - this.#end);
  }

  /**
   * A log that has reached its limit needs no output from before this worker came: otherwise days of output would cross the
   * network again at each change of workers.
   * @param printed bytes of output that there are on the host
   */
  skipBeyondLimit(printed: number): void {
    if (this.#room === 0) this.#dropped = Math.max(this.#dropped, printed - this.#end);
  }

  /** Time at which the first byte came in that is not stored yet; undefined if all bytes are stored. */
  get heldSince(): EpochMs | undefined {
    return this.#heldBytes === 0 ? undefined : this.#heldSince;
  }

  /**
   * A time before which the last stored bytes were not read from the host: the bytes before them were stored at this time. Known
   * since the stream was opened. Undefined if it is not known.
   */
  get storedSince(): EpochMs | undefined {
    return this.#storedSince;
  }

  append(output: Buffer): void | Promise<void> {
    const chunk = output.subarray(0, this.#room);
    if (chunk.length > 0) this.#hold(chunk);
    this.#dropped += output.length - chunk.length;
    if (this.#mustSayLimit || this.#heldBytes >= CUT_BYTES) return this.flush();
    if (this.#heldBytes > 0) this.#cutLater();
  }

  /** Cuts the held output when its time is over. Looks every `LOOK_MS`, since a reader that follows makes that time shorter. */
  #cutLater(): void {
    const leftMs = (): number => this.#heldSince + this.#cutAfterMs - Date.now();
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        if (leftMs() > 0) this.#cutLater();
        else void this.flush().catch(() => undefined);
      },
      Math.min(leftMs(), LOOK_MS),
    );
  }

  get #cutAfterMs(): number {
    const ageMs = Date.now() - this.#openedAt;
    return cutAfterMs(ageMs, ageMs >= FINE_MS && this.#isFollowed());
  }

  #hold(chunk: Buffer): void {
    if (this.#heldBytes === 0) this.#heldSince = Date.now();
    this.#held.push(chunk);
    this.#endsLine = chunk.at(-1) === NEW_LINE;
    this.#heldBytes += chunk.length;
  }

  get #mustSayLimit(): boolean {
    return this.#dropped > 0 && !this.#hasSaidLimit;
  }

  /** Stores everything held back. Rejects only if the signal is aborted before that succeeds. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#writeHeld());
    return this.#writing;
  }

  /** Says after the stored output that there was, or may have been, more of it. A second call changes nothing. */
  async lostTail(text: string): Promise<void> {
    const line = `${this.#endsLine ? '' : '\n'}[jobctl] ${text}\n`;
    await this.#store.write(lostTailObject(this.#prefix, this.#host, this.#offset), line, 'absent', 'text/plain');
  }

  async #writeHeld(): Promise<void> {
    // Bytes that came in since may be stored already: an object at their own offset would store them a second time.
    if (this.#storedTo > this.#offset) this.#forget(this.#storedTo);
    while (this.#heldBytes > 0) {
      this.#storedTo = await this.#patience.through(() => this.#write(Buffer.concat(this.#held, this.#heldBytes)));
      this.#meter.logLag((Date.now() - this.#heldSince) / 1000);
      this.#forget(this.#storedTo);
    }
    if (this.#limit !== undefined && this.#mustSayLimit) await this.#sayLimit(this.#limit.text);
  }

  /** Uses the same object as a lost tail: a log that ends at its limit has no other end. */
  async #sayLimit(text: string): Promise<void> {
    await this.#patience.through(() => this.lostTail(text));
    this.#hasSaidLimit = true;
  }

  /** @returns the new end of the stored bytes, written by this worker or by another */
  async #write(bytes: Buffer): Promise<number> {
    const name = logChunkObject(this.#prefix, this.#host, this.#offset);
    if ((await this.#store.write(name, bytes, 'absent', 'text/plain')).kind === 'written')
      return this.#offset + bytes.length;
    const storedEnd = endOf(await this.#lastChunks(this.#offset));
    if (storedEnd > this.#offset) return storedEnd;
    // A precondition that is not ours: a retention policy, or a listing that does not show another writer's object yet.
    throw new StoreRefused(
      `store: write ${objectPlace(this.#store, name)}: it is refused (HTTP 412), and is not there`,
    );
  }

  /** Drops bytes that are stored already, by this worker or by another. */
  #forget(storedEnd: number): void {
    const all = Buffer.concat(this.#held, this.#heldBytes);
    const rest = all.subarray(Math.max(0, storedEnd - this.#offset));
    this.#offset += all.length - rest.length;
    // Stryker disable next-line ConditionalExpression,EqualityOperator: an empty rest is no output, and would hold its memory.
    this.#held = rest.length > 0 ? [rest] : [];
    this.#heldBytes = rest.length;
    // The remaining bytes came in while the others were being written.
    this.#heldSince = Date.now();
  }

  /**
   * The last chunks that begin at `from` or later, in order: at least two, if there are two. A log of a month has 260,000. Only
   * these are looked for, in doubled and then in halved steps: hosts write here too, and could make a listing of all endless.
   */
  async #lastChunks(from: number): Promise<readonly Chunk[]> {
    let page = await this.#page(from, PAGE);
    for (let high = BEYOND_OFFSETS; page.isFull && page.chunks.length > 2;) {
      let low = page.chunks.at(-2)?.offset ?? from;
      const span = Math.max(1, low - (page.chunks[0]?.offset ?? 0));
      for (let step = span; high - low > span; step *= 2) {
        const at = Math.min(low + step, Math.floor((low + high) / 2));
        const [seen, another] = (await this.#page(at, LOOK)).chunks;
        if (seen === undefined || another === undefined) high = at;
        else low = seen.offset;
      }
      page = await this.#page(low, PAGE);
    }
    return page.chunks;
  }

  /** In order: names begin with the offset, in digits of one length. */
  async #page(from: number, most: number): Promise<{ readonly chunks: readonly Chunk[]; readonly isFull: boolean }> {
    const start = logChunkObject(this.#prefix, this.#host, from);
    const listed = await this.#store.list(`${this.#prefix}host-${this.#host}.`, start, most);
    const chunks = listed.flatMap(({ name, size, updatedAt }) => {
      const offset = offsetOfChunk(name);
      return offset === undefined ? [] : [{ offset, end: offset + size, updatedAt }];
    });
    return { chunks, isFull: listed.length >= most };
  }
}

/** Time between two looks at whether a stream that holds output is followed. */
const LOOK_MS = 500;
/** Objects of one request for a listing: as many as Google gives at most. */
const PAGE = 1000;
/** Objects of one look: two chunks, and lost tails between them. */
const LOOK = 10;
/** The first number that is too large for an offset: names of objects have 15 digits. */
const BEYOND_OFFSETS = 10 ** 15;

/** A stored piece of the output. */
interface Chunk {
  readonly offset: number;
  /** Offset after its last byte. */
  readonly end: number;
  readonly updatedAt: EpochMs;
}

const endOf = (chunks: readonly Chunk[]): number =>
  largest(
    chunks.map(({ end }) => end),
    0,
  );

const NEW_LINE = 10;

/** The stored part of one host's output in one log, and the text at its end. */
interface LogLimit {
  readonly bytes: number;
  readonly text: string;
}

/**
 * The share of one host in the bytes that the pool keeps of a log (`[limits] log_bytes_per_attempt`). Each host that writes the
 * log has the same share, so that workers that follow one another, or ship at one time, cut at the same byte without telling each
 * other (docs/adr/0075).
 * @param hosts number of hosts that write the log
 */
export function logLimitOf({ spec, settings }: AttemptInput, hosts: number): { readonly limit?: LogLimit } {
  const all = settings.limits?.logBytesPerAttempt;
  if (all === undefined) return {};
  const bytes = Math.floor(all / Math.max(1, hosts));
  const share = hosts > 1 ? `, a share of ${bytes} for each of ${hosts} hosts` : '';
  const text =
    `this log ends here: pool ${spec.pool} keeps ${all} bytes of each log of an attempt${share} ([limits] log_bytes_per_attempt). ` +
    `What runs goes on, and what it prints from here on is not kept`;
  return { limit: { bytes, text } };
}

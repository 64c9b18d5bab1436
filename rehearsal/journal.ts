import { closeSync, ftruncateSync, openSync, readSync } from 'node:fs';
import { appendWhole, parsed, sayBroken, type WriteBytes } from './json-lines.js';

export interface JournalEvent {
  /** Starts at 1 and has no gaps, over restarts too. */
  readonly seq: number;
  /** On the cloud's clock, epoch ms. */
  readonly at: number;
  /** On this computer's clock, epoch ms. */
  readonly wall: number;
  readonly kind: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** One event in this many has its file offset in memory (8 bytes), so a read skips at most this many lines. */
const INDEX_STEP = 64;
const CHUNK_BYTES = 256 * 1024;
const SEQ = /^\{"seq":(\d+),/;
/** Limit of the events that wait for disk space. Later events reach listeners, but are missing from the file. */
const MOST_WAITING_BYTES = 16 * 1024 * 1024;

/**
 * All events, in order, in an append-only file of JSON lines. When `record` returns, the kernel has the event, so a killed
 * process loses none. Events are read from the file, not held: memory does not grow with the journal.
 *
 * While the disk is full, events wait in memory and are written, in order, with the first one that finds room. `record` never
 * throws: timers and VMs call it, and a full disk must not end the cloud. `trouble` reports it meanwhile.
 */
export class Journal {
  readonly #file: string;
  readonly #write: WriteBytes | undefined;
  readonly #fd: number;
  readonly #listeners = new Set<(event: JournalEvent) => void>();
  /** Byte offset of the event with sequence number 1 + i * INDEX_STEP, at i. */
  readonly #index: number[] = [];
  /** Offsets of lines that are not events. */
  readonly #broken = new Set<number>();
  #now: () => number = Date.now;
  #size = 0;
  #lastSeq = 0;
  #isClosed = false;
  /** Events that the disk has not taken. */
  #waiting: { readonly seq: number; readonly line: string }[] = [];
  #waitingBytes = 0;
  #trouble: string | undefined;

  constructor(file: string, write?: WriteBytes) {
    this.#file = file;
    this.#write = write;
    this.#fd = openSync(file, 'a+');
    this.#readIndex();
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Why the last event is not in the file; undefined if it is. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Sets the clock for `at`; until then it is this computer's clock. */
  timeBy(now: () => number): void {
    this.#now = now;
  }

  /**
   * Appends an event. Ignored after `close`: VMs' actions while the cloud shuts down are not recorded.
   * @param at epoch ms of the cloud's clock; default: now
   */
  record(kind: string, subject: string, details: Readonly<Record<string, unknown>> = {}, at = this.#now()): void {
    if (this.#isClosed) return;
    const event = { seq: this.#lastSeq + 1, at, wall: Date.now(), kind, subject, details };
    const line = JSON.stringify(event);
    if (this.#waitingBytes + line.length <= MOST_WAITING_BYTES) {
      this.#lastSeq = event.seq;
      this.#waiting.push({ seq: event.seq, line });
      this.#waitingBytes += line.length;
    }
    this.#writeWaiting();
    for (const listener of this.#listeners) listener(event);
  }

  #writeWaiting(): void {
    try {
      for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
        const bytes = Buffer.from(`${next.line}\n`);
        appendWhole(this.#fd, this.#size, bytes, this.#write);
        this.#noteLine(next.seq, this.#size);
        this.#size += bytes.length;
        this.#waitingBytes -= next.line.length;
        this.#waiting.shift();
      }
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = `${this.#file} cannot be written: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  /** Calls `listener` with each event, after it was written. @returns a function that unsubscribes */
  onEvent(listener: (event: JournalEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Events with a sequence number above `seq`, up to the last one when the reading begins. The file is read as events are
   * consumed.
   * @param limit most events to return
   */
  *after(seq: number, limit = Infinity): Generator<JournalEvent> {
    for (const line of this.linesAfter(seq, limit)) yield JSON.parse(line) as JournalEvent;
  }

  /** The events that `after` yields, as lines of the file without line ends. */
  *linesAfter(seq: number, limit = Infinity): Generator<string> {
    const last = Math.min(this.#lastSeq, seq + limit);
    if (seq >= last) return;
    for (const { line, offset } of this.#lines(this.#index[Math.floor(seq / INDEX_STEP)] ?? 0)) {
      const found = this.#broken.has(offset) ? undefined : seqOf(line);
      if (found === undefined || found <= seq) continue;
      if (found <= last) yield line;
      if (found >= last) return;
    }
    for (const { seq: found, line } of [...this.#waiting]) if (found > seq && found <= last) yield line;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#writeWaiting();
    this.#isClosed = true;
    this.#listeners.clear();
    closeSync(this.#fd);
  }

  /** Whole lines from `offset` on. */
  *#lines(offset: number): Generator<{ readonly line: string; readonly offset: number }> {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let rest = Buffer.alloc(0);
    for (let at = offset; !this.#isClosed;) {
      const length = readSync(this.#fd, chunk, 0, CHUNK_BYTES, at);
      if (length === 0) return;
      const bytes = Buffer.concat([rest, chunk.subarray(0, length)]);
      const start = at - rest.length;
      let from = 0;
      for (let end = bytes.indexOf(10, from); end >= 0; end = bytes.indexOf(10, from)) {
        yield { line: bytes.toString('utf8', from, end), offset: start + from };
        from = end + 1;
      }
      rest = bytes.subarray(from);
      at += length;
    }
  }

  /**
   * Builds the index. Half a line at the end, left by a killed process, is cut off. A broken line before the end is skipped and
   * reported with its number.
   */
  #readIndex(): void {
    let number = 0;
    for (const { line, offset } of this.#lines(0)) {
      number++;
      const seq = parsed(line) === undefined ? undefined : seqOf(line);
      if (seq === undefined) {
        this.#broken.add(offset);
        sayBroken(this.#file, number, line);
      } else this.#noteLine(seq, offset);
      this.#size = offset + Buffer.byteLength(line) + 1;
    }
    ftruncateSync(this.#fd, this.#size);
  }

  #noteLine(seq: number, offset: number): void {
    this.#lastSeq = seq;
    if ((seq - 1) % INDEX_STEP === 0) this.#index[(seq - 1) / INDEX_STEP] = offset;
  }
}

/** Sequence number of a line. It comes first in every line, so the rest is not parsed. Undefined if the line is not an event. */
function seqOf(line: string): number | undefined {
  const seq = SEQ.exec(line)?.[1];
  return seq === undefined ? undefined : Number(seq);
}

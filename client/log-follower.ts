import type { StoreReader } from '../cloud/store/port.js';
import { JobLogReader, type LogPlace, type LogStretch } from './job-logs.js';
import type { LogStart } from '../cloud/store/log-starts.js';
import { isOver, type JobRow } from './job-rows.js';
import { isOutage, pause } from './outage.js';

export interface LogSelection {
  readonly job: string;
  /** A module's name or `command`. */
  readonly stream: string;
  readonly hosts?: readonly number[] | undefined;
  readonly firstAttempt: number;
  /** Absent: to the last one. */
  readonly lastAttempt?: number;
  /** Where each of `hosts` begins in the first attempt. */
  readonly starts?: ReadonlyMap<number, LogStart> | undefined;
  readonly mostHosts?: LogPlace['mostHosts'];
}

/** Called with what comes, in order; the end of an attempt is told, since lines do not go on over it. */
export interface LogSink {
  stretch(stretch: LogStretch): Promise<void>;
  attemptEnd(attempt: number): Promise<void>;
}

/** A log that is shown as it grows. */
export interface FollowedLog {
  /** How far the job was seen to be. */
  reached(row: Pick<JobRow, 'attempts'> & Partial<Pick<JobRow, 'endedAt' | 'phase'>>): void;
  /** When all that is stored by now was given, or after a while: what comes next is not to stand before it. */
  caughtUp(signal: AbortSignal): Promise<void>;
  /** Until the job is closed and all is read, or `signal`. */
  run(signal: AbortSignal): Promise<void>;
}

/** A listing a pause: twice to three times a second, rarer where a long log makes a listing long. */
const LIST_MS = 350;
const PAUSE_PER_LISTING = 3;
/** A store that is away must not hold the news of the job. */
export const CATCH_UP_MS = 3_000;
/** How long the rest of a closed job's log is waited for. */
export const PATIENCE_MS = 60_000;

/**
 * Reads a stream of a job as it grows, attempt after attempt. An attempt's log is complete before the next one begins and
 * before the job is closed (its workflow waits for that), so an attempt is left only after one more reading behind such news.
 */
export class LogFollower implements FollowedLog {
  readonly #store: StoreReader;
  readonly #selection: LogSelection;
  readonly #sink: LogSink;
  #attempt: number;
  #reader: JobLogReader;
  /** The newest attempt that is known to have begun. */
  #begun = 0;
  #isClosed = false;
  #awaySince: number | undefined;
  #wake: () => void = () => undefined;
  #waiting: (() => void)[] = [];

  constructor(store: StoreReader, selection: LogSelection, sink: LogSink) {
    this.#store = store;
    this.#selection = selection;
    this.#sink = sink;
    this.#attempt = selection.firstAttempt;
    this.#reader = this.#readerOf(this.#attempt);
  }

  reached(row: Parameters<FollowedLog['reached']>[0]): void {
    this.#begun = Math.max(this.#begun, row.attempts);
    this.#isClosed = isOver(row);
    if (this.#isClosed) this.#wake();
  }

  async caughtUp(signal: AbortSignal): Promise<void> {
    const read = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#wake();
    await Promise.race([read, pause(CATCH_UP_MS, signal)]);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isClosed = this.#isClosed;
      const isLeft = isClosed || this.#begun > this.#attempt;
      const started = Date.now();
      const waiting = this.#waiting.splice(0);
      const isRead = await this.#read();
      for (const resolve of waiting) resolve();
      if (!isRead) await pause(LIST_MS, signal);
      else if (isLeft) {
        await this.#sink.attemptEnd(this.#attempt);
        if (this.#isLast(isClosed)) return;
        this.#attempt += 1;
        this.#reader = this.#readerOf(this.#attempt);
      } else await this.#pause(Math.max(LIST_MS, (Date.now() - started) * PAUSE_PER_LISTING), signal);
    }
  }

  /** False: the store is away; nothing is lost, the next reading goes on behind what was given. */
  async #read(): Promise<boolean> {
    try {
      for await (const stretch of this.#reader.unread()) await this.#sink.stretch(stretch);
      this.#awaySince = undefined;
      return true;
    } catch (error) {
      this.#awaySince ??= Date.now();
      const isLong = this.#isClosed && Date.now() - this.#awaySince > PATIENCE_MS;
      if (!isOutage(error) || isLong) throw error;
      return false;
    }
  }

  #isLast(isClosed: boolean): boolean {
    const { lastAttempt = Infinity } = this.#selection;
    return this.#attempt >= lastAttempt || (isClosed && this.#attempt >= this.#begun);
  }

  #readerOf(attempt: number): JobLogReader {
    const { job, stream, hosts, starts, firstAttempt, mostHosts } = this.#selection;
    return new JobLogReader(this.#store, job, {
      attempt,
      stream,
      hosts,
      mostHosts,
      starts: attempt === firstAttempt ? starts : undefined,
    });
  }

  /** The end of the job, or somebody who waits for a reading, cuts it short. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isClosed || this.#waiting.length > 0) return;
    const woken = new Promise<void>((resolve) => (this.#wake = resolve));
    await Promise.race([pause(ms, signal), woken]);
  }
}

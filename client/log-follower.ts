import type { StoreReader } from '../cloud/store/port.js';
import type { FollowMarks } from './follow-marks.js';
import { JobLogReader, type LogPlace, type LogStretch } from './job-logs.js';
import type { LogStart } from '../cloud/store/log-starts.js';
import { isOver, type JobRow } from './job-rows.js';
import { isOutage, pause } from './errors.js';

export interface LogSelection {
  readonly job: string;
  /** A module's name or `command`. */
  readonly stream: string;
  readonly hosts?: readonly number[] | undefined;
  readonly firstAttempt: number;
  /** Absent: through the last attempt. */
  readonly lastAttempt?: number;
  /** Start position of each of `hosts` in the first attempt. */
  readonly starts?: ReadonlyMap<number, LogStart> | undefined;
  readonly mostHosts?: LogPlace['mostHosts'];
}

/** Receives output in order. The end of an attempt is reported because lines do not continue past it. */
export interface LogSink {
  stretch(stretch: LogStretch): Promise<void>;
  attemptEnd(attempt: number): Promise<void>;
}

export interface FollowedLog {
  /** Reports the newest state of the job that was seen. */
  reached(row: Pick<JobRow, 'attempts'> & Partial<Pick<JobRow, 'endedAt' | 'phase'>>): void;
  /** Resolves once everything stored by now was given, or after `CATCH_UP_MS`, so that the caller's next line comes after it. */
  caughtUp(signal: AbortSignal): Promise<void>;
  /** Runs until the job is closed and everything is read, or until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Pause between listings: two to three a second, fewer if a long log makes a listing slow. */
const LIST_MS = 350;
const PAUSE_PER_LISTING = 3;
/** Longest wait for the store before news of the job is shown. */
export const CATCH_UP_MS = 3_000;
/** Time to wait for the rest of a closed job's log. */
export const PATIENCE_MS = 60_000;

/**
 * Reads a stream of a job as it grows, attempt after attempt. An attempt's log is complete before the next one begins and before
 * the job is closed: its workflow waits for that. So when the follower learns of either, it reads once more and then leaves the
 * attempt.
 */
export class LogFollower implements FollowedLog {
  readonly #store: StoreReader;
  readonly #selection: LogSelection;
  readonly #sink: LogSink;
  readonly #marks: Pick<FollowMarks, 'mark'> | undefined;
  #attempt: number;
  #reader: JobLogReader;
  /** The newest attempt known to have begun. */
  #begun = 0;
  #isClosed = false;
  #awaySince: number | undefined;
  #wake: () => void = () => undefined;
  #waiting: (() => void)[] = [];

  /** @param marks absent: workers do not learn of this follower */
  constructor(store: StoreReader, selection: LogSelection, sink: LogSink, marks?: Pick<FollowMarks, 'mark'>) {
    this.#store = store;
    this.#marks = marks;
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
      if (!isClosed) this.#marks?.mark(this.#selection.job);
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

  /** Returns false if the store is unavailable. Nothing is lost: the next read continues after the output already given. */
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

  /** Ends early if the job ends or a caller waits for a read. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#isClosed || this.#waiting.length > 0) return;
    const woken = new Promise<void>((resolve) => (this.#wake = resolve));
    await Promise.race([pause(ms, signal), woken]);
  }
}

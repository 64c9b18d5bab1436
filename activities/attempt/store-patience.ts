import { cancellationSignal, log } from '@temporalio/activity';
import { isOfStore, StoreUnavailable } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { attemptTroubleSignal } from '../../contract/job.js';
import { beating } from './activity-end.js';
import { jobTeller } from './job-teller.js';
import { pause } from './pause.js';

/**
 * Waits for a store that does not answer or refuses, whatever it says: a right that was withdrawn, a bucket that is gone,
 * billing and a precondition are mended by people while the command runs (docs/adr/0043). The job is told what is waited for,
 * and that it is over, so that `list` and `why` say it.
 */
export class StorePatience {
  readonly #signal: AbortSignal;
  readonly #tell: (what: string | undefined) => void;
  /** Calls that wait. */
  readonly #waiting = new Set<symbol>();
  #isTold = false;

  readonly #clock: PatienceClock;

  /** @param signal ends the tries */
  constructor(
    signal: AbortSignal,
    tell: (what: string | undefined) => void = () => undefined,
    clock: PatienceClock = { now: Date.now, pause },
  ) {
    this.#signal = signal;
    this.#tell = tell;
    this.#clock = clock;
  }

  /** @throws what is no answer of the store's, and the last one of those once the signal is aborted */
  async through<T>(call: () => Promise<T>): Promise<T> {
    const id = Symbol('call');
    const since = this.#clock.now();
    try {
      for (let pauseMs = 500; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
        try {
          return await call();
        } catch (error) {
          if (!isOfStore(error) || this.#signal.aborted) throw error;
          log.warn(`waiting for the store: ${error.message}`);
          this.#waits(id, error, this.#clock.now() - since);
          await this.#clock.pause(pauseMs, this.#signal);
        }
      }
    } finally {
      this.#passed(id);
    }
  }

  #waits(id: symbol, error: Error, forMs: number): void {
    this.#waiting.add(id);
    // A busy server answers again within seconds: that is nobody's news.
    if (this.#isTold || (error instanceof StoreUnavailable && forMs < TELL_AFTER_MS)) return;
    this.#isTold = true;
    this.#tell(`waits for the store, which keeps nothing now: ${error.message}`);
  }

  #passed(id: symbol): void {
    this.#waiting.delete(id);
    if (!this.#isTold || this.#waiting.size > 0) return;
    this.#isTold = false;
    this.#tell(undefined);
  }
}

/** Whose time it waits by; another one in tests of waits that last days. */
export interface PatienceClock {
  now(): number;
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

const LONGEST_PAUSE_MS = 15_000;
const TELL_AFTER_MS = 10_000;

/** For the patience of one attempt: the job is told of its store. */
export function tellJobOfTrouble(input: Pick<AttemptInput, 'job' | 'attempt'>): (what?: string) => void {
  const tell = jobTeller(input, attemptTroubleSignal, 'of its store');
  return (what) => tell({ v: 1, attempt: input.attempt, ...(what === undefined ? {} : { what }) });
}

/** The same of an end that is not believed yet: nothing of its command is left to save. */
export function tellJobOfEnd(input: Pick<AttemptInput, 'job' | 'attempt'>): (what?: string) => void {
  const tell = jobTeller(input, attemptTroubleSignal, 'that its command has ended');
  return (what) => tell({ v: 1, attempt: input.attempt, hasEnded: true, ...(what === undefined ? {} : { what }) });
}

/** The same of outputs that are being stored: its workflow waits for them, and not for a store that is away. */
export function tellJobOfOutputs(input: Pick<AttemptInput, 'job' | 'attempt'>): (what?: string) => void {
  const tell = jobTeller(input, attemptTroubleSignal, 'of its outputs');
  return (what) =>
    tell({
      v: 1,
      attempt: input.attempt,
      ...(what === undefined ? {} : { what, hasEnded: true, isStoringOutputs: true }),
    });
}

/** Reads what an activity begins with, and beats meanwhile: nothing is begun while the store does not say. */
export function readPatiently<T>(input: Pick<AttemptInput, 'job' | 'attempt'>, read: () => Promise<T>): Promise<T> {
  const beat = beating();
  const patience = new StorePatience(cancellationSignal(), tellJobOfTrouble(input));
  return patience.through(read).finally(() => clearInterval(beat));
}

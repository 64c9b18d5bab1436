import { cancellationSignal, log } from '@temporalio/activity';
import { isOfStore, StoreUnavailable } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { attemptTroubleSignal } from '../../contract/job.js';
import { beating, pause, jobTeller } from './activity-end.js';

/**
 * Waits for a store that does not answer or refuses, whatever its reason: a withdrawn right, a deleted bucket, billing and a
 * precondition are fixed by people while the command runs (docs/adr/0043). The job is told the reason of the wait, and its end,
 * so that `list` and `why` say it.
 */
export class StorePatience {
  readonly #signal: AbortSignal;
  readonly #tell: (what: string | undefined) => void;
  /** Calls that wait. */
  readonly #waiting = new Set<symbol>();
  #isTold = false;

  readonly #clock: PatienceClock;

  /** @param signal ends the retries */
  constructor(
    signal: AbortSignal,
    tell: (what: string | undefined) => void = () => undefined,
    clock: PatienceClock = { now: Date.now, pause },
  ) {
    this.#signal = signal;
    this.#tell = tell;
    this.#clock = clock;
  }

  /** @throws errors that are not the store's, and the store's last error once the signal is aborted */
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
    // A busy server answers again within seconds, which is not worth telling.
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

/** The clock of its waits; tests of waits that last days use another one. */
export interface PatienceClock {
  now(): number;
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

const LONGEST_PAUSE_MS = 15_000;
const TELL_AFTER_MS = 10_000;

/** For the patience of one attempt: returns a function that tells the job of trouble with the store. */
export function tellJobOfTrouble(input: Pick<AttemptInput, 'job' | 'attempt'>): (what?: string) => void {
  const tell = jobTeller(input, attemptTroubleSignal, 'of its store');
  return (what) => tell({ v: 1, attempt: input.attempt, ...(what === undefined ? {} : { what }) });
}

/** Does the same for an end that is still being checked: the command has nothing left to save. */
export function tellJobOfEnd(input: Pick<AttemptInput, 'job' | 'attempt'>): (what?: string) => void {
  const tell = jobTeller(input, attemptTroubleSignal, 'that its command has ended');
  return (what) => tell({ v: 1, attempt: input.attempt, hasEnded: true, ...(what === undefined ? {} : { what }) });
}

/** Does the same for outputs that are being stored: the workflow waits for them, and not for a store that is away. */
export function tellJobOfOutputs(input: Pick<AttemptInput, 'job' | 'attempt'>): (what?: string) => void {
  const tell = jobTeller(input, attemptTroubleSignal, 'of its outputs');
  return (what) =>
    tell({
      v: 1,
      attempt: input.attempt,
      ...(what === undefined ? {} : { what, hasEnded: true, isStoringOutputs: true }),
    });
}

/** Reads the first input of an activity, with heartbeats: nothing is begun while the store does not answer. */
export function readPatiently<T>(input: Pick<AttemptInput, 'job' | 'attempt'>, read: () => Promise<T>): Promise<T> {
  const beat = beating();
  const patience = new StorePatience(cancellationSignal(), tellJobOfTrouble(input));
  return patience.through(read).finally(() => clearInterval(beat));
}

import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { AttemptInput, JobActivities } from '../../contract/job-activities.js';
import { decide } from '../../domain/recovery/decide.js';
import { afterWorkerError, type WorkerErrors } from '../../domain/recovery/budgets.js';
import type { Timings } from '../../domain/timings.js';
import { bookkeeping, endingSetUp, onClaimedWorker } from '../activity-options.js';
import type { JobStory } from './story.js';

type HostCalls = Pick<JobActivities, 'setUpHosts' | 'superviseAttempt'>;

/** The one worker that serves an attempt, because it holds the connections to the hosts. Another is claimed when it goes away. */
export class ClaimedWorker {
  #queue: string | undefined;
  /** Errors in a row. Not carried: a job that continues as new has no call under way. */
  #errors: WorkerErrors = 0;
  /** Calls of an earlier era were given up. */
  #era = 0;
  readonly #timings: Timings;
  readonly #story: JobStory;

  constructor(timings: Timings, story: JobStory) {
    this.#timings = timings;
    this.#story = story;
  }

  /**
   * Calls the worker. Undefined: the worker is gone, lost the activity, or the call was given up.
   * @throws ActivityFailure from a worker that reports errors again and again.
   */
  async call<T>(attempt: number, summary: string, make: (worker: HostCalls) => Promise<T>): Promise<T | undefined> {
    this.#queue ??= (await bookkeeping(`find a worker for attempt ${attempt}`).claimWorker()).taskQueue;
    const worker = onClaimedWorker(this.#queue, this.#timings)(summary);
    const era = this.#era;
    const startedAt = Date.now();
    try {
      // The user's cancel must not reach the call, which ends with the command or with its slices.
      const end = await CancellationScope.nonCancellable(() => make(worker));
      this.#errors = 0;
      return end;
    } catch (error) {
      if (era !== this.#era) return undefined;
      this.#queue = undefined;
      await this.#afterError(error, Date.now() - startedAt);
      return undefined;
    }
  }

  /**
   * Gives up the call that is under way: it ends with its slices, which are being deleted, and is not waited for. It is not
   * cancelled, because a cancellable scope within a nonCancellable one hears of the user's cancel in some histories (flags.ts of
   * the SDK).
   */
  giveUp(): void {
    this.#era += 1;
  }

  /**
   * Ends the set-up that is under way, at once if its worker is up; its call then ends as handed over. If the worker is gone, the
   * call ends when its heartbeats are missed.
   */
  async endSetUp({ job, attempt }: AttemptInput): Promise<void> {
    if (this.#queue === undefined) return;
    try {
      await endingSetUp(this.#queue)(`end the set-up of attempt ${attempt}`).stopSetUp({ job, attempt });
    } catch (error) {
      if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
      this.#story.note({ kind: 'set-up-not-ended', facts: { reason: reasonOf(error) } });
    }
  }

  /** @throws the error, if it ends the attempt (docs/recovery.md, "A worker fails") */
  async #afterError(error: unknown, lastedMs: number): Promise<void> {
    if (!(error instanceof ActivityFailure)) throw error;
    const { cause } = error;
    const isGone = cause instanceof TimeoutFailure;
    const isFinal = cause instanceof ApplicationFailure && cause.nonRetryable === true;
    const { errors, fact, pauseMs } = afterWorkerError(this.#errors, lastedMs);
    if (!isGone) this.#errors = errors;
    const decision = decide('worker failed', {
      error: isGone ? 'worker is gone' : isFinal ? 'final' : 'may pass',
      errors: fact,
    });
    if (decision.do === 'end attempt') {
      // The attempt is charged for the errors in a row, and the next one begins without them.
      this.#errors = 0;
      throw error;
    }
    if (!decision.pause) {
      const facts = isGone ? { timeout: String(cause.timeoutType) } : {};
      this.#story.note({ kind: 'worker-lost', facts });
      return;
    }
    this.#story.note({ kind: 'worker-error', facts: { reason: reasonOf(error) } });
    await sleep(pauseMs, { summary: 'after an error of a worker' });
  }
}

export function reasonOf(error: unknown): string {
  return error instanceof ActivityFailure ? (error.cause?.message ?? error.message) : String(error);
}

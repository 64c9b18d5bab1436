import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { AttemptInput, JobActivities } from '../../activities/contract.js';
import type { Timings } from '../../domain/timings.js';
import { bookkeeping, endingSetUp, onClaimedWorker } from '../activity-options.js';
import type { JobStory } from './story.js';

type HostCalls = Pick<JobActivities, 'setUpHosts' | 'superviseAttempt'>;

/** The one worker that serves an attempt, since it holds its connections; another is claimed when it goes away. */
export class ClaimedWorker {
  #queue: string | undefined;
  #errors = 0;
  /** Calls of an earlier one were given up. */
  #era = 0;
  readonly #timings: Timings;
  readonly #story: JobStory;

  constructor(timings: Timings, story: JobStory) {
    this.#timings = timings;
    this.#story = story;
  }

  /**
   * Undefined: the worker is gone, lost the activity, or the call was given up.
   * @throws ActivityFailure from a worker that reports errors again and again.
   */
  async call<T>(attempt: number, summary: string, make: (worker: HostCalls) => Promise<T>): Promise<T | undefined> {
    this.#queue ??= (await bookkeeping(`find a worker for attempt ${attempt}`).claimWorker()).taskQueue;
    const worker = onClaimedWorker(this.#queue, this.#timings)(summary);
    const era = this.#era;
    try {
      // The user's cancel must not reach it: it ends with the command, or with its slices.
      return await CancellationScope.nonCancellable(() => make(worker));
    } catch (error) {
      if (era !== this.#era) return undefined;
      this.#queue = undefined;
      await this.#afterError(error);
      return undefined;
    }
  }

  /**
   * What is under way is of no use any more: its slices go, it ends with them, and nobody waits for it. It is not cancelled: a
   * cancellable scope within a nonCancellable one hears of the user's cancel in some histories (flags.ts of the SDK).
   */
  giveUp(): void {
    this.#era += 1;
  }

  /**
   * Ends the set-up that is under way, at once where its worker is up; its call then ends as handed over. Where the worker is gone,
   * the call ends when its heartbeats are missed.
   */
  async endSetUp({ job, attempt }: AttemptInput): Promise<void> {
    if (this.#queue === undefined) return;
    try {
      await endingSetUp(this.#queue)(`end the set-up of attempt ${attempt}`).stopSetUp({ job, attempt });
    } catch (error) {
      if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
      this.#story.note(`its set-up could not be ended at once: ${reasonOf(error)}`);
    }
  }

  /** A worker that went away costs nothing; one that reports errors again and again ends the attempt. */
  async #afterError(error: unknown): Promise<void> {
    if (!(error instanceof ActivityFailure)) throw error;
    if (error.cause instanceof TimeoutFailure) {
      this.#story.note(`the worker that served the attempt is gone (${error.cause.timeoutType}); another one goes on`);
      return;
    }
    this.#errors += 1;
    const isFinal = error.cause instanceof ApplicationFailure && error.cause.nonRetryable === true;
    if (isFinal || this.#errors > MOST_ERRORS) throw error;
    this.#story.note(`a worker reported: ${reasonOf(error)}; trying again`);
    await sleep(ERROR_PAUSE_MS * this.#errors, { summary: 'after an error of a worker' });
  }
}

export function reasonOf(error: unknown): string {
  return error instanceof ActivityFailure ? (error.cause?.message ?? error.message) : String(error);
}

const MOST_ERRORS = 5;
const ERROR_PAUSE_MS = 2_000;

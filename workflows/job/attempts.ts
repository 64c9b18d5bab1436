import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import type {
  AttemptEnd,
  AttemptInput,
  HostPlace,
  JobActivities,
  JobRef,
  ReadySlice,
  SetUpEnd,
} from '../../activities/contract.js';
import { JobPhase } from '../../domain/job-state.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { EpochMs } from '../../domain/units.js';
import { attemptRecord, bookkeeping, onClaimedWorker, stopping } from '../activity-options.js';
import { count } from '../markdown.js';
import type { JobSettings } from '../messages.js';
import { meter } from '../meter.js';
import type { JobStory } from './story.js';

export interface AttemptsCarry {
  readonly attempt: number;
  readonly isOpen: boolean;
  readonly isSetUp: boolean;
  /** Of the job: when its command was first started. */
  readonly startedAt?: EpochMs;
  /** Of the open attempt. */
  readonly attemptStartedAt?: EpochMs;
  readonly previousEnd?: string;
}

/** How an attempt ended, as the job decides on it. `pause`: nothing ended; the job may continue as new here. */
export type AttemptResult =
  | Exclude<AttemptEnd, { kind: 'handed-over' | 'still-running' | 'fenced' }>
  | Extract<SetUpEnd, { kind: 'module-failed' }>
  | { readonly kind: 'worker-failed'; readonly message: string }
  | { readonly kind: 'pause' };

/**
 * The attempts of a job, one at a time: set-up, start and supervision on one claimed worker, handed to another when that one
 * goes away. The command itself lives under its on-host runner and does not notice.
 */
export class Attempts {
  #number: number;
  #isOpen: boolean;
  #startedAt: EpochMs | undefined;
  #attemptStartedAt: EpochMs | undefined;
  #previousEnd: string | undefined;
  /** Set up for the open attempt, on these slices. */
  #isSetUp: boolean;
  /** The open attempt was supervised before: its command may run, also while nobody watches it. */
  #hasBegun: boolean;
  #queue: string | undefined;
  #workerErrors = 0;
  readonly #job: JobRef;
  readonly #spec: JobSpec;
  readonly #settings: JobSettings;
  readonly #files: Readonly<Record<string, string>>;
  readonly #story: JobStory;

  constructor(context: AttemptsContext, carry?: AttemptsCarry) {
    this.#job = context.job;
    this.#spec = context.spec;
    this.#settings = context.settings;
    this.#files = context.files;
    this.#story = context.story;
    this.#number = carry?.attempt ?? 0;
    this.#isOpen = carry?.isOpen ?? false;
    this.#isSetUp = carry?.isSetUp ?? false;
    // A job continues as new only between two supervisions.
    this.#hasBegun = this.#isOpen && this.#isSetUp;
    this.#startedAt = carry?.startedAt;
    this.#attemptStartedAt = carry?.attemptStartedAt;
    this.#previousEnd = carry?.previousEnd;
  }

  get number(): number {
    return this.#number;
  }

  /** When the command was first started. */
  get startedAt(): EpochMs | undefined {
    return this.#startedAt;
  }

  /** Runs the open attempt, or a new one, on these slices. On a cancel the command is stopped before it throws. */
  async run(slices: readonly ReadySlice[]): Promise<AttemptResult> {
    if (!this.#isOpen) {
      this.#number += 1;
      this.#isOpen = true;
      this.#isSetUp = false;
      this.#hasBegun = false;
      this.#attemptStartedAt = undefined;
    }
    const input = this.#input(slices);
    try {
      const result = await this.#setUpAndSupervise(input);
      // What ended before has its records.
      if (result.kind === 'ended-before') this.#isOpen = false;
      else if (result.kind !== 'pause') await this.#close(input, result);
      return result;
    } catch (error) {
      if (isCancellation(error)) {
        // Otherwise it runs on, and `stopUnwatched` ends it.
        if (!this.#hasBegun) await CancellationScope.nonCancellable(() => this.#close(input, { kind: 'cancelled' }));
        throw error;
      }
      const result = workerFailure(error);
      await this.#close(input, result);
      return result;
    }
  }

  async #setUpAndSupervise(input: AttemptInput): Promise<AttemptResult> {
    while (!this.#isSetUp) {
      this.#story.move(
        JobPhase.SettingUp,
        `modules ${input.spec.modules.join(', ')} on ${count(hostCount(input), 'host')}`,
      );
      const summary = `set up ${input.spec.modules.join(', ')} on ${hostsOf(input)}`;
      const end = await this.#onWorker(summary, (worker) => worker.setUpHosts(input));
      if (end === undefined || end.kind === 'handed-over') continue;
      if (end.kind !== 'ready') return end;
      this.#isSetUp = true;
    }
    return this.#supervise(input);
  }

  async #supervise(input: AttemptInput): Promise<AttemptResult> {
    this.#attemptStartedAt ??= Date.now();
    this.#startedAt ??= this.#attemptStartedAt;
    this.#story.move(
      JobPhase.Running,
      `attempt ${this.#number} on ${count(hostCount(input), 'host')} in ${input.slices[0]?.ref.zone}`,
      { attempts: this.#number },
    );
    await this.#record(input);
    const end = await this.#superviseUntilCancelled(input);
    if (end === undefined || end.kind === 'handed-over' || end.kind === 'still-running') return { kind: 'pause' };
    if (end.kind === 'fenced') {
      // The job was reset to before that attempt; what runs on the hosts goes on under its own number.
      this.#story.note(`the hosts run attempt ${end.epoch} already; going on with it`);
      this.#number = end.epoch;
      return { kind: 'pause' };
    }
    return end;
  }

  /**
   * The supervision goes on over a cancel: the command is stopped by an activity of its own, at once, while the supervision
   * ships the last lines and then ends by itself.
   */
  async #superviseUntilCancelled(input: AttemptInput): Promise<AttemptEnd | undefined> {
    this.#hasBegun = true;
    const watching = this.#onWorker(watchSummary(input), (worker) => worker.superviseAttempt(input));
    const cancelled = CancellationScope.current().cancelRequested;
    try {
      return await Promise.race([watching, cancelled]);
    } catch (error) {
      if (!isCancellation(error)) throw error;
      await CancellationScope.nonCancellable(() => this.#stopWatched(input, watching));
      throw error;
    }
  }

  async #stopWatched(input: AttemptInput, watching: Promise<AttemptEnd | undefined>): Promise<void> {
    await this.#stop(input);
    await Promise.race([
      this.#shipLastLines(input, watching),
      sleep(LAST_LINES_MS, { summary: 'time for the last lines' }),
    ]);
    this.#hasBegun = false;
  }

  /**
   * After a cancel that came between two supervisions: the command runs and nobody watches it. It is stopped with its grace,
   * and its last lines are kept, as ever. To be called in a nonCancellable scope; where nothing runs it does nothing.
   */
  async stopUnwatched(slices: readonly ReadySlice[]): Promise<void> {
    if (!this.#isOpen || !this.#hasBegun || slices.length === 0) return;
    const input = this.#input(slices);
    await this.#stopWatched(
      input,
      this.#onWorker(watchSummary(input), (worker) => worker.superviseAttempt(input)),
    );
    await this.#close(input, { kind: 'cancelled' });
  }

  /** A supervision that only made a pause, or whose worker went away, is followed by one that sees the command's end. */
  async #shipLastLines(input: AttemptInput, watching: Promise<AttemptEnd | undefined>): Promise<void> {
    try {
      let end = await watching;
      while (end === undefined || end.kind === 'still-running' || end.kind === 'handed-over') {
        end = await this.#onWorker(watchSummary(input), (worker) => worker.superviseAttempt(input));
      }
    } catch (error) {
      this.#story.note(`the last lines could not be shipped: ${reasonOf(error)}`);
    }
  }

  async #stop(input: AttemptInput): Promise<void> {
    try {
      const { graceSeconds } = this.#spec;
      const summary = `stop the command of attempt ${input.attempt} on ${hostsOf(input)}, grace ${graceSeconds} s`;
      await stopping(graceSeconds * 1000)(summary).stopAttempt(input);
    } catch (error) {
      // Hosts that cannot be reached lose their processes with their slice.
      this.#story.note(`the command could not be stopped on every host: ${reasonOf(error)}`);
    }
  }

  /** Undefined: the claimed worker is gone, or lost the activity. */
  async #onWorker<T>(
    summary: string,
    call: (worker: Pick<JobActivities, 'setUpHosts' | 'superviseAttempt'>) => Promise<T>,
  ): Promise<T | undefined> {
    this.#queue ??= (await bookkeeping(`find a worker for attempt ${this.#number}`).claimWorker()).taskQueue;
    const worker = onClaimedWorker(this.#queue, this.#settings.timings)(summary);
    try {
      // The user's cancel must not reach it: see #untilCancelled. Set-up ends with its slices.
      return await CancellationScope.nonCancellable(() => call(worker));
    } catch (error) {
      this.#queue = undefined;
      await this.#afterWorkerError(error);
      return undefined;
    }
  }

  /** A worker that went away costs nothing; one that reports errors again and again ends the attempt. */
  async #afterWorkerError(error: unknown): Promise<void> {
    if (!(error instanceof ActivityFailure)) throw error;
    if (error.cause instanceof TimeoutFailure) {
      this.#story.note(`the worker that served the attempt is gone (${error.cause.timeoutType}); another one goes on`);
      return;
    }
    this.#workerErrors += 1;
    const isFinal = error.cause instanceof ApplicationFailure && error.cause.nonRetryable === true;
    if (isFinal || this.#workerErrors > MOST_WORKER_ERRORS) throw error;
    this.#story.note(`a worker reported: ${reasonOf(error)}; trying again`);
    await sleep(WORKER_ERROR_PAUSE_MS * this.#workerErrors, { summary: 'after an error of a worker' });
  }

  async #close(input: AttemptInput, result: AttemptResult | { readonly kind: 'cancelled' }): Promise<void> {
    this.#isOpen = false;
    this.#previousEnd = result.kind;
    meter.attemptEnded(result.kind);
    await this.#record(input, result.kind);
  }

  async #record(input: AttemptInput, end?: string): Promise<void> {
    const nodes = input.slices.map(({ ref, nodeId, hosts }) => ({ name: ref.name, nodeId, hosts }));
    const record = {
      attempt: this.#number,
      zone: input.slices[0]?.ref.zone ?? '',
      nodes,
      startedAt: this.#attemptStartedAt ?? Date.now(),
      ...(end === undefined ? {} : { end, endedAt: Date.now() }),
    };
    try {
      const summary = `store where attempt ${this.#number} ${end === undefined ? 'runs' : `ran, and its end: ${end}`}`;
      await attemptRecord(summary).recordAttempt({ job: this.#job, record, events: this.#story.events });
    } catch (error) {
      if (isCancellation(error)) throw error;
      this.#story.note(`the record of attempt ${this.#number} could not be stored: ${reasonOf(error)}`);
    }
  }

  #input(slices: readonly ReadySlice[]): AttemptInput {
    return {
      job: this.#job,
      spec: this.#spec,
      settings: this.#settings,
      attempt: this.#number,
      slices,
      files: this.#files,
      ...(this.#previousEnd === undefined ? {} : { previousEnd: this.#previousEnd }),
    };
  }

  carry(): AttemptsCarry {
    return {
      attempt: this.#number,
      isOpen: this.#isOpen,
      isSetUp: this.#isSetUp,
      ...(this.#startedAt === undefined ? {} : { startedAt: this.#startedAt }),
      ...(this.#attemptStartedAt === undefined ? {} : { attemptStartedAt: this.#attemptStartedAt }),
      ...(this.#previousEnd === undefined ? {} : { previousEnd: this.#previousEnd }),
    };
  }
}

export interface AttemptsContext {
  readonly job: JobRef;
  readonly spec: JobSpec;
  readonly settings: JobSettings;
  readonly files: Readonly<Record<string, string>>;
  readonly story: JobStory;
}

const MOST_WORKER_ERRORS = 5;
const WORKER_ERROR_PAUSE_MS = 2_000;

/** How long the supervision may take to ship what was printed before the stop. */
const LAST_LINES_MS = 20_000;

const watchSummary = (input: AttemptInput): string =>
  input.spec.command === undefined
    ? `hold the slices, attempt ${input.attempt} on ${hostsOf(input)}`
    : `run and watch the command, attempt ${input.attempt} on ${hostsOf(input)}`;

/** `4 hosts of jc-train-7f3k-g1`. */
const hostsOf = (input: AttemptInput): string =>
  `${count(hostCount(input), 'host')} of ${input.slices.map(({ ref }) => ref.name).join(', ')}`;

const hostCount = ({ slices }: AttemptInput): number => slices.reduce((sum, { hosts }) => sum + hosts.length, 0);

function reasonOf(error: unknown): string {
  return error instanceof ActivityFailure ? (error.cause?.message ?? error.message) : String(error);
}

/** An error that is no activity's is a bug of ours: it fails the workflow task, which retries and stays visible. */
function workerFailure(error: unknown): AttemptResult {
  if (!(error instanceof ActivityFailure)) throw error;
  return { kind: 'worker-failed', message: reasonOf(error) };
}

export const placeName = ({ slice, host }: HostPlace, slices: number): string =>
  slices > 1 ? `host ${host} of slice ${slice}` : `host ${host}`;

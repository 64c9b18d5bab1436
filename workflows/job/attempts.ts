import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { AttemptEnd, AttemptInput, JobRef, ReadySlice, StopNotice } from '../../activities/contract.js';
import { JobPhase } from '../../domain/job-state.js';
import type { EpochMs } from '../../domain/units.js';
import type { JobSettings } from '../messages.js';
import { meter } from '../meter.js';
import { recordAttempt } from './attempt-records.js';
import { type AttemptResult, type Interrupted, workerFailure } from './attempt-result.js';
import { AttemptSetUp, type SetUpContext } from './attempt-set-up.js';
import { hostCount, silenceText, watchSummary } from './attempt-words.js';
import { ClaimedWorker } from './claimed-worker.js';
import { type Interruption, interruptionBySilence } from './interruption.js';
import { type Met, runClock, whenInterrupted } from './interruption-watch.js';
import { isEndOfItsOwn, stopCommand } from './stop-command.js';
import type { JobStory } from './story.js';
import type { JobTerms } from './terms.js';

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
  readonly #worker: ClaimedWorker;
  readonly #interruption: () => Interruption | undefined;
  readonly #job: JobRef;
  readonly #terms: JobTerms;
  readonly #settings: JobSettings;
  readonly #story: JobStory;
  readonly #setUp: AttemptSetUp;

  constructor(context: AttemptsContext, carry?: AttemptsCarry) {
    this.#job = context.job;
    this.#terms = context.terms;
    this.#settings = context.settings;
    this.#story = context.story;
    this.#interruption = context.interruption;
    this.#worker = new ClaimedWorker(context.settings.timings, context.story);
    this.#setUp = new AttemptSetUp(this.#worker, context);
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

  /** Its command may run, also while nobody watches it: it is to be stopped before its slices go. */
  get isRunning(): boolean {
    return this.#isOpen && this.#hasBegun;
  }

  /** An attempt is under way, or was when nobody watched it any more. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The slices of the open attempt are gone; nothing of it can be stopped any more. */
  abandon(end: Interruption['end']): void {
    if (this.#isOpen) this.#previousEnd = end;
    this.#isOpen = false;
  }

  /** For how long the last one was under way, in ms. */
  get lastedMs(): number {
    return this.#attemptStartedAt === undefined ? 0 : Date.now() - this.#attemptStartedAt;
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
    const input = this.inputOn(slices);
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
    if (!this.#isSetUp) {
      const end = await this.#setUp.untilReady(input);
      if (end !== undefined) return end;
      this.#isSetUp = true;
    }
    return this.#supervise(input);
  }

  async #supervise(input: AttemptInput): Promise<AttemptResult> {
    this.#attemptStartedAt ??= Date.now();
    this.#startedAt ??= this.#attemptStartedAt;
    this.#story.move(
      JobPhase.Running,
      `attempt ${this.#number} on ${hostCount(input)} in ${input.slices[0]?.ref.zone}`,
      { attempts: this.#number },
    );
    await this.#record(input);
    const end = await this.#superviseUntilStopped(input);
    if (end === undefined || end.kind === 'handed-over' || end.kind === 'still-running') return { kind: 'pause' };
    if (end.kind === 'fenced') {
      // The job was reset to before that attempt; what runs on the hosts goes on under its own number.
      this.#story.note(`the hosts run attempt ${end.epoch} already; going on with it`);
      this.#number = end.epoch;
      this.#hasBegun = true;
      return { kind: 'pause' };
    }
    return end;
  }

  /**
   * The supervision goes on over a cancel and a revocation: the command is stopped by an activity of its own, at once, while the
   * supervision ships the last lines and then ends by itself.
   */
  async #superviseUntilStopped(input: AttemptInput): Promise<AttemptEnd | Interrupted | undefined> {
    this.#hasBegun = true;
    const watching = this.#watch(input);
    const cancelled = CancellationScope.current().cancelRequested;
    let first: AttemptEnd | Met | undefined;
    const clock = runClock(input.spec.timeouts?.run, this.lastedMs);
    try {
      first = await Promise.race([watching, cancelled, this.#whenInterrupted(), ...clock.late]);
    } catch (error) {
      if (!isCancellation(error)) throw error;
      await CancellationScope.nonCancellable(() => this.#stopWatched(input, watching, CANCELLED));
      throw error;
    } finally {
      clock.stop();
    }
    if (first?.kind !== 'interrupted' && first?.kind !== 'no-output') return first;
    const [why, end] =
      first.kind === 'no-output'
        ? [interruptionBySilence(silenceText(first, input.spec)), first]
        : [first.interruption, { kind: first.interruption.end }];
    return CancellationScope.nonCancellable(() => this.#stopInterrupted(input, watching, why, end));
  }

  /** What ended by itself before it was told has ended so, and a job that was done has succeeded. */
  async #stopInterrupted(
    input: AttemptInput,
    watching: Promise<AttemptEnd | undefined>,
    { phase, why, notice }: Omit<Interruption, 'end'>,
    otherwise: AttemptEnd | Interrupted,
  ): Promise<AttemptEnd | Interrupted> {
    const { graceSeconds, command } = input.spec;
    const save = command === undefined ? '' : `; its command has ${graceSeconds} s to save`;
    this.#story.move(phase, `${why}${save}`);
    const end = command === undefined ? undefined : await this.#stopWatched(input, watching, notice);
    this.#hasBegun = false;
    this.#worker.giveUp();
    return end !== undefined && isEndOfItsOwn(end) ? end : otherwise;
  }

  /** See `stopCommand`. */
  async #stopWatched(
    input: AttemptInput,
    watching: Promise<AttemptEnd | undefined>,
    notice: StopNotice,
  ): Promise<AttemptEnd | undefined> {
    const watchAgain = (again: AttemptInput): Promise<AttemptEnd | undefined> => this.#watch(again);
    const end = await stopCommand({ input, notice, watching, watchAgain, story: this.#story });
    this.#hasBegun = false;
    return end;
  }

  /**
   * After a cancel that came between two supervisions: the command runs and nobody watches it. It is stopped with its grace,
   * and its last lines are kept, as ever. To be called in a nonCancellable scope; where nothing runs it does nothing.
   */
  async stopUnwatched(slices: readonly ReadySlice[]): Promise<void> {
    if (!this.isRunning || slices.length === 0) return;
    const input = this.inputOn(slices);
    await this.#stopWatched(input, this.#watch(input), CANCELLED);
    await this.#close(input, { kind: 'cancelled' });
  }

  #whenInterrupted(): Promise<Met> {
    return whenInterrupted(this.#interruption);
  }

  #watch(input: AttemptInput): Promise<AttemptEnd | undefined> {
    return this.#worker.call(this.#number, watchSummary(input), (worker) => worker.superviseAttempt(input));
  }

  async #close(input: AttemptInput, result: AttemptResult | { readonly kind: 'cancelled' }): Promise<void> {
    this.#isOpen = false;
    this.#previousEnd = result.kind;
    meter.attemptEnded(result.kind);
    await this.#record(input, result.kind);
  }

  #record(input: AttemptInput, end?: string): Promise<void> {
    const source = this.#terms.sourceOf(this.#number);
    const facts = {
      job: this.#job,
      input,
      startedAt: this.#attemptStartedAt ?? Date.now(),
      ...(end === undefined ? {} : { end }),
      ...(source === undefined ? {} : { source }),
    };
    return recordAttempt(facts, this.#story);
  }

  /** What the hosts of these slices are set up for and run. */
  inputOn(slices: readonly ReadySlice[]): AttemptInput {
    return {
      job: this.#job,
      spec: this.#terms.spec,
      settings: this.#settings,
      attempt: this.#number,
      slices,
      files: this.#terms.files,
      ...(this.#terms.identityKeys && { identityKeys: this.#terms.identityKeys }),
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

export interface AttemptsContext extends SetUpContext {
  readonly job: JobRef;
  readonly terms: JobTerms;
  readonly settings: JobSettings;
}

const CANCELLED: StopNotice = { cause: 'cancel', reason: 'the job was cancelled' };

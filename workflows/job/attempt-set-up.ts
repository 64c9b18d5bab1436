import { CancellationScope, isCancellation, patched } from '@temporalio/workflow';
import type { AttemptInput, SetUpEnd } from '../../activities/contract.js';
import { JobPhase } from '../../domain/job-state.js';
import { afterSetUpWasEnded, type AttemptResult, type Interrupted } from './attempt-result.js';
import { hostCount, hostsOf } from './attempt-words.js';
import type { ClaimedWorker } from './claimed-worker.js';
import type { Interruption } from './interruption.js';
import { type Clock, type Met, setUpClock, whenInterrupted } from './interruption-watch.js';
import type { SetUpAgain } from './set-up-again.js';
import type { JobStory } from './story.js';

export interface SetUpContext {
  readonly story: JobStory;
  readonly again: SetUpAgain;
  /** Why what is under way has to end, if it has. */
  readonly interruption: () => Interruption | undefined;
}

/** The set-up of an attempt's hosts by its claimed worker, before its command is started. */
export class AttemptSetUp {
  readonly #worker: ClaimedWorker;
  readonly #context: SetUpContext;

  constructor(worker: ClaimedWorker, context: SetUpContext) {
    this.#worker = worker;
    this.#context = context;
  }

  /** Undefined: all hosts are ready. */
  async untilReady(input: AttemptInput): Promise<AttemptResult | undefined> {
    const { again, interruption } = this.#context;
    // It takes none of this attempt's time.
    if (again.isToBeAwaitedFirst()) await again.settled(interruption);
    const clock = setUpClock(input.spec.timeouts?.setup);
    return this.#tries(input, clock).finally(() => clock.stop());
  }

  /** One try per worker that takes it. */
  async #tries(input: AttemptInput, clock: Clock): Promise<AttemptResult | undefined> {
    const { again, interruption, story } = this.#context;
    for (;;) {
      const met = interruption();
      if (met) return { kind: met.end };
      // Only where it was not to be awaited first.
      if (again.isUnderWay) {
        await again.endedOr(interruption);
        continue;
      }
      story.move(JobPhase.SettingUp, `modules ${input.spec.modules.join(', ')} on ${hostCount(input)}`);
      const end = await this.#untilInterrupted(input, clock);
      if (end === undefined || end.kind === 'handed-over') continue;
      return end.kind === 'ready' ? undefined : end;
    }
  }

  /**
   * Modules have nothing to save: what they did is done again. On slices that go, nobody waits for the set-up; on slices that
   * stay it is ended first, so that no two set-ups are at one host.
   */
  async #untilInterrupted(input: AttemptInput, clock: Clock): Promise<SetUpEnd | Interrupted | undefined> {
    const summary = `set up ${input.spec.modules.join(', ')} on ${hostsOf(input)}`;
    const settingUp = this.#worker.call(input.attempt, summary, (worker) => worker.setUpHosts(input));
    const cancelled = CancellationScope.current().cancelRequested;
    let end: SetUpEnd | Met | undefined;
    try {
      end = await Promise.race([settingUp, cancelled, whenInterrupted(this.#context.interruption), ...clock.late]);
    } catch (error) {
      if (!isCancellation(error)) throw error;
      end = await this.#afterCancel(input, settingUp, error);
    }
    if (end === undefined || end.kind !== 'interrupted') return end;
    const { interruption } = end;
    if (interruption.end === 'revoked') this.#worker.giveUp();
    else {
      this.#context.story.note(`${interruption.why}; its set-up is ended`);
      await this.#worker.endSetUp(input);
      return afterSetUpWasEnded(interruption.end, await settingUp);
    }
    return { kind: interruption.end };
  }

  /** The slices of a cancelled job go, so nobody waits for its set-up; jobs of 0.1.0 waited for its end. */
  async #afterCancel(
    input: AttemptInput,
    settingUp: Promise<SetUpEnd | undefined>,
    cancellation: unknown,
  ): Promise<SetUpEnd | Met | undefined> {
    // Keeps alive jobs of 0.1.0 that were cancelled while they were set up.
    if (!patched('cancel-ends-set-up')) return Promise.race([settingUp, whenInterrupted(this.#context.interruption)]);
    this.#worker.giveUp();
    await CancellationScope.nonCancellable(() => this.#worker.endSetUp(input));
    throw cancellation;
  }
}

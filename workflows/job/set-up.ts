import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { AttemptInput, SetUpEnd } from '../../contract/job-activities.js';
import { setUpProgressForm } from '../../contract/job-forms.js';
import { setUpProgressSignal } from '../../contract/job.js';
import { placeIn } from '../../domain/job-events/causes.js';
import { type Told, withReaction } from '../../domain/job-events/kinds.js';
import { type Asker, JobPhase } from '../../domain/job-state.js';
import { decide } from '../../domain/recovery/decide.js';
import type { Fact } from '../../domain/recovery/facts.js';
import { setUpCounts } from '../../domain/set-up-record.js';
import { settingUpAgain } from '../activity-options.js';
import type { Inbox } from '../inbox.js';
import type { Attempt, AttemptResult, Interrupted } from './attempt.js';
import { hostCount, hostsOf } from './attempt-record.js';
import { type ClaimedWorker, reasonOf } from './claimed-worker.js';
import { type Clock, type Interruption, type Interruptions, type Met, setUpClock } from './interruption.js';
import type { JobStory } from './story.js';

export interface SetUpParts {
  readonly story: JobStory;
  readonly attempt: Attempt;
  readonly requestedSetUp: RequestedSetUp;
  readonly interruptions: Interruptions;
}

type Renumbered = Extract<SetUpEnd, { kind: 'renumbered' }>;

/** The set-up of an attempt's hosts by its claimed worker, before its command is started. */
export class AttemptSetUp {
  readonly #worker: ClaimedWorker;
  readonly #parts: SetUpParts;

  constructor(worker: ClaimedWorker, parts: SetUpParts) {
    this.#worker = worker;
    this.#parts = parts;
  }

  /** Shows the worker's progress to people who look at the job. */
  listen(inbox: Inbox): void {
    const { story } = this.#parts;
    inbox.on(setUpProgressSignal, setUpProgressForm, ({ attempt, ...news }) => {
      if (attempt === this.#parts.attempt.number) story.progress(JobPhase.SettingUp, setUpCounts(news));
    });
  }

  /** Undefined: all hosts are ready. */
  async untilReady(input: AttemptInput): Promise<AttemptResult | Renumbered | undefined> {
    const { requestedSetUp, interruptions } = this.#parts;
    // One host never has two set-ups at once. The wait takes none of this attempt's time.
    await requestedSetUp.settled(interruptions);
    const clock = setUpClock(input.spec.timeouts?.setup);
    return this.#tries(input, clock).finally(() => clock.stop());
  }

  /** Tries until a set-up ends, once with each worker that takes it. */
  async #tries(input: AttemptInput, clock: Clock): Promise<AttemptResult | Renumbered | undefined> {
    const { interruptions, story } = this.#parts;
    for (;;) {
      const interruption = interruptions.current;
      if (interruption) return interrupted(interruption);
      const facts = { modules: input.spec.modules, hosts: hostCount(input) };
      story.move(JobPhase.SettingUp, { kind: 'setting-up', facts });
      const end = await this.#try(input, clock);
      if (end === undefined || end.kind === 'handed-over') continue;
      if (end.kind === 'ready' && end.restored !== undefined)
        story.note({ kind: 'restored', facts: { text: end.restored } });
      return end.kind === 'ready' ? undefined : end;
    }
  }

  async #try(input: AttemptInput, clock: Clock): Promise<SetUpEnd | Interrupted | undefined> {
    const summary = `set up ${input.spec.modules.join(', ')} on ${hostsOf(input)}`;
    const settingUp = this.#worker.call(input.attempt, summary, (worker) =>
      worker.setUpHosts({ ...input, ...this.#parts.attempt.silence }),
    );
    const cancelled = CancellationScope.current().cancelRequested;
    let end: SetUpEnd | Met | undefined;
    try {
      end = await Promise.race([settingUp, cancelled, this.#parts.interruptions.met(), ...clock.late]);
    } catch (error) {
      if (!isCancellation(error)) throw error;
      // The slices of a cancelled job go, so its set-up is not awaited.
      this.#worker.giveUp();
      await CancellationScope.nonCancellable(() => this.#worker.endSetUp(input));
      throw error;
    }
    return end?.kind === 'interrupted' ? this.#interrupt(input, settingUp, end.interruption) : end;
  }

  /** Modules have nothing to save: their work is done again. */
  async #interrupt(
    input: AttemptInput,
    settingUp: Promise<SetUpEnd | undefined>,
    interruption: Interruption,
  ): Promise<SetUpEnd | Interrupted> {
    const by = byOf(interruption);
    if (decide('set-up interrupted', { by, end: 'not awaited' }).do === 'interrupt') {
      this.#worker.giveUp();
      return interrupted(interruption);
    }
    this.#parts.story.note(withReaction(interruption.why, { do: 'end-set-up' }));
    await this.#worker.endSetUp(input);
    const late = await settingUp;
    if (late && decide('set-up interrupted', { by, end: endFact(late) }).do === 'believe end') return late;
    const unready = by === 'clock' && late?.kind === 'handed-over' ? late.unready : undefined;
    return { ...interrupted(interruption), ...(unready && { unready }) };
  }
}

const byOf = ({ by }: Interruption): Fact<'set-up interrupted', 'by'> => (by === 'silence' ? 'clock' : by);

function interrupted({ end }: Interruption): Interrupted {
  if (end === 'no-output' || end === 'run-duration-over' || end === 'given-back')
    throw new TypeError(`a set-up is not interrupted by ${end}`);
  return { kind: end };
}

function endFact(end: SetUpEnd): Fact<'set-up interrupted', 'end'> {
  switch (end.kind) {
    case 'ready':
      return 'ready';
    case 'module-failed':
    case 'host-bad':
      return 'failed';
    case 'handed-over':
    case 'renumbered':
      return 'handed over';
    case 'slices-lost':
      return 'slices lost';
    case 'ended-before':
      return 'ended before';
  }
}

// Asked for by people ------------------------------------------------------------------------------------------------

/** The modules, and whether unchanged ones are done too. */
export interface SetUpRequest {
  readonly modules: readonly string[];
  readonly isForced: boolean;
}

/**
 * Sets modules up once more because a person asked, beside the job's work on its hosts. Only one such set-up runs at a time. It
 * decides nothing: its end is a note, and the loss of a slice is reported by the code that watches the slices.
 */
export class RequestedSetUp {
  readonly #story: JobStory;
  #underWay: Promise<void> | undefined;

  constructor(story: JobStory) {
    this.#story = story;
  }

  get isUnderWay(): boolean {
    return this.#underWay !== undefined;
  }

  /** Returns at once. */
  begin(input: AttemptInput, request: SetUpRequest, asker: Asker): void {
    this.#story.note({ kind: 'set-up-requested', facts: { ...asker, ...request } });
    this.#underWay = this.#perform(input, request).finally(() => {
      this.#underWay = undefined;
    });
  }

  /** Resolves when no such set-up is under way, or something else is wanted. */
  async settled(interruptions: Interruptions): Promise<void> {
    if (!this.isUnderWay || interruptions.isUnwanted()) return;
    this.#story.move(JobPhase.SettingUp, { kind: 'set-up-awaited', facts: {} });
    // An interruption may have been taken back.
    while (this.isUnderWay && !interruptions.isUnwanted()) await Promise.race([this.#underWay, interruptions.met()]);
  }

  async #perform(input: AttemptInput, { modules, isForced }: SetUpRequest): Promise<void> {
    const summary = `set up ${modules.join(', ')} again on ${hostsOf(input)}`;
    try {
      const end = await settingUpAgain(input.settings.timings.heartbeatTimeoutMs)(summary).setUpAgain({
        ...input,
        again: { modules, isForced },
      });
      this.#story.note(endOf(input, end));
    } catch (error) {
      // A cancelled job comes here too: nothing waits for it.
      this.#story.note({ kind: 'requested-set-up-failed', facts: { reason: reasonOf(error) } });
    }
  }
}

function endOf({ spec }: AttemptInput, end: SetUpEnd): Told {
  switch (end.kind) {
    case 'ready':
      return { kind: 'requested-set-up-done', facts: {} };
    case 'module-failed':
    case 'host-bad': {
      const { module, message, at } = end;
      return { kind: 'requested-set-up-failed', facts: { module, message, ...placeIn(at, spec.slices) } };
    }
    case 'handed-over':
    case 'renumbered':
      return { kind: 'requested-set-up-cut', facts: { by: 'worker' } };
    case 'slices-lost':
    case 'ended-before':
      return { kind: 'requested-set-up-cut', facts: { by: 'slices' } };
  }
}

import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  continueAsNew,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { firingInputForm } from '../contract/schedule-forms.js';
import type { FiringCarry, FiringInput, FiringMemo, FiringResult, StartedFiring } from '../contract/schedule.js';
import { groupWorkflowId } from '../contract/workflow-ids.js';
import { isArray } from '../domain/array/array.js';
import { FailureType } from '../domain/errors.js';
import { shortened } from '../domain/problem.js';
import { type Firing, firingJobId, firingOf } from '../domain/schedule/schedule.js';
import { utc } from '../domain/units.js';
import { describeBy } from './current-details.js';
import { firingStart, firingWork, groupWork } from './activity-options.js';
import { hearingCancel, Inbox, inputIn, invalidInput } from './inbox.js';
import { Others } from './others.js';
import { plain } from './markdown.js';

/**
 * One firing of a schedule: starts its job or group, and lives until that has ended, so that Temporal sees whether the firing
 * before is over (docs/adr/0159). A cancel, as by the overlap policy `cancel`, cancels the job, and waits for its end.
 */
export async function firing(input: FiringInput): Promise<FiringResult> {
  const owner = new FiringOwner(checkedInput(input));
  const result = await hearingCancel(
    () => owner.run(),
    () => owner.cancel(),
  );
  return result ?? continueAsNew<typeof firing>(owner.nextInput());
}

interface CheckedFiring {
  readonly input: FiringInput;
  readonly firing: Firing;
}

/** Another service may have sent the input, or have started the workflow. @throws InvalidInput, which no retry mends */
function checkedInput(input: FiringInput): CheckedFiring {
  inputIn(firingInputForm, 'firing', input);
  const { workflowId } = workflowInfo();
  const of = firingOf(workflowId);
  if (of === undefined) throw invalidInput('firing', `workflow id: '${workflowId}' is not one that a schedule gives`);
  return { input, firing: of };
}

/**
 * A job tells its end. One that a worker refused tells nobody, which shows within seconds of its start. One that was terminated is found
 * by looking, which may take an hour: it costs next to nothing.
 */
const FIRST_LOOK_MS = 3_000;
const LAST_LOOK_MS = 60 * 60_000;
/** Events after which it continues as new. */
const LONG_HISTORY = 2_000;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

class FiringOwner {
  readonly #input: FiringInput;
  readonly #firing: Firing;
  /** Id of its job or group. */
  readonly #job: string;
  readonly #inbox: Inbox;
  readonly #others: Others;
  #isCancelled: boolean;
  #isStarted: boolean;
  #pauseMs = FIRST_PAUSE_MS;
  /** The job was asked to end by this run: twice does no harm. */
  #isAsked = false;

  constructor({ input, firing: of }: CheckedFiring) {
    this.#input = input;
    this.#firing = of;
    this.#job = firingJobId(of);
    // Only the workflow's own continue-as-new is trusted to bring a state.
    const carry = workflowInfo().continuedFromExecutionRunId === undefined ? undefined : input.carry;
    this.#isCancelled = carry?.isCancelled === true;
    this.#isStarted = carry?.isStarted === true;
    this.#others = new Others(workflowInfo().workflowId, carry?.others ?? { lookMs: FIRST_LOOK_MS }, LAST_LOOK_MS);
    this.#inbox = new Inbox(carry?.kept);
    this.#others.listen(this.#inbox);
  }

  /** @returns undefined if the history is long, and the next run continues */
  async run(): Promise<FiringResult | undefined> {
    this.#inbox.open();
    while (!this.#isStarted) {
      const skipped = await this.#start();
      if (skipped !== undefined) return skipped;
      if (isLong()) return undefined;
    }
    for (;;) {
      await this.#cancelJob();
      if ((await this.#others.look({ any: [this.#job] })).do !== 'wait') return this.#ended();
      if (isLong()) return undefined;
      await this.#others.news(() => this.#isCancelled && !this.#isAsked);
    }
  }

  /** The id of what it has started: a job, or the group of an array. */
  get #workflow(): string {
    return isArray(this.#input.submission.job) ? groupWorkflowId(this.#job) : this.#job;
  }

  nextInput(): FiringInput {
    const { kept } = this.#inbox;
    const others = this.#others.carry();
    const carry: FiringCarry = {
      ...(this.#isStarted && { isStarted: true }),
      ...(others && { others }),
      ...(this.#isCancelled && { isCancelled: true }),
      ...(kept.length === 0 ? {} : { kept }),
    };
    return { ...this.#input, carry };
  }

  cancel(): void {
    this.#isCancelled = true;
  }

  /** Tries once, and pauses if that failed. @returns the result if it is not to start a job @throws ApplicationFailure if it cannot */
  async #start(): Promise<FiringResult | undefined> {
    const started = await this.#tryToStart();
    if (started === undefined) return undefined;
    const { kind } = started;
    if (kind === 'started') {
      this.#isStarted = true;
      this.#show({ state: 'open' });
      return undefined;
    }
    const { why } = started;
    this.#show({ state: kind, why });
    if (kind === 'not-started') throw failed(why);
    return { v: 1, state: kind };
  }

  /** @returns undefined if it is to be tried again, now that a pause is over: a store or Temporal is away */
  async #tryToStart(): Promise<StartedFiring | undefined> {
    const { submission, wallClock } = this.#input;
    try {
      return await firingStart(`start ${this.#job}`).startFiring({
        ...{ firing: this.#firing, submission },
        ...(wallClock !== undefined && { wallClock }),
        ...(this.#isCancelled && { isCancelled: true }),
      });
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error;
      this.#show({ state: 'starting', why: `it is not started yet: ${error.cause?.message ?? error.message}` });
      const summary = 'before it is tried again to start the job';
      const wasCancelled = this.#isCancelled;
      await condition(() => this.#isCancelled !== wasCancelled, this.#pauseMs, { summary });
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
      return undefined;
    }
  }

  async #cancelJob(): Promise<void> {
    if (!this.#isCancelled || this.#isAsked) return;
    this.#isAsked = true;
    const asker = { by: `schedule ${this.#firing.schedule}` };
    const ids = [this.#workflow];
    await groupWork(`cancel ${this.#job}`).cancelMembers({ ids, asker });
  }

  /** @throws ApplicationFailure for a job that no worker has accepted: nobody else would tell why */
  async #ended(): Promise<FiringResult> {
    const state = this.#others.endOf(this.#job) ?? 'missing';
    if (state !== 'refused') {
      this.#show({ state });
      return { v: 1, state };
    }
    const { why = 'a worker refused its job' } = await firingWork(`read why ${this.#job} was refused`).readRefusal({
      id: this.#workflow,
    });
    this.#show({ state, why });
    throw failed(why);
  }

  #show(memo: FiringMemo): void {
    upsertMemo({ state: memo.state, why: memo.why ?? null } satisfies FiringMemo);
    const { schedule, at } = this.#firing;
    const why = memo.why === undefined || memo.why === null ? '' : `: ${plain(memo.why)}`;
    describeBy(() => `Schedule \`${schedule}\`, ${utc(at)}: job \`${this.#job}\` ${memo.state}${why}`);
  }
}

const isLong = (): boolean => workflowInfo().historyLength > LONG_HISTORY;

const failed = (why: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.InvalidJob, nonRetryable: true, message: shortened(why) });

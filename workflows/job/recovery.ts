import { condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { JobSettings, JobView } from '../../contract/job.js';
import { type Cause, toldText, withReaction } from '../../domain/job-events/kinds.js';
import { JobPhase, type Outcome, type OutcomeCause } from '../../domain/job-state.js';
import { type Budget, budgetLeft, charge, type Retries } from '../../domain/recovery/budgets.js';
import { decide } from '../../domain/recovery/decide.js';
import type { Fact, Facts } from '../../domain/recovery/facts.js';
import { afterEnd, gaveUpText, type QuickEnds } from '../../domain/recovery/loop.js';
import { durationText, type EpochMs } from '../../domain/units.js';
import { askedMachines, kindOfJob, providerOf } from '../../domain/machines.js';
import type { RefusalScope } from '../../domain/slice.js';
import { aside } from '../activity-options.js';
import { meter } from '../meter.js';
import type { Attempt, AttemptResult } from './attempt.js';
import { type EndCause, endCause } from './attempt-record.js';
import { endFact } from './end-fact.js';
import type { Gang } from './gang.js';
import { zonePatienceMs } from './hedge.js';
import type { Interruptions } from './interruption.js';
import type { JobFile } from './job-file.js';
import type { LeaseHold } from './lease.js';
import { lossCause, lossFact } from './loss-words.js';
import { Refusals } from './refusals.js';
import { cancelText, type Requests } from './requests.js';
import type { SliceLoss, Slices } from './slices.js';
import type { JobCarry } from './state.js';
import type { JobStory } from './story.js';
import { SuspectMachine } from './suspect-machine.js';
import type { ZoneAnswers } from './zone-answers.js';
import type { ZoneRace } from './zone-race.js';

type EndPlace = Pick<EndCause, 'at' | 'exitCode'>;
type RecoveryKey = 'spent' | 'quotaPreemptions' | 'quickEnds' | 'refusals' | 'waitingSince' | 'suspect';

export interface RecoveryParts {
  readonly file: JobFile;
  readonly story: JobStory;
  readonly requests: Requests;
  readonly slices: Slices;
  readonly settings: JobSettings;
  readonly lease: LeaseHold;
  readonly gang: Gang;
  readonly race: ZoneRace;
  readonly attempt: Attempt;
  readonly interruptions: Interruptions;
  readonly answers: ZoneAnswers;
}

/**
 * Asks `domain/recovery` what the end of an attempt, or the loss of a slice, means for the job, and carries it out: a new
 * attempt while the budgets last, or the outcome.
 */
export class Recovery {
  #spent: Retries;
  #quotaPreemptions: number;
  #quickEnds: QuickEnds;
  /** The provider took slices of the job since they were last all ready. */
  #isPreempted = false;
  #waitingSince: EpochMs | undefined;
  /** The zone that is asked when the present pause ends. */
  #pausesFor: JobView['nextZone'];
  readonly #suspect: SuspectMachine;
  readonly #refusals: Refusals;
  readonly #submittedAt: EpochMs;
  readonly #parts: RecoveryParts;

  constructor(parts: RecoveryParts, carry: Pick<JobCarry, RecoveryKey | 'submittedAt' | 'attempt'>) {
    this.#parts = parts;
    this.#refusals = new Refusals(parts.settings.timings, carry.refusals);
    this.#spent = carry.spent;
    this.#quotaPreemptions = carry.quotaPreemptions ?? 0;
    this.#quickEnds = carry.quickEnds ?? 0;
    this.#suspect = new SuspectMachine(parts.slices, carry.suspect);
    this.#submittedAt = carry.submittedAt;
    // A job that never had its slices waits since its submit, whatever the previous run knew.
    this.#waitingSince = carry.waitingSince ?? (carry.attempt.number === 0 ? carry.submittedAt : undefined);
  }

  get spent(): Retries {
    return this.#spent;
  }

  get quotaPreemptions(): number {
    return this.#quotaPreemptions;
  }

  notePreemptionByQuota(): void {
    this.#quotaPreemptions += 1;
  }

  /** All slices of the job are ready. */
  slicesReady(): void {
    this.#refusals.clear();
    this.#parts.answers.clear();
    this.#isPreempted = false;
    this.waitsNoMore();
  }

  /** Time for which a zone is asked before the job moves on, in ms. */
  get zonePatienceMs(): number | undefined {
    return zonePatienceMs(this.#parts.file.spec, this.#parts.settings.timings, this.#isPreempted);
  }

  /** Reacts to a loss while the gang was brought up, or waited for. Undefined: the job goes on. */
  async afterLoss(loss: SliceLoss): Promise<Outcome | undefined> {
    const { gang, lease, slices } = this.#parts;
    if (loss.cause === 'refused') this.#noteRefusal(loss);
    const decision = this.#whileNotReady(lossFact(loss, this.#zones.length, slices.ready.length));
    const what = lossCause(loss, {
      requested: slices.requestedWith(loss.index),
      zone: gang.zone,
      provider: providerOf(this.#parts.file.spec),
    });
    // It beats every answer after which the job would ask again.
    if (this.isWaitOver && decision.do !== 'fail') return this.waitedInVain('its zones gave no chips');
    switch (decision.do) {
      case 'retry':
        return this.#retry(decision.budget, what, [loss.index]);
      case 'next zone':
        this.#parts.story.setBack(what);
        if (await this.#followRival(what)) return undefined;
        this.#parts.story.move(JobPhase.Evicting, what);
        // A gang lies in one zone, so its slices that are here already go too.
        await gang.evict('another zone is asked for the whole gang', this.#allSlices, this.waits());
        // A job that waited for `timeouts.provision` needs no further pause.
        return this.#nextZone(what, loss.cause === 'refused');
      case 'ask again':
        this.#parts.story.setBack(what);
        await gang.evict(toldText(what), slices.refused, this.waits());
        return this.#pause(what, this.#refusals.pauseHereMs);
      case 'ask for lease':
        this.#parts.story.move(JobPhase.Evicting, what);
        await gang.evict(toldText(what), undefined, this.waits());
        lease.lost();
        return undefined;
      case 'fail':
        if (decision.spent) return this.#outOf(decision.by, what);
        return this.#failed(decision.by, toldText(what), { at: { slice: loss.index } });
    }
  }

  /** The job got no chips in this tier, and asks for another tier. */
  leaveTier(tier: number | undefined): void {
    this.#refusals.leftTier(tier, this.#zones);
  }

  /**
   * The job waits for chips, from now on or since before.
   * @returns the end of `timeouts.queue`, which covers all waiting since it last had all of its slices, or was submitted
   */
  waits(): EpochMs | undefined {
    const { queue } = this.#parts.file.spec.timeouts ?? {};
    this.#waitingSince ??= Date.now();
    return queue === undefined ? undefined : this.#waitingSince + queue * 1000;
  }

  /** `timeouts.queue` is over for a job that waits. A zone that has all slices at this moment wins. */
  get isWaitOver(): boolean {
    const until = this.waits();
    return until !== undefined && Date.now() >= until && this.#parts.slices.readyRival === undefined;
  }

  /** It waits for nothing until a person asks for it. */
  waitsNoMore(): void {
    this.#waitingSince = undefined;
  }

  /** `timeouts.queue` is over. @param what the reason of the wait */
  waitedInVain(what: string): Outcome {
    const { queue = 0 } = this.#parts.file.spec.timeouts ?? {};
    const waited = Math.round((Date.now() - (this.#waitingSince ?? Date.now())) / 1000);
    // The end comes seconds after its time. A worker that was away lets it come later.
    const seconds = waited <= queue + ENDS_WITHIN_SECONDS ? queue : waited;
    const answers = this.#parts.answers.text();
    const text = `${what} for ${durationText(seconds)} (timeouts.queue)${answers === '' ? '' : `: ${answers}`}`;
    const decision = this.#whileNotReady('queue time over');
    if (decision.do !== 'fail') throw new TypeError(`recovery: '${decision.do}' without a lease`);
    return this.#failed(decision.by, text);
  }

  /** A cluster did not build its image. Nothing of the job has run, and no budget covers it: the user fixes and resubmits it. */
  notBuilt(by: 'task' | 'infrastructure', message: string, lines: readonly string[]): Outcome {
    return this.#failed(by, [`its image was not built: ${message}`, ...lines].join('\n'));
  }

  /** Facts by which the job decides if an attempt ends now. */
  facts(result: AttemptResult): Facts<'attempt ended'> {
    const { file, lease, requests, attempt } = this.#parts;
    const { pauseMs } = afterEnd(this.#quickEnds, attempt.lastedMs);
    return {
      end: endFact(result, file.spec, file.spec.loop !== true && this.#suspect.isAtFault(result)),
      lease: lease.revocation === undefined ? 'stands' : 'revoked',
      restart: requests.current?.kind === 'restart' ? 'asked for' : 'not asked for',
      loop: file.spec.loop !== true ? 'none' : pauseMs === undefined ? 'gives up' : 'again',
      ...this.#budgets,
    };
  }

  /** Undefined: the job goes on. */
  async afterAttempt(result: AttemptResult): Promise<Outcome | undefined> {
    const { file, story, gang, attempt } = this.#parts;
    if (result.kind === 'slices-lost') gang.markLost(result.slices);
    const { quickEnds, pauseMs } = afterEnd(this.#quickEnds, attempt.lastedMs);
    const facts = this.facts(result);
    const decision = decide('attempt ended', facts);
    const end = endCause(result, file.spec);
    const isReplaced =
      facts.end === 'machine at fault' && decision.do === 'retry' && decision.budget === 'infrastructure';
    const { cause: known } = end;
    const cause: Cause =
      isReplaced && known.kind === 'exited'
        ? { ...known, facts: { ...known.facts, machine: this.#suspect.facts(result) } }
        : known;
    this.#suspect.remember(result, isReplaced);
    if (isReplaced) await this.#putAside(result);
    switch (decision.do) {
      case 'keep':
        return undefined;
      case 'succeed':
        return { ...this.outcome('succeeded'), exitCode: 0 };
      case 'stored outcome':
        if (result.kind !== 'ended-before')
          throw new TypeError(`recovery: no outcome is stored after '${result.kind}'`);
        story.note(cause);
        return result.outcome;
      case 'loop':
        this.#quickEnds = quickEnds;
        return this.#startAgain(cause, pauseMs ?? 0);
      case 'retry':
        return this.#retry(decision.budget, cause, this.#replaced(decision.replace, result));
      case 'fail':
        if (decision.spent) return this.#outOf(decision.by, cause, end);
        return this.#failed(decision.by, decision.loop ? gaveUpText(toldText(cause)) : toldText(cause), end);
    }
  }

  outcome(result: Outcome['result'], cause?: OutcomeCause): Outcome {
    const { number, firstStartedAt, outputs, left } = this.#parts.attempt;
    return {
      result,
      ...(cause ? { cause } : {}),
      attempts: number,
      preemptions: this.#spent.preemption,
      ...this.takenByQuota,
      ...this.askedForByCommand,
      ...(outputs && { outputs }),
      ...(left && { left }),
      submittedAt: this.#submittedAt,
      ...(firstStartedAt === undefined ? {} : { startedAt: firstStartedAt }),
      endedAt: Date.now(),
    };
  }

  cancelledOutcome(): Outcome {
    const { story, requests } = this.#parts;
    const asker = requests.canceller(Date.now());
    const message = cancelText(story.phase, asker);
    return this.outcome('cancelled', { by: 'user', message, ...(asker === undefined ? {} : { asker }) });
  }

  /** Empty for a job that quota never preempted. */
  get takenByQuota(): { readonly quotaPreemptions?: number } {
    return this.#quotaPreemptions === 0 ? {} : { quotaPreemptions: this.#quotaPreemptions };
  }

  /** Empty for a job whose command never asked for another start. */
  get askedForByCommand(): { readonly requestedRestarts?: number } {
    const { requested } = this.#spent;
    return requested === 0 ? {} : { requestedRestarts: requested };
  }

  carry(): Pick<JobCarry, RecoveryKey> {
    const refusals = this.#refusals.carry();
    const suspect = this.#suspect.carry();
    return {
      ...(refusals.count === 0 ? {} : { refusals }),
      spent: this.#spent,
      ...this.takenByQuota,
      ...(this.#quickEnds === 0 ? {} : { quickEnds: this.#quickEnds }),
      ...(suspect === undefined ? {} : { suspect }),
      ...(this.#waitingSince === undefined ? {} : { waitingSince: this.#waitingSince }),
    };
  }

  // ----------------------------------------------------------------------------------------------------------------

  get #budgets() {
    return budgetLeft(this.#spent, this.#parts.file.spec.retries);
  }

  get #zones(): readonly string[] {
    return askedMachines(this.#parts.file.spec).zones;
  }

  #whileNotReady(because: Fact<'not ready', 'because'>) {
    return decide('not ready', {
      because,
      zones: this.#refusals.standing({ zones: this.#zones, otherTiers: this.#parts.lease.otherTiers }, because),
      refusals: this.#refusals.areMany ? 'many' : 'few',
      command: this.#parts.attempt.firstStartedAt === undefined ? 'never ran' : 'ran before',
      ...this.#budgets,
    });
  }

  #noteRefusal(refusal: { readonly scope: RefusalScope; readonly message: string }): void {
    const { zone } = this.#parts.gang;
    meter.refused(refusal.scope);
    this.#refusals.note(zone, refusal.scope);
    this.#parts.answers.note(zone, refusal);
  }

  /** The zone that is asked when the pause is over. Undefined: the job does not pause. */
  get pausesFor(): JobView['nextZone'] {
    return this.#pausesFor;
  }

  /** Asks for the next slices in the next zone. After a round of refusals from all zones it pauses first. */
  async #nextZone(what: Cause, mayPause: boolean): Promise<undefined> {
    if (await this.#followRival(what)) return undefined;
    this.#parts.race.leaveZone();
    this.#refusals.leftZone();
    if (mayPause) await this.#pause(what, this.#refusals.pauseMs(this.#zones.length));
    return undefined;
  }

  /** Another zone is asked already: the job goes on with that one. */
  async #followRival(what: Cause): Promise<boolean> {
    if (!(await this.#parts.race.followRival(what))) return false;
    this.#refusals.leftZone();
    return true;
  }

  /** Pauses, and says why in `why` and lists. */
  async #pause(after: Cause, ms: number): Promise<undefined> {
    const { story, gang, slices, interruptions } = this.#parts;
    const { zone } = gang;
    if (ms === 0) return undefined;
    // A job whose slices are ready beside the first zone need not wait for that one.
    const isOver = (): boolean => interruptions.isUnwanted() || slices.readyRival !== undefined;
    const at = Math.min(Date.now() + ms, this.#parts.race.movesOnAt ?? Infinity);
    const until = Math.min(at, this.waits() ?? Infinity);
    const isLeft = this.#refusals.isLeft(this.#zones);
    const facts = {
      after,
      zone,
      ...(until < at ? { endsAt: until } : { at }),
      ...(!isLeft && { isNoZoneLeft: true as const }),
    };
    story.move(JobPhase.Provisioning, { kind: 'backoff', facts });
    if (until === at) this.#pausesFor = { zone, at };
    await condition(isOver, Math.max(1, until - Date.now()), { summary: 'before slices are asked for again' });
    this.#pausesFor = undefined;
    return undefined;
  }

  /**
   * Puts a machine of one's own aside, which would be given to the next job. A machine that a provider takes back is not met
   * again.
   */
  async #putAside(result: AttemptResult): Promise<void> {
    const { file, story } = this.#parts;
    meter.machineReplaced(file.spec.pool, kindOfJob(file.spec));
    const own = this.#suspect.ownMachine(result, workflowInfo().workflowId);
    if (own === undefined) return;
    const { name, ...machine } = own;
    try {
      await aside(`put machine ${name} aside`).putAside(machine);
    } catch (error) {
      if (isCancellation(error)) throw error;
      story.note({ kind: 'put-aside-failed', facts: { machine: name, reason: (error as Error).message } });
    }
  }

  get #allSlices(): readonly number[] {
    return this.#parts.slices.views.map(({ index }) => index);
  }

  #replaced(
    replace: Extract<ReturnType<typeof decide<'attempt ended'>>, { do: 'retry' }>['replace'],
    result: AttemptResult,
  ): readonly number[] {
    switch (replace) {
      case 'nothing':
        return [];
      case 'lost slices':
        return result.kind === 'slices-lost' ? result.slices.map(({ index }) => index) : [];
      case 'its slice':
        return 'at' in result ? [result.at.slice] : [];
    }
  }

  /** Takes one retry from a budget and gives these slices up. */
  async #retry(budget: Budget, what: Cause, slices: readonly number[]): Promise<undefined> {
    const { file, story, gang } = this.#parts;
    this.#spent = charge(this.#spent, budget);
    const then = { budget, used: this.#spent[budget], of: file.spec.retries[budget] };
    const note = withReaction(what, { do: 'retry', ...then });
    story.setBack(note);
    if (slices.length === 0) {
      story.note(note);
      return undefined;
    }
    story.move(JobPhase.Evicting, note);
    await gang.evict(toldText(what), slices, this.waits());
    if (budget === 'preemption') await this.#afterPreemption(what);
    return undefined;
  }

  /** A zone that took all slices of the job comes last. */
  async #afterPreemption(what: Cause): Promise<void> {
    const { race, slices, gang } = this.#parts;
    if (!slices.hasOwn) {
      this.#isPreempted = true;
      gang.zones.preempted(Date.now());
    }
    if (slices.hasOwn || this.#zones.length < 2 || (await this.#followRival(what))) return;
    race.leaveZone();
  }

  /** The next start of a command that loops. */
  async #startAgain(what: Cause, pauseMs: number): Promise<undefined> {
    const { story, interruptions } = this.#parts;
    story.move(JobPhase.Running, withReaction(what, { do: 'loop', at: Date.now() + pauseMs }));
    await condition(interruptions.isUnwanted, pauseMs, { summary: 'before the command starts again' });
    return undefined;
  }

  #outOf(budget: Budget, what: Cause, end: EndPlace = {}): Outcome {
    const allowed = this.#parts.file.spec.retries[budget];
    return this.#failed(budget, `${toldText(what)}; its budget of ${allowed} ${budget} retries is spent`, end);
  }

  #failed(budget: Budget, message: string, { at, exitCode }: EndPlace = {}): Outcome {
    // Restarts that the command asked for too often are its own fault.
    const by = budget === 'requested' ? 'task' : budget;
    const outcome = this.outcome('failed', { by, message, ...at });
    return exitCode === undefined ? outcome : { ...outcome, exitCode };
  }
}

const ENDS_WITHIN_SECONDS = 60;

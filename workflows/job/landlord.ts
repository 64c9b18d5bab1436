import { CancellationScope, condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import { lodgeForm, lodgerNewsForm, noLodgerForm } from '../../contract/job-forms.js';
import {
  evictionSignal,
  lodgeAnswerSignal,
  type LodgeCall,
  type LodgerNews,
  lodgerNewsSignal,
  lodgeSignal,
  noLodgerSignal,
} from '../../contract/lodging.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import type { JobMember } from '../../domain/array/group-state.js';
import type { KeptNoMore } from '../../domain/job-events/kinds.js';
import type { Outcome } from '../../domain/job-state.js';
import { JobPhase } from '../../domain/job-state.js';
import { count, durationText } from '../../domain/units.js';
import { lineReading, looks } from '../activity-options.js';
import type { Inbox } from '../inbox.js';
import { tell } from '../others.js';
import type { Attempt } from './attempt.js';
import { type Revocation, revocationCause } from './interruption.js';
import { type KeptParts, keepSlices } from './keep-slices.js';
import { chainRunId } from './story.js';
import type { JobUsage } from './usage.js';

interface LandlordParts extends KeptParts {
  readonly usage: JobUsage;
  readonly member?: JobMember;
  readonly attempt: Attempt;
}

/** Time for which the slices wait for a member: it is started at once, and accepted in a second or two. */
const OFFER_MS = 120_000;
/** Members that run on the slices of one job, at most, so that its history stays short. */
const MOST_LODGERS = 100;
/** Time to the next look at a lodger that tells nothing, doubled up to the last: one that is terminated tells nobody. */
const FIRST_LOOK_MS = 60_000;
const LAST_LOOK_MS = 10 * 60_000;
/** Time that a lodger has, beyond its grace, to leave. */
const LEAVING_MS = 60_000;

/**
 * The landlord's side of lent slices (docs/adr/0163). A member that has succeeded keeps its lease and slices, and lends them to
 * other members of its group, one after the other.
 */
export class LandlordHold {
  readonly #parts: LandlordParts;
  readonly #isWarm: boolean;
  #isLending = false;
  /** A member that asks, and is not answered. */
  #call: LodgeCall | undefined;
  #lodger: LodgeCall | undefined;
  /** The end of the present stay. */
  #left: { readonly isClean: boolean } | undefined;
  /** The present lodger has asked twice, so it was reset. Its command may run without its knowledge. */
  #wasReset = false;
  /** No member is left that could come. */
  #isLast = false;

  /** @param isWarm its array asks for it */
  constructor(parts: LandlordParts, isWarm: boolean) {
    this.#parts = parts;
    this.#isWarm = isWarm;
  }

  listen(inbox: Inbox): void {
    inbox.on(lodgeSignal, lodgeForm, (call) => this.#onCall(call));
    inbox.on(lodgerNewsSignal, lodgerNewsForm, (news) => this.#onNews(news));
    inbox.on(noLodgerSignal, noLodgerForm, ({ group }) => {
      if (group === this.#parts.member?.group) this.#isLast = true;
    });
  }

  /** Whether a job with this outcome lends its slices, as far as it knows itself. */
  #mayLend({ result }: Outcome): boolean {
    const { member, lease, slices, attempt, requests } = this.#parts;
    if (!this.#isWarm || member === undefined || result !== 'succeeded' || requests.current !== undefined) return false;
    const isOwn = lease.isHeld && !lease.isLodged && lease.revocation === undefined && slices.isWhole;
    return isOwn && attempt.unreachable.length === 0 && slices.views.every(({ endsAt }) => endsAt === undefined);
  }

  /** Asks the pool whether anybody waits for the slices. It does not throw at a cancel. */
  async lends(outcome: Outcome): Promise<boolean> {
    return this.#mayLend(outcome) && !(await this.#isWaitedFor());
  }

  async #isWaitedFor(): Promise<boolean> {
    const { id, demand } = this.#parts.lease;
    const { priority, units } = demand;
    const question = { pool: id.pool, job: id.job, demand: { priority, units } };
    try {
      return await lineReading('does anybody wait for these slices?').isWaitedFor(question);
    } catch {
      // It is not known, or the job is cancelled. Then they are given back.
      return true;
    }
  }

  /**
   * Lends the slices of a job that has its outcome until no member comes, or something else ends it. It does not throw at a
   * cancel, because a known outcome is final.
   * @param conclude stores and tells the outcome, and that the slices are lent
   */
  async lend(outcome: Outcome, conclude: () => Promise<void>): Promise<void> {
    const { story, lease, requests, usage } = this.#parts;
    await CancellationScope.nonCancellable(async () => {
      await lease.park(true);
      this.#isLending = true;
      story.hold(outcome, { kind: 'lending', facts: { forSeconds: OFFER_MS / 1000 } });
      await conclude();
    });
    let why: KeptNoMore;
    try {
      why = await this.#stays();
    } catch (error) {
      if (!isCancellation(error)) throw error;
      const asker = requests.canceller(Date.now());
      why = asker === undefined ? {} : { asker };
    }
    this.#isLending = false;
    story.note({ kind: 'holding-ended', facts: why });
    await CancellationScope.nonCancellable(() => this.#evict());
    usage.lend(false);
  }

  /** One stay after the other. @returns why there is no other */
  async #stays(): Promise<KeptNoMore> {
    const { lease, settings, story, usage } = this.#parts;
    for (let stays = 0; ; stays++) {
      const call = await this.#nextCall();
      if (!('lodger' in call)) return call;
      if (call.fits !== settings.fits) {
        await this.#answer(call, false);
        return { reason: `${call.lodger.id}, which comes next, needs others` };
      }
      this.#lodger = call;
      this.#left = undefined;
      this.#wasReset = false;
      usage.lend(true);
      await lease.park(false);
      const { id } = call.lodger;
      story.move(JobPhase.Holding, { kind: 'lent', facts: { lodger: id } });
      // One that has ended meanwhile has never begun.
      if (!(await this.#answer(call, true))) this.#left = { isClean: true };
      await this.#untilLeft(call);
      if (this.#left !== undefined) usage.lend(false);
      if (lease.revocation !== undefined) return { because: revocationCause(lease.revocation) };
      if (this.#left?.isClean !== true) return { reason: `${id} left them without success` };
      this.#lodger = undefined;
      await lease.park(true);
      story.move(JobPhase.Holding, { kind: 'lending', facts: { forSeconds: OFFER_MS / 1000, isAgain: true } });
      const isLong = workflowInfo().historyLength >= settings.timings.jobHistoryEvents;
      if (stays + 1 >= MOST_LODGERS || isLong) return { limit: `the turn of ${count(stays + 1, 'member')}` };
      if (await this.#isWaitedFor()) return { reason: 'another job waits for them' };
    }
  }

  async #nextCall(): Promise<LodgeCall | KeptNoMore> {
    const { slices, settings, lease, gang } = this.#parts;
    const isChanged = (): boolean => this.#call !== undefined || this.#isLast || lease.revocation !== undefined;
    const until = Date.now() + OFFER_MS;
    const end = await keepSlices({ slices: slices.ready, timings: settings.timings, until, isChanged });
    if (lease.revocation !== undefined) return { because: revocationCause(lease.revocation) };
    if (end.kind === 'lost') {
      gang.markLost(end.slices);
      const { index = 0, message = '' } = end.slices[0] ?? {};
      return { because: { kind: 'slice-lost', facts: { slice: index, message } } };
    }
    const call = this.#call;
    this.#call = undefined;
    if (call !== undefined) return call;
    return this.#isLast
      ? { reason: 'no member of its group is left that could use them' }
      : { limit: `the wait of ${durationText(OFFER_MS / 1000)} for the next member` };
  }

  async #untilLeft({ lodger }: LodgeCall): Promise<void> {
    const { lease } = this.#parts;
    const isNews = (): boolean => this.#left !== undefined || lease.revocation !== undefined;
    for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(2 * lookMs, LAST_LOOK_MS)) {
      if (await condition(isNews, lookMs, { summary: `until ${lodger.id}, which told nothing, is looked at` })) return;
      if (await looks(`is job ${lodger.id} still open?`).isJobOpen(lodger)) continue;
      this.#left ??= { isClean: false };
    }
  }

  /** Tells the present lodger to leave, and waits while it saves. The slices go next, whatever it does. */
  async #evict(): Promise<void> {
    const { lease } = this.#parts;
    const waiting = this.#call;
    this.#call = undefined;
    if (waiting !== undefined) await this.#answer(waiting, false);
    if (this.#lodger === undefined || this.#left !== undefined) return;
    const { lodger, graceSeconds } = this.#lodger;
    const { reason, cause }: Revocation = lease.revocation ?? {
      reason: `${workflowInfo().workflowId}, whose slices it uses, gives them back`,
      cause: 'parked',
    };
    const isTold = await tell(lodger.id, evictionSignal, {
      ...{ v: 1, run: lodger.run, landlord: ownRef(), reason, cause },
    });
    const summary = `until ${lodger.id} has left the slices`;
    if (isTold) await condition(() => this.#left !== undefined, graceSeconds * 1000 + LEAVING_MS, { summary });
  }

  /** @returns false if there is no such open job */
  #answer({ lodger }: LodgeCall, isYes: boolean): Promise<boolean> {
    const { settings, slices, lease } = this.#parts;
    const { tier, bought } = lease;
    const terms = { ...(tier !== undefined && { tier }), bought };
    return tell(lodger.id, lodgeAnswerSignal, {
      ...{ v: 1, run: lodger.run, landlord: { job: ownRef(), publicKey: settings.publicKey } },
      ...(isYes && { lent: { slices: slices.lent, lease: terms } }),
    });
  }

  #onCall(call: LodgeCall): void {
    if (call.group !== this.#parts.member?.group) return;
    if (this.#lodger !== undefined && isSame(this.#lodger.lodger, call.lodger) && this.#left === undefined) {
      // It has forgotten the answer.
      this.#wasReset = true;
      this.#answerNow(call, this.#isLending);
    } else if (!this.#isLending || this.#lodger !== undefined || this.#call !== undefined) this.#answerNow(call, false);
    else this.#call = call;
  }

  #answerNow(call: LodgeCall, isYes: boolean): void {
    void CancellationScope.nonCancellable(() => this.#answer(call, isYes)).catch(() => undefined);
  }

  #onNews(news: LodgerNews): void {
    if (this.#call !== undefined && isSame(this.#call.lodger, news.lodger) && news.kind === 'left')
      this.#call = undefined;
    if (this.#lodger === undefined || !isSame(this.#lodger.lodger, news.lodger)) return;
    if (news.kind === 'left') this.#left ??= { isClean: news.isClean && !this.#wasReset };
    else void this.#parts.lease.park(news.isParked).catch(() => undefined);
  }
}

const isSame = (one: JobRef, other: JobRef): boolean => one.id === other.id && one.run === other.run;

const ownRef = (): JobRef => ({ id: workflowInfo().workflowId, run: chainRunId() });

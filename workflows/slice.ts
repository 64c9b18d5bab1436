import { CancellationScope, condition, continueAsNew, isCancellation, log, workflowInfo } from '@temporalio/workflow';
import {
  giveUpForm,
  leaseAnswerForm,
  releaseForm,
  attachSignal,
  type AwaitSliceInput,
  giveUpSignal,
  leaseAnswerSignal,
  releaseSliceSignal,
  type SliceCarry,
  type SliceInput,
  type SliceLossReason,
} from '../contract/slice.js';
import { machineKind, type MachinePlan, type MachineRef } from '../domain/machines.js';
import { type AskedFor, TOLD_SCOPES, leaseKey, MOST_ANSWER, type ToldRefusal } from '../domain/lease.js';
import type { Condition, CreateAnswer, Owner } from '../domain/slice.js';
import { boundedLine } from '../domain/outside-text.js';
import { describeBy } from './current-details.js';
import { createOnce, deletion, looks, watching } from './activity-options.js';
import { hearingCancel, Inbox, ofThisTime } from './inbox.js';
import { checkedInput, refOf } from './slice/check-input.js';
import { sliceDetails, type SliceStage, createSummary, deleteSummary } from './slice/details.js';
import { SliceMail } from './slice/mail.js';

/**
 * Owns the machines of one request, which is for one slice or for all slices of an atomic job, from before the first create call
 * until they are seen gone (docs/design.md, "A job never calls a provider"; docs/adr/0003). They are deleted when the job, the
 * quota workflow or the janitor says so, or when the server's one cancel request shows that the job is closed, in whatever way.
 * The chips of the lease are counted until `gone` is reported, whichever of these workflows dies.
 */
export async function slice(input: SliceInput): Promise<void> {
  const owner = new SliceOwner(checkedInput(input));
  const end = await hearingCancel(
    () => owner.run(),
    () => owner.parentClosed(),
  );
  if (end === 'history is long') await continueAsNew<typeof slice>({ ...input, carry: owner.carry() });
}

class SliceOwner {
  /** The reason to delete the slice. It is set once. */
  #told: string | undefined;
  /** A person's reason for saying that nothing is left of the slice that is being deleted. */
  #givenUp: string | undefined;
  #leaseEpoch = 0;
  #isLeaseHeld: boolean | undefined;
  /** End of the time in which a create call without an answer may still take effect. */
  #unansweredUntil = 0;
  /** Set before each create call, and cleared if that call was refused as a whole (docs/adr/0099). */
  #mayExist: boolean;
  #operation: string | undefined;
  /** The provider's last refusal, for the pool. */
  #refused: RefusedSlice | undefined;
  #stage: SliceStage = { kind: 'asking-lease' };
  #stageSince = Date.now();
  /** Number of checks under way that ask whether the job is open. Their results must not be lost between two runs. */
  #looksAtJob = 0;
  readonly #input: SliceInput;
  readonly #mail: SliceMail;
  readonly #inbox: Inbox;

  constructor(input: SliceInput) {
    const { carry } = input;
    this.#input = input;
    this.#mail = new SliceMail(this.#ref, input.lease);
    if (input.task.kind === 'reclaim') this.#told = 'it was left behind';
    this.#leaseEpoch = carry?.leaseEpoch ?? 0;
    this.#isLeaseHeld = carry?.isLeaseHeld;
    this.#unansweredUntil = carry?.unansweredUntil ?? 0;
    this.#mayExist = input.task.kind === 'reclaim' || (carry !== undefined && carry.isNeverAccepted !== true);
    this.#inbox = new Inbox(carry?.kept)
      .on(releaseSliceSignal, releaseForm, ({ reason }) => this.#tell(reason))
      .on(giveUpSignal, giveUpForm, ({ reason }) => {
        // A slice that is not being deleted cannot be meant.
        if (this.#stage.kind === 'deleting') this.#givenUp = reason;
      })
      .onBare(attachSignal, () => void this.#mail.repeatNews())
      .on(leaseAnswerSignal, ofThisTime(leaseAnswerForm), (answer) => this.#onLeaseAnswer(answer));
  }

  async run(): Promise<'gone' | 'history is long'> {
    describeBy(() => this.#details());
    this.#inbox.open();
    if (this.#input.task.kind === 'create' && this.#told === undefined) {
      const isInTime = await this.#bringUp(this.#input.task.plan);
      if (!isInTime) await condition(() => this.#looksAtJob === 0);
      if (!isInTime && this.#told === undefined) return 'history is long';
    }
    if (this.#told === undefined) await condition(() => this.#told !== undefined);
    await this.#delete(this.#told ?? '');
    this.#enter(this.#givenUp === undefined ? { kind: 'gone' } : { kind: 'given-up', reason: this.#givenUp });
    // Both at once, so that the pool has heard of it before the job's next request arrives there.
    await Promise.all([this.#mail.report({ kind: 'gone' }), this.#mail.tellQuota({ kind: 'gone', ...this.#refused })]);
    return 'gone';
  }

  /** State that the next run continues from: it asks for its lease, or calls create, as this one did. */
  carry(): SliceCarry {
    const { kept } = this.#inbox;
    return {
      leaseEpoch: this.#leaseEpoch,
      unansweredUntil: this.#unansweredUntil,
      ...(this.#mayExist ? {} : { isNeverAccepted: true }),
      ...(this.#isLeaseHeld === undefined ? {} : { isLeaseHeld: this.#isLeaseHeld }),
      ...(kept.length === 0 ? {} : { kept }),
    };
  }

  /** The server's cancel request: our parent closed, or only continued as new (docs/facts.md, "Temporal"). */
  async parentClosed(): Promise<void> {
    this.#looksAtJob += 1;
    await CancellationScope.nonCancellable(async () => {
      const { job, run } = this.#input.lease;
      if (!(await looks(`is job ${job} still open?`).isJobOpen({ id: job, run }))) this.#tell(`job ${job} is closed`);
    });
    this.#looksAtJob -= 1;
  }

  #tell(reason: string): void {
    if (this.#told === undefined) log.info(`deleting the slice: ${reason}`);
    this.#told ??= reason;
  }

  #onLeaseAnswer({ epoch, isHeld }: { epoch: number; isHeld: boolean }): void {
    if (epoch < this.#leaseEpoch) return;
    this.#leaseEpoch = epoch;
    this.#isLeaseHeld = isHeld;
  }

  // Bringing up ----------------------------------------------------------------------------------------------------

  /** False: the history is long and nothing is under way, so the next run begins this again. */
  async #bringUp(plan: MachinePlan): Promise<boolean> {
    for (const step of [() => this.#confirmLease(plan), () => this.#create(plan)]) {
      const end = await step();
      if (end !== 'go on') return end === 'ended';
    }
    await this.#watch(plan);
    return true;
  }

  /**
   * Whether the history is so long that the next run should continue. Days of an outage repeat questions and calls, until the
   * server would end the workflow (docs/adr/0042).
   */
  get #isLong(): boolean {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    return continueAsNewSuggested || historyLength >= this.#input.timings.jobHistoryEvents;
  }

  /** Allows no create call before the current epoch of the quota workflow has acknowledged the lease. */
  async #confirmLease(plan: MachinePlan): Promise<Step> {
    if (this.#isLeaseHeld === true) return 'go on';
    this.#enter({ kind: 'asking-lease' });
    const pause = { summary: 'until it asks again whether its lease stands' };
    for (;;) {
      // Repeated after a while: the quota workflow that took the question may have lost its memory since.
      const { isBeside } = this.#input;
      const asks = askedFor(plan);
      await this.#mail.tellQuota({
        kind: 'slice',
        ref: this.#ref,
        ...(isBeside && { isBeside }),
        ...(asks && { asks }),
      });
      if (await condition(() => this.#isLeaseHeld !== undefined || this.#told !== undefined, '1 minute', pause)) break;
      if (this.#isLong) return 'history is long';
    }
    if (this.#told !== undefined) return 'ended';
    const { lease, isBeside } = this.#input;
    if (this.#isLeaseHeld && isBeside) await this.#mail.report({ kind: 'allowed' });
    if (this.#isLeaseHeld) return 'go on';
    const message = isBeside ? 'its pool has no room for it' : `lease ${leaseKey(lease)} does not stand`;
    await this.#lose({ cause: 'lease', message });
    return 'ended';
  }

  /** Calls create until it has a definite answer. */
  async #create(plan: MachinePlan): Promise<Step> {
    this.#enter({ kind: 'creating' });
    let moments = 0;
    const since = Date.now();
    for (let waitMs = 1000; this.#told === undefined; waitMs = Math.min(waitMs * 2, 60_000)) {
      const answer = await this.#callCreate(plan);
      switch (answer.kind) {
        case 'accepted':
          this.#operation = answer.operation;
          return 'go on';
        case 'refused':
          if (answer.isPlaceKept) await this.#mail.tellQuota({ kind: 'slice', ref: this.#ref, isPlaceKept: true });
          // A race or a rate limit is over in seconds.
          if (answer.scope === 'moment' && (moments += 1) < MOST_MOMENTS) {
            this.#enter({ kind: 'creating', unanswered: answer.message });
            await this.#napUnlessTold(waitMs);
            continue;
          }
          await this.#lose({ cause: 'refused', scope: answer.scope, message: answer.message });
          return 'ended';
        case 'not-yet':
          if (answer.isUntouched && Date.now() - since >= LONGEST_UNTOUCHED_MS) {
            await this.#lose({ cause: 'refused', scope: 'request', message: `${answer.message}: none within 15 min` });
            return 'ended';
          }
          await this.#tellProgress(answer.message);
          await this.#napUnlessTold(Math.min(waitMs, NOT_YET_MS));
          break;
        case 'exists':
        case 'unanswered': {
          this.#enter({
            kind: 'creating',
            unanswered: answer.kind === 'exists' ? 'it exists already' : answer.message,
          });
          const seen = await this.#inspect(plan);
          if (seen.kind === 'foreign') {
            await this.#lose(foreignLoss(seen.message));
            return 'ended';
          }
          if (seen.kind !== 'missing' && seen.kind !== 'deleting') return 'go on';
          await this.#napUnlessTold(waitMs);
        }
      }
      if (this.#isLong && this.#told === undefined) return 'history is long';
    }
    return 'ended';
  }

  async #callCreate(plan: MachinePlan): Promise<CreateAnswer> {
    const mightExist = this.#mayExist;
    this.#mayExist = true;
    try {
      const answer = await createOnce(createSummary(plan)).createSlice(plan);
      if (answer.kind === 'unanswered') this.#noteUnanswered();
      if (answer.kind === 'not-yet' && answer.isUntouched) this.#mayExist = mightExist;
      if (answer.kind === 'refused' && answer.isPartial !== true) this.#mayExist = mightExist;
      return answer;
    } catch (error) {
      // The worker died or was too slow: its call may still take effect.
      this.#noteUnanswered();
      return { kind: 'unanswered', message: String(error) };
    }
  }

  /** Tells the job why its slice is waited for, once. */
  async #tellProgress(detail: string): Promise<void> {
    const isTold = this.#stage.kind === 'creating' && this.#stage.notYet === detail;
    this.#enter({ kind: 'creating', notYet: detail });
    if (!isTold) await this.#mail.report({ kind: 'progress', detail });
  }

  #noteUnanswered(): void {
    this.#unansweredUntil = Date.now() + this.#input.timings.createSettleMs;
  }

  async #watch(plan: MachinePlan): Promise<void> {
    this.#enter({ kind: 'awaiting' });
    const scope = new CancellationScope({ cancellable: true });
    const seen = scope
      .run(() => watching(`wait until ${this.#ref.name} is ready`).awaitSlice(this.#claim(plan)))
      .catch((error: unknown) => {
        if (isCancellation(error)) return undefined;
        throw error;
      });
    const ended = await Promise.race([seen, condition(() => this.#told !== undefined).then(() => undefined)]);
    if (this.#told !== undefined) {
      scope.cancel();
      return;
    }
    if (ended) await this.#onSeen(ended);
  }

  async #onSeen(seen: Condition): Promise<void> {
    switch (seen.kind) {
      case 'ready': {
        const { uid, hosts, others, endsAt } = seen;
        const more = { ...(others && { others }), ...(endsAt !== undefined && { endsAt }) };
        const ready = { kind: 'ready', uid, hosts, ...more } as const;
        this.#enter(ready);
        return this.#mail.report(ready);
      }
      case 'lost': {
        const { kind: _, ...reason } = seen;
        return this.#lose(reason);
      }
      case 'foreign':
        return this.#lose(foreignLoss(seen.message));
      case 'missing':
      case 'deleting':
        return this.#lose({ cause: 'failed', message: 'it went away while it was provisioned' });
      case 'waiting':
        throw new TypeError(`awaitSlice ended while the slice is '${seen.detail}'`);
    }
  }

  #lose(reason: SliceLossReason): Promise<void> {
    this.#refused = toldRefusal(reason);
    this.#enter({ kind: 'lost', message: reason.message });
    return this.#mail.report({ kind: 'lost', ...reason });
  }

  // Deleting -------------------------------------------------------------------------------------------------------

  async #delete(reason: string): Promise<void> {
    // A reclaimed slice does not know when its last create was sent, so it counts as sent now.
    if (this.#input.task.kind === 'reclaim') this.#noteUnanswered();
    this.#enter({ kind: 'deleting', reason, notBefore: this.#unansweredUntil });
    const scope = new CancellationScope({ cancellable: true });
    const gone = scope.run(() =>
      deletion(deleteSummary(this.#ref)).deleteUntilGone({
        ref: this.#ref,
        owner: this.#owner,
        notBefore: this.#unansweredUntil,
        timings: this.#input.timings,
        lease: this.#input.lease,
        ...(this.#mayExist ? {} : { isNeverAccepted: true }),
      }),
    );
    const isGivenUp = condition(() => this.#givenUp !== undefined).then(() => scope.cancel());
    await Promise.race([gone, isGivenUp]);
  }

  // Showing --------------------------------------------------------------------------------------------------------

  #enter(stage: SliceStage): void {
    this.#stage = stage;
    this.#stageSince = Date.now();
  }

  #details(): string {
    const { task, lease } = this.#input;
    return sliceDetails({
      ref: this.#ref,
      ...(task.kind === 'create' ? { plan: task.plan } : {}),
      lease,
      ...(this.#isLeaseHeld === undefined ? {} : { isLeaseHeld: this.#isLeaseHeld }),
      stage: this.#stage,
      since: this.#stageSince,
    });
  }

  // The subject of its calls ---------------------------------------------------------------------------------------

  get #ref(): MachineRef {
    return refOf(this.#input.task);
  }

  get #owner(): Owner {
    const { task } = this.#input;
    if (task.kind === 'reclaim') return task.owner;
    const { owner, job, run } = task.plan.ownership;
    return { owner, job, run };
  }

  #claim({ ref, ownership }: MachinePlan): AwaitSliceInput {
    return {
      ref,
      ownership,
      timings: this.#input.timings,
      ...(this.#operation === undefined ? {} : { operation: this.#operation }),
    };
  }

  #inspect(plan: MachinePlan): Promise<Condition> {
    return looks(`did the create call of ${this.#ref.name} take effect?`).inspectSlice(this.#claim(plan));
  }

  async #napUnlessTold(ms: number): Promise<void> {
    await condition(() => this.#told !== undefined, ms, { summary: 'until create is called again' });
  }
}

/** `ended`: the slice was released meanwhile, or lost. */
type Step = 'go on' | 'ended' | 'history is long';

/** The name is taken by a foreign resource. Another zone, or the next generation's name, avoids it. */
const foreignLoss = (message: string): SliceLossReason => ({ cause: 'refused', scope: 'zone-lasting', message });

/** The accelerator and pricing for which the pool remembers a zone's capacity. */
const askedFor = (plan: MachinePlan): AskedFor | undefined => machineKind(plan.ref.kind).compared(plan);

/** A refusal in the form in which the pool is told of it. */
interface RefusedSlice {
  readonly isRefused: true;
  readonly refused?: ToldRefusal;
}

function toldRefusal(reason: SliceLossReason): RefusedSlice | undefined {
  if (reason.cause !== 'refused' || reason.scope === 'moment') return undefined;
  const scope = TOLD_SCOPES.find((each) => each === reason.scope);
  if (scope === undefined) return { isRefused: true };
  return { isRefused: true, refused: { scope, message: boundedLine(reason.message, MOST_ANSWER) } };
}

/** For machines that somebody else has to give: the longest wait for that. */
const LONGEST_UNTOUCHED_MS = 15 * 60_000;
/** Longest pause between two create calls that go on from one another. */
const NOT_YET_MS = 10_000;
/** Number of create calls refused for a moment, with growing pauses of seconds, after which the job decides. */
const MOST_MOMENTS = 3;

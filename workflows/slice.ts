import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  setHandler,
  log,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { AwaitSliceInput, CreateAnswer } from '../activities/contract.js';
import { leaseKey, type LeaseMessageBody } from '../domain/lease.js';
import type { Ownership, SlicePlan, SliceRef } from '../domain/slice.js';
import type { SliceCondition } from '../domain/slice-condition.js';
import { createOnce, deletion, looks, quotaMail, watching } from './activity-options.js';
import {
  attachSignal,
  leaseAnswerSignal,
  releaseSliceSignal,
  sliceNewsSignal,
  type SliceInput,
  type SliceNews,
} from './messages.js';
import { Sequence } from './sequence.js';
import { sliceDetails, type SliceStage } from './slice/details.js';
import { createSummary, deleteSummary, mailSummary } from './slice/summaries.js';

/**
 * Owns one queued resource or node from before its first create call until it is seen gone (DESIGN.md 2, "The slice
 * workflow"; docs/adr/0003). It is deleted when its job says so, when the quota workflow or the janitor says so, or when
 * the server's one cancel request tells that its job is closed, in whatever way. Whoever dies, the chips of its lease are
 * counted until `gone` is reported.
 */
export async function slice(input: SliceInput): Promise<void> {
  const owner = new SliceOwner(input);
  // The cancel request is news, not an order to stop: everything runs outside its reach.
  const cancelled = CancellationScope.current().cancelRequested;
  await CancellationScope.nonCancellable(async () => {
    void cancelled.catch(() => owner.parentClosed());
    await owner.run();
  });
}

class SliceOwner {
  /** Why the slice is to be deleted; nothing takes it back. */
  #told: string | undefined;
  #news: SliceNews | undefined;
  #leaseEpoch = 0;
  #isLeaseHeld: boolean | undefined;
  /** After the last create call that may have taken effect unseen. */
  #unansweredUntil = 0;
  #operation: string | undefined;
  #stage: SliceStage = { kind: 'asking-lease' };
  #stageSince = Date.now();
  readonly #input: SliceInput;
  readonly #sequence = new Sequence();

  constructor(input: SliceInput) {
    this.#input = input;
    if (input.task.kind === 'reclaim') this.#told = 'it was left behind';
    setHandler(releaseSliceSignal, ({ reason }) => this.#tell(reason));
    setHandler(attachSignal, () => this.#repeatNews());
    setHandler(leaseAnswerSignal, (answer) => this.#onLeaseAnswer(answer));
  }

  async run(): Promise<void> {
    if (this.#input.task.kind === 'create' && this.#told === undefined) await this.#bringUp(this.#input.task.plan);
    if (this.#told === undefined) await condition(() => this.#told !== undefined);
    await this.#delete(this.#told ?? '');
    this.#show({ kind: 'gone' });
    await this.#report({ kind: 'gone' });
    await this.#tellQuota({ kind: 'gone' });
  }

  /** The server's cancel request: our parent closed, or only continued as new (facts/temporal.md, end). */
  async parentClosed(): Promise<void> {
    await CancellationScope.nonCancellable(async () => {
      const { job, run } = this.#input.lease;
      if (!(await looks(`is job ${job} still open?`).isJobOpen({ id: job, run }))) this.#tell(`job ${job} is closed`);
    });
  }

  #tell(reason: string): void {
    if (this.#told === undefined) log.info(`slice is to go: ${reason}`);
    this.#told ??= reason;
  }

  #onLeaseAnswer({ epoch, isHeld }: { epoch: number; isHeld: boolean }): void {
    if (epoch < this.#leaseEpoch) return;
    this.#leaseEpoch = epoch;
    this.#isLeaseHeld = isHeld;
    this.#show();
  }

  // Bringing up ----------------------------------------------------------------------------------------------------

  async #bringUp(plan: SlicePlan): Promise<void> {
    if (!(await this.#confirmLease())) return;
    if (!(await this.#create(plan))) return;
    await this.#watch();
  }

  /** No create call before the current epoch of the quota workflow acknowledged the lease. */
  async #confirmLease(): Promise<boolean> {
    this.#show({ kind: 'asking-lease' });
    const pause = { summary: 'until it asks again whether its lease stands' };
    do {
      // Said again after a while: the quota workflow that took the question may have lost its memory since.
      await this.#tellQuota({ kind: 'slice', ref: this.#ref });
    } while (!(await condition(() => this.#isLeaseHeld !== undefined || this.#told !== undefined, '1 minute', pause)));
    if (this.#told !== undefined) return false;
    if (this.#isLeaseHeld) return true;
    await this.#lose('lease', `lease ${leaseKey(this.#input.lease)} does not stand`);
    return false;
  }

  /** Calls create until it has a definite answer. False: told to go, or refused. */
  async #create(plan: SlicePlan): Promise<boolean> {
    this.#show({ kind: 'creating' });
    for (let waitMs = 1000; this.#told === undefined; waitMs = Math.min(waitMs * 2, 60_000)) {
      const answer = await this.#callCreate(plan);
      switch (answer.kind) {
        case 'accepted':
          this.#operation = answer.operation;
          return true;
        case 'refused':
          await this.#lose(
            answer.reason === 'no-capacity' || answer.reason === 'quota' ? answer.reason : 'refused',
            answer.message,
          );
          return false;
        case 'exists':
        case 'unanswered': {
          this.#show({ kind: 'creating', unanswered: answer.kind === 'exists' ? 'it exists already' : answer.message });
          const seen = await this.#inspect();
          if (seen.kind === 'foreign') {
            await this.#lose('refused', seen.message);
            return false;
          }
          if (seen.kind !== 'missing' && seen.kind !== 'deleting') return true;
          await this.#napUnlessTold(waitMs);
        }
      }
    }
    return false;
  }

  async #callCreate(plan: SlicePlan): Promise<CreateAnswer> {
    try {
      const answer = await createOnce(createSummary(plan)).createSlice(plan);
      if (answer.kind === 'unanswered') this.#noteUnanswered();
      return answer;
    } catch (error) {
      // The worker died or was too slow: its call may still take effect.
      this.#noteUnanswered();
      return { kind: 'unanswered', message: String(error) };
    }
  }

  #noteUnanswered(): void {
    this.#unansweredUntil = Date.now() + this.#input.timings.createSettleMs;
  }

  async #watch(): Promise<void> {
    this.#show({ kind: 'awaiting' });
    const scope = new CancellationScope({ cancellable: true });
    const seen = scope
      .run(() => watching(`wait until ${this.#ref.name} is ready`).awaitSlice(this.#question))
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

  async #onSeen(seen: SliceCondition): Promise<void> {
    switch (seen.kind) {
      case 'ready':
        this.#show({ kind: 'ready', nodeId: seen.nodeId, hosts: seen.hosts });
        return this.#report({ kind: 'ready', nodeId: seen.nodeId, hosts: seen.hosts });
      case 'lost':
        return this.#lose(seen.cause, seen.message);
      case 'foreign':
        return this.#lose('refused', seen.message);
      case 'missing':
      case 'deleting':
        return this.#lose('failed', 'it went away while it was provisioned');
      case 'waiting':
        throw new TypeError(`awaitSlice ended while the slice is '${seen.detail}'`);
    }
  }

  #lose(cause: Extract<SliceNews, { kind: 'lost' }>['cause'], message: string): Promise<void> {
    this.#show({ kind: 'lost', message });
    return this.#report({ kind: 'lost', cause, message });
  }

  // Deleting -------------------------------------------------------------------------------------------------------

  async #delete(reason: string): Promise<void> {
    // A reclaimed slice does not know when its last create was sent: as if it were now.
    if (this.#input.task.kind === 'reclaim') this.#noteUnanswered();
    this.#show({ kind: 'deleting', reason, notBefore: this.#unansweredUntil });
    await deletion(deleteSummary(this.#ref)).deleteUntilGone({
      ref: this.#ref,
      ownership: this.#ownership,
      notBefore: this.#unansweredUntil,
      timings: this.#input.timings,
    });
  }

  // Showing --------------------------------------------------------------------------------------------------------

  /** Makes Current Details new: at a new stage, or when something about the present one has changed. */
  #show(stage?: SliceStage): void {
    if (stage !== undefined) {
      this.#stage = stage;
      this.#stageSince = Date.now();
    }
    const { task, lease } = this.#input;
    setCurrentDetails(
      sliceDetails({
        ref: this.#ref,
        ...(task.kind === 'create' ? { plan: task.plan } : {}),
        lease,
        ...(this.#isLeaseHeld === undefined ? {} : { isLeaseHeld: this.#isLeaseHeld }),
        stage: this.#stage,
        since: this.#stageSince,
      }),
    );
  }

  // Speaking -------------------------------------------------------------------------------------------------------

  get #ref(): SliceRef {
    const { task } = this.#input;
    return task.kind === 'create' ? task.plan.ref : task.ref;
  }

  get #ownership(): Ownership {
    const { task } = this.#input;
    return task.kind === 'create' ? task.plan.ownership : task.ownership;
  }

  get #question(): AwaitSliceInput {
    return {
      ref: this.#ref,
      ownership: this.#ownership,
      timings: this.#input.timings,
      ...(this.#operation === undefined ? {} : { operation: this.#operation }),
    };
  }

  #inspect(): Promise<SliceCondition> {
    return looks(`did the create call of ${this.#ref.name} take effect?`).inspectSlice(this.#question);
  }

  async #napUnlessTold(ms: number): Promise<void> {
    await condition(() => this.#told !== undefined, ms, { summary: 'until create is called again' });
  }

  async #report(news: SliceNews): Promise<void> {
    this.#news = news;
    try {
      await getExternalWorkflowHandle(this.#input.lease.job).signal(sliceNewsSignal, {
        name: this.#ref.name,
        run: this.#input.lease.run,
        news,
      });
    } catch (error) {
      // The job is closed; nobody needs the news, and the quota workflow gets its own.
      log.debug(`job did not take the news: ${String(error)}`);
    }
  }

  #repeatNews(): void {
    if (this.#news) void this.#report(this.#news);
  }

  #tellQuota(body: LeaseMessageBody): Promise<void> {
    return quotaMail(mailSummary(this.#ref, this.#input.lease, body.kind)).sendLease({
      lease: this.#input.lease,
      sender: this.#ref.name,
      sequence: this.#sequence.next(),
      body,
    });
  }
}

import { setHandler, workflowInfo } from '@temporalio/workflow';
import { contentHash } from '../../domain/content-hash.js';
import { formatSlices } from '../../domain/job-units.js';
import { JobPhase, type Outcome } from '../../domain/job-state.js';
import { setUpCounts } from '../../domain/setup-record.js';
import { meter } from '../meter.js';
import { describeQuery, type JobInput, prioritySignal, setUpProgressSignal } from '../messages.js';
import { Attempts } from './attempts.js';
import type { JobCarry } from './carry.js';
import { jobDetails } from './details.js';
import { demandOf } from './demand.js';
import { tellEnd } from './ending.js';
import { Gang } from './gang.js';
import { type Interruption, interruptionByPerson, interruptionByPool, wishText } from './interruption.js';
import { JobEnds } from './job-ends.js';
import { jobFacts, jobView, type ShownParts } from './job-views.js';
import { LeaseHold } from './lease-hold.js';
import { listenToPeople } from './people.js';
import { isPreemptionByQuota, type Revocation, revocationText } from './revocation.js';
import { SetUpAgain } from './set-up-again.js';
import { SliceKeeper } from './slice-keeper.js';
import { chainRunId, JobStory } from './story.js';
import { JobTerms } from './terms.js';
import { type Wish, Wishes } from './wishes.js';

export type LiveEnd = { readonly kind: 'outcome'; readonly outcome: Outcome } | { readonly kind: 'renew' };

const PRIORITIES = [1, 2, 3, 4, 5] as const;

/** What was submitted, as `contentHash` takes it. */
type JobSource = Pick<JobInput, 'job'> & { readonly files: NonNullable<JobInput['files']> };

/** One run of a job's chain: puts lease, slices and attempts together and does what the pool and people ask, one after the other. */
export class JobRun {
  readonly #carried: JobCarry;
  readonly #terms: JobTerms;
  readonly #story: JobStory;
  readonly #wishes: Wishes;
  readonly #lease: LeaseHold;
  readonly #gang: Gang;
  readonly #again: SetUpAgain;
  readonly #attempts: Attempts;
  readonly #ends: JobEnds;
  readonly #keeper: SliceKeeper;
  readonly #shown: ShownParts;
  /** The outcome is stored and told, and slices are kept. */
  #isConcluded = false;

  constructor(carry: JobCarry, source: JobSource, identityKeys: JobInput['identityKeys']) {
    const { spec, settings } = carry;
    this.#carried = carry;
    this.#terms = new JobTerms(spec, { ...source, identityKeys }, carry.edited);
    this.#story = new JobStory(carry.story);
    this.#wishes = new Wishes(carry.wishes);
    const onChange = (): void => this.#onSlices();
    this.#gang = new Gang({ spec, settings, lease: () => this.#lease, onChange }, carry.gang);
    this.#lease = new LeaseHold(spec.pool, demandOf(carry), () => this.#gang.present, carry.lease);
    const job = { id: workflowInfo().workflowId, run: chainRunId() };
    const parts = { terms: this.#terms, story: this.#story };
    const interruption = (): Interruption | undefined => this.#interruption;
    this.#again = new SetUpAgain(this.#story);
    this.#attempts = new Attempts({ ...parts, job, settings, interruption, again: this.#again }, carry.attempts);
    this.#ends = new JobEnds(
      {
        ...parts,
        lease: this.#lease,
        gang: this.#gang,
        attempts: this.#attempts,
        isInterrupted: this.#isInterrupted,
        isToRestart: () => this.#wishes.current?.kind === 'restart',
      },
      carry,
    );
    const resting = { ...parts, wishes: this.#wishes, lease: this.#lease, gang: this.#gang };
    this.#keeper = new SliceKeeper({ ...resting, settings });
    this.#shown = { ...parts, carried: carry, gang: this.#gang, attempts: this.#attempts, ends: this.#ends };
    this.#listen(job.id);
    if (!workflowInfo().continuedFromExecutionRunId) this.#begin(source);
    this.#story.describeBy(() => jobDetails(jobFacts(this.#shown)));
  }

  /** Until the job has an outcome, or its history is long enough for a new run. */
  async live(): Promise<LiveEnd> {
    for (;;) {
      const outcome = (await this.#settle()) ?? (await this.#useLease());
      if (outcome) return { kind: 'outcome', outcome };
      const { jobHistoryEvents } = this.#carried.settings.timings;
      if (!this.#isInterrupted() && workflowInfo().historyLength >= jobHistoryEvents) {
        await this.#lease.settled();
        return { kind: 'renew' };
      }
    }
  }

  /** `keep`: the outcome is stored and told, and slices stay for people to look. Returns at once where they are not to be kept. */
  async hold(outcome: Outcome): Promise<void> {
    if (!this.#keeper.keepsAfter(outcome)) return;
    await this.#keeper.hold(outcome, () => this.#conclude(outcome));
    this.#isConcluded = true;
  }

  /** Stores the outcome, tells the slices to go, lets the lease go. Their clean-up is not waited for (DESIGN.md 2). */
  async finish(outcome: Outcome): Promise<void> {
    this.#story.move(JobPhase.Finishing, 'storing the outcome, letting the slices go');
    if (outcome.result === 'cancelled') await this.#attempts.stopUnwatched(this.#gang.ready);
    await this.#gang.dismiss(`job ${workflowInfo().workflowId} ${outcome.result}`);
    await this.#lease.letGo();
    this.#story.end(outcome);
    // Once more, for what happened since.
    if (this.#isConcluded) await tellEnd([], outcome, this.#story);
    else await this.#conclude(outcome);
  }

  async #conclude(outcome: Outcome): Promise<void> {
    meter.ended(outcome);
    await tellEnd(this.#terms.spec.notify ?? [], outcome, this.#story);
  }

  cancelledOutcome(): Outcome {
    return this.#ends.outcome('cancelled', { by: 'user', message: `cancelled while ${this.#story.phase}` });
  }

  // What comes from outside ------------------------------------------------------------------------------------------

  #listen(id: string): void {
    setHandler(describeQuery, () => jobView(this.#shown));
    setHandler(prioritySignal, (news) => this.#onPriority(news));
    setHandler(setUpProgressSignal, ({ attempt, ...news }) => {
      if (attempt === this.#attempts.number) this.#story.progress(JobPhase.SettingUp, setUpCounts(news));
    });
    listenToPeople({
      id,
      wishes: this.#wishes,
      terms: this.#terms,
      phase: () => this.#story.phase,
      holdsSlices: () => this.#holdsSlices(),
      isRunning: () => this.#attempts.isRunning,
      again: this.#again,
      attemptInput: () => this.#attempts.inputOn(this.#gang.ready),
    });
  }

  #begin(source: JobSource): void {
    const { settings } = this.#carried;
    const { spec } = this.#terms;
    this.#story.begin(
      {
        JobProject: settings.project,
        JobUser: settings.user,
        JobAccelerator: spec.tpu.accelerator,
        JobPool: spec.pool,
      },
      {
        // As JobClient sets them at the start: a job that another service started has the same row.
        name: spec.name,
        slice: formatSlices(spec),
        contentHash: contentHash(source),
        ...(settings.label === undefined ? {} : { label: settings.label }),
        attempts: 0,
        run: chainRunId(),
        ...(spec.keep === undefined ? {} : { keeps: true }),
      },
    );
    this.#story.note(settings.quotaNote);
  }

  /** The pool first: what it takes back, nobody can keep. */
  get #interruption(): Interruption | undefined {
    const { revocation } = this.#lease;
    if (revocation) return interruptionByPool(revocation);
    const wish = this.#wishes.current;
    return wish && interruptionByPerson(wish);
  }

  readonly #isInterrupted = (): boolean => this.#lease.revocation !== undefined || this.#wishes.current !== undefined;

  #holdsSlices(): boolean {
    return this.#gang.isWhole && this.#lease.isHeld;
  }

  #onSlices(): void {
    this.#lease.chips(this.#gang.isWhole ? this.#gang.zone : undefined);
    this.#story.show();
  }

  #onPriority({ run, priority }: { readonly run: string; readonly priority: number }): void {
    const { spec } = this.#terms;
    const named = PRIORITIES.find((known) => known === priority);
    if (run !== chainRunId() || named === undefined || named === spec.priority) return;
    this.#terms.reprioritize(named);
    this.#lease.reprioritize(priority);
    this.#story.note(`its priority is ${priority} from now on; it was ${spec.priority}`);
  }

  // One thing after the other ----------------------------------------------------------------------------------------

  /**
   * Does what the pool and people asked, then waits until a lease is held. A command that may run is left to be stopped first:
   * `useLease` does that.
   * @returns an outcome where it waited for as long as the job allows
   */
  async #settle(): Promise<Outcome | undefined> {
    for (;;) {
      const { revocation } = this.#lease;
      const wish = this.#wishes.current;
      if (this.#isInterrupted() && this.#attempts.isRunning && this.#gang.isWhole) return undefined;
      if (revocation) await this.#giveBackTo(revocation);
      else if (wish) await this.#fulfil(wish);
      else if (this.#lease.isHeld) return undefined;
      else if (!(await this.#waitForLease())) return this.#ends.waitedInVain();
    }
  }

  #fulfil(wish: Wish): Promise<void> {
    const hasSomething = this.#lease.isWanted || this.#gang.present.length > 0;
    switch (wish.kind) {
      case 'restart':
        return this.#done(wish);
      case 'requeue':
        return hasSomething ? this.#giveBack(wish, 'requeued').then(() => this.#done(wish)) : this.#done(wish);
      case 'stop':
        if (!wish.isRelease && this.#holdsSlices()) return this.#keeper.pause(wish);
        return hasSomething ? this.#giveBack(wish, 'stopped') : this.#keeper.rest(wish);
    }
  }

  async #done(wish: Wish): Promise<void> {
    this.#wishes.done(wish);
  }

  /** False: `timeouts.queue` is over. */
  async #waitForLease(): Promise<boolean> {
    const again =
      this.#ends.quotaPreemptions > 0 || this.#attempts.number > 0 ? ' again, with its first submit time' : '';
    this.#story.move(JobPhase.Queued, `waits for quota of project ${this.#carried.settings.project}${again}`);
    const askedAt = Date.now();
    const { queue } = this.#terms.spec.timeouts ?? {};
    const isUnwanted = (): boolean => this.#wishes.current !== undefined;
    const isAnswered = await this.#lease.acquire(isUnwanted, queue === undefined ? undefined : queue * 1000);
    if (this.#lease.isHeld) meter.queued(this.#terms.spec.pool, Date.now() - askedAt);
    return isAnswered;
  }

  /** The slices go, then the lease: its pool counts it until both are gone. */
  async #giveBackTo(revocation: Revocation): Promise<void> {
    const why = revocationText(revocation);
    this.#story.setBack(why);
    if (isPreemptionByQuota(revocation)) this.#ends.notePreemptionByQuota();
    await this.#letSlicesGo(why, 'revoked');
    // The zone that gave nothing cools down: another comes first.
    if (revocation.cause === 'asking') this.#gang.leaveZone();
    await this.#lease.giveBack(this.#wishes.current?.kind === 'stop');
  }

  async #giveBack(wish: Wish, end: Interruption['end']): Promise<void> {
    await this.#letSlicesGo(wishText(wish), end);
    await this.#lease.giveBack(wish.kind === 'stop');
  }

  async #letSlicesGo(why: string, end: Interruption['end']): Promise<void> {
    this.#attempts.abandon(end);
    if (this.#gang.present.length > 0) {
      this.#story.move(JobPhase.Evicting, why);
      await this.#gang.evict(why);
    } else this.#story.note(why);
  }

  /** One go at a running command under the lease. Undefined: go on, in whatever state things are now. */
  async #useLease(): Promise<Outcome | undefined> {
    const { spec } = this.#terms;
    if (this.#gang.ready.length < spec.slices) {
      this.#story.move(JobPhase.Provisioning, `${spec.slices} x ${spec.tpu.accelerator} in ${this.#gang.zone}`);
      const loss = await this.#gang.bringUp(this.#isInterrupted, spec.timeouts?.provision);
      if (this.#isInterrupted()) return undefined;
      if (loss) return this.#ends.afterLoss(loss);
    }
    if (this.#lease.isParked) await this.#lease.park(false);
    if (!this.#attempts.isOpen) this.#putEditInForce();
    return this.#ends.afterAttempt(await this.#attempts.run(this.#gang.ready));
  }

  #putEditInForce(): void {
    const edit = this.#wishes.takeEdit();
    if (edit === undefined) return;
    const attempt = this.#attempts.number + 1;
    this.#terms.change(edit, attempt);
    if (edit.spec.keep !== undefined) this.#story.keeps();
    this.#story.note(`from attempt ${attempt} on it runs by the changed job file`);
  }

  carry(): JobCarry {
    const { edited: _, wishes: _wishes, ...carried } = this.#carried;
    const wishes = this.#wishes.carry();
    return {
      ...carried,
      ...this.#terms.carry(),
      ...(wishes === undefined ? {} : { wishes }),
      story: this.#story.carry(),
      ...this.#ends.carry(),
      lease: this.#lease.carry(),
      gang: { slices: this.#gang.views, zoneTry: this.#gang.zoneTry },
      attempts: this.#attempts.carry(),
    };
  }
}

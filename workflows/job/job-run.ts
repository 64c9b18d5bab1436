import { setHandler, workflowInfo } from '@temporalio/workflow';
import { contentHash } from '../../domain/content-hash.js';
import { formatSlices } from '../../domain/job-units.js';
import { JobPhase, type Outcome, type OutcomeCause } from '../../domain/job-state.js';
import { setUpCounts } from '../../domain/setup-record.js';
import { meter } from '../meter.js';
import { describeQuery, type JobInput, type JobView, prioritySignal, setUpProgressSignal } from '../messages.js';
import { placeName } from './attempt-words.js';
import { Attempts, type AttemptResult } from './attempts.js';
import type { JobCarry, Spent } from './carry.js';
import { jobDetails, type JobFacts } from './details.js';
import { tellEnd } from './ending.js';
import { Gang, type GangLoss } from './gang.js';
import { demandOf } from './demand.js';
import { LeaseHold } from './lease-hold.js';
import { isPreemptionByQuota, type Revocation, revocationText } from './revocation.js';
import { chainRunId, JobStory } from './story.js';

export type LiveEnd = { readonly kind: 'outcome'; readonly outcome: Outcome } | { readonly kind: 'renew' };

const PRIORITIES = [1, 2, 3, 4, 5] as const;

/** What was submitted, as `contentHash` takes it. */
type JobSource = Pick<JobInput, 'job'> & { readonly files: NonNullable<JobInput['files']> };

/** One run of a job's chain: puts lease, slices and attempts together and decides what an end of one of them means. */
export class JobRun {
  #carried: JobCarry;
  readonly #story: JobStory;
  readonly #lease: LeaseHold;
  readonly #gang: Gang;
  readonly #attempts: Attempts;
  #spent: Spent;
  #quotaPreemptions: number;

  constructor(carry: JobCarry, source: JobSource) {
    const { spec, settings } = carry;
    this.#carried = carry;
    this.#spent = carry.spent;
    this.#quotaPreemptions = carry.quotaPreemptions ?? 0;
    this.#story = new JobStory(carry.story);
    const onChange = (): void => this.#onSlices();
    this.#gang = new Gang({ spec, settings, lease: () => this.#lease, onChange }, carry.gang);
    this.#lease = new LeaseHold(spec.pool, demandOf(carry), () => this.#gang.present, carry.lease);
    const job = { id: workflowInfo().workflowId, run: chainRunId() };
    const context = { job, spec, settings, files: source.files, story: this.#story };
    this.#attempts = new Attempts({ ...context, revocation: () => this.#lease.revocation }, carry.attempts);
    setHandler(describeQuery, () => this.#view());
    setHandler(prioritySignal, (news) => this.#onPriority(news));
    setHandler(setUpProgressSignal, ({ attempt, ...news }) => {
      if (attempt === this.#attempts.number) this.#story.progress(JobPhase.SettingUp, setUpCounts(news));
    });
    if (!workflowInfo().continuedFromExecutionRunId) this.#begin(source);
    this.#story.describeBy(() => jobDetails(this.#facts()));
  }

  /** Until the job has an outcome, or its history is long enough for a new run. */
  async live(): Promise<LiveEnd> {
    for (;;) {
      await this.#obtainLease();
      const outcome = await this.#useLease();
      if (outcome) return { kind: 'outcome', outcome };
      if (!this.#isRevoked() && workflowInfo().historyLength >= this.#carried.settings.timings.jobHistoryEvents) {
        await this.#lease.settled();
        return { kind: 'renew' };
      }
    }
  }

  /** Stores the outcome, tells the slices to go, lets the lease go. Their clean-up is not waited for (DESIGN.md 2). */
  async finish(outcome: Outcome): Promise<void> {
    this.#story.move(JobPhase.Finishing, 'storing the outcome, letting the slices go');
    if (outcome.result === 'cancelled') await this.#attempts.stopUnwatched(this.#gang.ready);
    await this.#gang.dismiss(`job ${workflowInfo().workflowId} ${outcome.result}`);
    await this.#lease.letGo();
    this.#story.end(outcome);
    meter.ended(outcome);
    await tellEnd(this.#carried.spec.notify ?? [], outcome, this.#story);
  }

  cancelledOutcome(): Outcome {
    return this.#outcome('cancelled', { by: 'user', message: `cancelled while ${this.#story.phase}` });
  }

  // ----------------------------------------------------------------------------------------------------------------

  #begin(source: JobSource): void {
    const { spec, settings } = this.#carried;
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
      },
    );
    this.#story.note(settings.quotaNote);
  }

  readonly #isRevoked = (): boolean => this.#lease.revocation !== undefined;

  #onSlices(): void {
    this.#lease.chips(this.#gang.isWhole ? this.#gang.zone : undefined);
    this.#story.show();
  }

  #onPriority({ run, priority }: { readonly run: string; readonly priority: number }): void {
    const { spec } = this.#carried;
    const named = PRIORITIES.find((known) => known === priority);
    if (run !== chainRunId() || named === undefined || named === spec.priority) return;
    this.#carried = { ...this.#carried, spec: { ...spec, priority: named } };
    this.#lease.reprioritize(priority);
    this.#story.note(`its priority is ${priority} from now on; it was ${spec.priority}`);
  }

  /** Gives back what was revoked, then waits until a lease is held. A command that may run is left to be stopped first. */
  async #obtainLease(): Promise<void> {
    for (;;) {
      const { revocation } = this.#lease;
      if (revocation && !(this.#attempts.isRunning && this.#gang.isWhole)) await this.#giveBack(revocation);
      else if (this.#lease.isHeld) return;
      else await this.#waitForLease();
    }
  }

  async #waitForLease(): Promise<void> {
    const again = this.#quotaPreemptions > 0 ? ' again, with its first submit time' : '';
    this.#story.move(JobPhase.Queued, `waits for quota of project ${this.#carried.settings.project}${again}`);
    const askedAt = Date.now();
    await this.#lease.acquire();
    meter.queued(this.#carried.spec.pool, Date.now() - askedAt);
  }

  /** The slices go, then the lease: its pool counts it until both are gone. */
  async #giveBack(revocation: Revocation): Promise<void> {
    const why = revocationText(revocation);
    this.#story.setBack(why);
    if (isPreemptionByQuota(revocation)) this.#quotaPreemptions += 1;
    this.#attempts.abandon();
    if (this.#gang.present.length > 0) {
      this.#story.move(JobPhase.Evicting, why);
      await this.#gang.evict(why);
    } else this.#story.note(why);
    // The zone that gave nothing cools down: another comes first.
    if (revocation.cause === 'asking') this.#gang.leaveZone();
    await this.#lease.giveBack();
  }

  /** One go at a running command under the lease. Undefined: go on, in whatever state things are now. */
  async #useLease(): Promise<Outcome | undefined> {
    const { spec } = this.#carried;
    if (this.#gang.ready.length < spec.slices) {
      this.#story.move(JobPhase.Provisioning, `${spec.slices} x ${spec.tpu.accelerator} in ${this.#gang.zone}`);
      const loss = await this.#gang.bringUp(this.#isRevoked);
      if (this.#isRevoked()) return undefined;
      if (loss) return this.#afterLoss(loss);
    }
    return this.#afterAttempt(await this.#attempts.run(this.#gang.ready));
  }

  async #afterLoss(loss: GangLoss): Promise<Outcome | undefined> {
    switch (loss.cause) {
      case 'preempted':
        return this.#spend('preemption', `slice ${loss.index} was preempted by the provider: ${loss.message}`, [
          loss.index,
        ]);
      case 'failed':
        return this.#spend('infrastructure', `slice ${loss.index} failed: ${loss.message}`, [loss.index]);
      case 'no-capacity':
        this.#story.setBack(`no capacity in ${this.#gang.zone}: ${loss.message}`);
        this.#story.move(JobPhase.Evicting, `no capacity in ${this.#gang.zone}: ${loss.message}`);
        // A gang lies in one zone: what it has here already goes too.
        await this.#gang.evict('no capacity for the whole gang in this zone');
        await this.#gang.nextZone(this.#isRevoked);
        return undefined;
      case 'lease':
        this.#story.move(JobPhase.Evicting, loss.message);
        await this.#gang.evict(loss.message);
        this.#lease.lost();
        return undefined;
      case 'quota':
      case 'refused':
        return this.#outcome('failed', {
          by: 'infrastructure',
          message: `Cloud TPU refused slice ${loss.index}: ${loss.message}`,
          slice: loss.index,
        });
    }
  }

  async #afterAttempt(result: AttemptResult): Promise<Outcome | undefined> {
    const { spec } = this.#carried;
    switch (result.kind) {
      case 'pause':
      case 'revoked':
        return undefined;
      case 'exited':
        return this.#afterExit(result);
      case 'slices-lost': {
        this.#gang.markLost(result.slices);
        // Whoever took them, they were to go: no budget is charged.
        if (this.#isRevoked()) return undefined;
        const [first] = result.slices;
        const what = `slice ${first?.index ?? 0} was ${first?.cause === 'preempted' ? 'preempted by the provider' : 'lost'}: ${first?.message ?? ''}`;
        return this.#spend(
          first?.cause === 'preempted' ? 'preemption' : 'infrastructure',
          what,
          result.slices.map(({ index }) => index),
        );
      }
      case 'run-lost':
        return this.#spend('infrastructure', `${placeName(result.at, spec.slices)}: ${result.message}`, []);
      case 'module-failed': {
        const message = `setup of ${result.module} failed on ${placeName(result.at, spec.slices)}: ${result.message}`;
        return this.#outcome('failed', { by: 'task', message, slice: result.at.slice, host: result.at.host });
      }
      case 'host-bad': {
        const { at, module, message } = result;
        const what = `setup of ${module} did not work on ${placeName(at, spec.slices)}: ${message}`;
        return this.#spend('infrastructure', what, [at.slice]);
      }
      case 'ended-before':
        this.#story.note('it has ended before, says the store; Temporal was set back to an earlier time');
        return result.outcome;
      case 'worker-failed':
        return this.#outcome('failed', { by: 'infrastructure', message: result.message });
    }
  }

  async #afterExit({ code, signal, at }: Extract<AttemptResult, { kind: 'exited' }>): Promise<Outcome | undefined> {
    if (code === 0) return { ...this.#outcome('succeeded'), exitCode: 0 };
    const { spec } = this.#carried;
    const by = signal === undefined ? '' : ` (${signal})`;
    const message = `the command exited with code ${code}${by} on ${placeName(at, spec.slices)}`;
    if (this.#spent.task < spec.retries.task) return this.#spend('task', message, []);
    return { ...this.#outcome('failed', { by: 'task', message, slice: at.slice, host: at.host }), exitCode: code };
  }

  /** Takes one from a budget and gives up these slices, or ends the job when nothing is left of it. */
  async #spend(budget: keyof Spent, what: string, lost: readonly number[]): Promise<Outcome | undefined> {
    const allowed = this.#carried.spec.retries[budget];
    if (this.#spent[budget] >= allowed) {
      const message = `${what}; its budget of ${allowed} ${budget} retries is spent`;
      return this.#outcome('failed', { by: budget, message });
    }
    this.#spent = { ...this.#spent, [budget]: this.#spent[budget] + 1 };
    const note = `${what}; trying again (${this.#spent[budget]} of ${allowed})`;
    this.#story.setBack(note);
    if (lost.length === 0) {
      this.#story.note(note);
      return undefined;
    }
    this.#story.move(JobPhase.Evicting, note);
    await this.#gang.evict(what, lost);
    return undefined;
  }

  #outcome(result: Outcome['result'], cause?: OutcomeCause): Outcome {
    const startedAt = this.#attempts.startedAt;
    return {
      result,
      ...(cause ? { cause } : {}),
      attempts: this.#attempts.number,
      preemptions: this.#spent.preemption,
      ...this.#takenByQuota,
      submittedAt: this.#carried.submittedAt,
      ...(startedAt === undefined ? {} : { startedAt }),
      endedAt: Date.now(),
    };
  }

  /** Left out of a job that it never happened to. */
  get #takenByQuota(): { readonly quotaPreemptions?: number } {
    return this.#quotaPreemptions === 0 ? {} : { quotaPreemptions: this.#quotaPreemptions };
  }

  #view(): JobView {
    const { spec, settings, submittedAt } = this.#carried;
    return {
      id: workflowInfo().workflowId,
      spec,
      project: settings.project,
      ...(settings.label === undefined ? {} : { label: settings.label }),
      submittedAt,
      attempt: this.#attempts.number,
      preemptions: this.#spent.preemption,
      ...this.#takenByQuota,
      slices: this.#gang.views,
      login: { user: settings.loginUser, publicKey: settings.publicKey },
      ...this.#story.view(),
    };
  }

  #facts(): JobFacts {
    const { spec, settings } = this.#carried;
    const { setback } = this.#story;
    return {
      id: workflowInfo().workflowId,
      spec,
      settings,
      attempt: this.#attempts.number,
      spent: this.#spent,
      ...this.#takenByQuota,
      slices: this.#gang.views,
      ...(setback === undefined ? {} : { setback }),
      ...this.#story.view(),
    };
  }

  carry(): JobCarry {
    return {
      ...this.#carried,
      story: this.#story.carry(),
      spent: this.#spent,
      ...this.#takenByQuota,
      lease: this.#lease.carry(),
      gang: { slices: this.#gang.views, zoneTry: this.#gang.zoneTry },
      attempts: this.#attempts.carry(),
    };
  }
}

import { leaseKey } from '../../domain/lease.js';
import type { EpochMs } from '../../domain/units.js';
import { NO_MEMORY } from '../../quota/quota-config.js';
import type {
  Grant,
  LeaseState,
  Pool,
  Preemption,
  QuotaConfig,
  QuotaLease,
  QuotaMemory,
  QuotaRequest,
} from '../../quota/quota-config.js';
import { EventQueue } from './simulation-events.js';
import type { Ask, Instant, Policy, SimulatedJob, SimulatedLease, Stay, Story, World } from './simulation-story.js';

export type * from './simulation-story.js';

/** Chips at once, no grace, gone at once, nothing lost. */
export const PROMPT_WORLD: World = { graceMs: 0, drainMs: 0, chipsAfterMs: () => 0 };

/** A policy that goes on deciding at one time is one that does not settle (rule 7). */
const MAX_DECISIONS_AT_ONCE = 2_000;

interface Waiting {
  readonly story: Story;
  readonly request: QuotaRequest;
}

interface JobState {
  readonly story: Story;
  leases: number;
  workLeftMs: number | undefined;
  isPaused: boolean;
  current: SimulatedLease | undefined;
}

/**
 * A pool around a policy, in discrete events: jobs arrive, ask, get chips after a while or never, run, end, are paused,
 * cancelled, lose chips to the provider, are revoked with grace and drain. The policy is called at each change until it
 * decides nothing more, and at its `nextAt`. Time is only what it is told.
 */
export class Simulation {
  readonly #policy: Policy;
  readonly #world: World;
  /** A policy that only looks at multiples of this time; absent: at each change. */
  readonly #tickMs: number | undefined;
  readonly #events = new EventQueue();
  readonly #jobs = new Map<string, JobState>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #leases = new Map<string, SimulatedLease>();
  readonly #observers: ((instant: Instant) => void)[] = [];
  #config: QuotaConfig;
  #memory: QuotaMemory = NO_MEMORY;
  #isFrozen = false;
  #isChanged = false;
  #wakeAt: EpochMs | undefined;
  now: EpochMs = 0;
  decisions = 0;

  constructor(policy: Policy, config: QuotaConfig, world: World = PROMPT_WORLD, tickMs?: number) {
    this.#policy = policy;
    this.#config = config;
    this.#world = world;
    this.#tickMs = tickMs;
  }

  /** Called at each decision, before it is carried out. */
  observe(observer: (instant: Instant) => void): void {
    this.#observers.push(observer);
  }

  submit(job: SimulatedJob): Story {
    const story: Story = { job, stays: [], losses: 0, lostMs: 0, heldMs: 0 };
    const state: JobState = { story, leases: 0, workLeftMs: job.workMs, isPaused: false, current: undefined };
    if (this.#jobs.has(job.id)) throw new RangeError(`simulation: a job ${job.id} was submitted before`);
    this.#jobs.set(job.id, state);
    this.#events.plan(job.submitAt, () => this.#ask(state));
    return story;
  }

  /** At `at`, the job is cancelled, wherever it is. */
  cancel(job: string, at: EpochMs): void {
    this.#plan(at, job, (state) => this.#end(state, 'cancelled'));
  }

  /** At `at`, its command stops and its chips are kept; nothing if it holds none. */
  pause(job: string, at: EpochMs): void {
    this.#plan(at, job, (state) => {
      if (state.current?.state !== 'held') return;
      state.isPaused = true;
      this.#leaveHeld(state.current, 'parked');
    });
  }

  resume(job: string, at: EpochMs): void {
    this.#plan(at, job, (state) => {
      if (!state.isPaused) return;
      state.isPaused = false;
      if (state.current === undefined) this.#ask(state);
      else if (state.current.state === 'parked') this.#hold(state, state.current);
    });
  }

  /** At `at`, the provider takes the job's chips: it keeps its lease and asks for others. */
  takeChips(job: string, at: EpochMs): void {
    this.#plan(at, job, (state) => this.#lose(state));
  }

  configure(config: QuotaConfig, at: EpochMs): void {
    this.#events.plan(at, () => {
      this.#config = config;
      this.#isChanged = true;
    });
  }

  freeze(isFrozen: boolean, at: EpochMs): void {
    this.#events.plan(at, () => {
      this.#isFrozen = isFrozen;
      this.#isChanged = true;
    });
  }

  /** Lets time go on until `until` (inclusive), or until nothing will happen any more. */
  run(until: EpochMs = Number.MAX_SAFE_INTEGER): this {
    for (let next = this.#events.nextAt; next !== undefined && next <= until; next = this.#events.nextAt) {
      this.now = next;
      this.#happen();
      if (this.#isChanged) this.#decide();
    }
    return this;
  }

  stories(): readonly Story[] {
    return [...this.#jobs.values()].map(({ story }) => story);
  }

  /** What a decision is made from, now. */
  pool(): Pool {
    return {
      config: this.#config,
      requests: [...this.#waiting.values()].map(({ request }) => request),
      leases: [...this.#leases.values()].map((lease) => this.#shown(lease)),
      memory: this.#memory,
      isFrozen: this.#isFrozen,
    };
  }

  #happen(): void {
    while (this.#events.nextAt === this.now) this.#events.take().act();
  }

  #plan(at: EpochMs, job: string, act: (state: JobState) => void): void {
    this.#events.plan(at, () => {
      const state = this.#jobs.get(job);
      if (state !== undefined && state.story.endedAt === undefined && state.story.job.submitAt <= this.now) act(state);
    });
  }

  #decide(): void {
    if (this.#tickMs !== undefined && this.now % this.#tickMs !== 0) {
      this.#wake(Math.ceil(this.now / this.#tickMs) * this.#tickMs);
      return;
    }
    for (let turn = 0; this.#isChanged; turn += 1) {
      if (turn === MAX_DECISIONS_AT_ONCE) throw new Error(`simulation: at ${this.now} ms the policy does not settle`);
      this.#isChanged = false;
      this.#decideOnce();
      this.#happen();
      if (this.#tickMs !== undefined) this.#isChanged = false;
    }
  }

  #decideOnce(): void {
    const pool = this.pool();
    const decision = this.#policy(pool, this.now);
    this.decisions += 1;
    this.#memory = decision.memory;
    for (const observer of this.#observers) observer({ at: this.now, pool, decision });
    for (const grant of decision.grants) this.#grant(grant);
    for (const preemption of decision.preemptions) this.#revoke(preemption);
    const { nextAt } = decision;
    if (nextAt === undefined) return;
    if (nextAt <= this.now) throw new Error(`simulation: nextAt ${nextAt} is not after now, ${this.now}`);
    this.#wake(nextAt);
  }

  #wake(at: EpochMs): void {
    if (this.#wakeAt !== undefined && this.#wakeAt > this.now && this.#wakeAt <= at) return;
    this.#wakeAt = at;
    this.#events.plan(at, () => {
      if (this.#wakeAt !== at) return;
      this.#wakeAt = undefined;
      this.#isChanged = true;
    });
  }

  #ask(state: JobState): void {
    const { job } = state.story;
    if (state.story.endedAt !== undefined) return;
    state.leases += 1;
    const { id: _job, submitAt, workMs: _work, ...demand } = job;
    const lease = leaseOf(state);
    const request: QuotaRequest = { ...demand, id: lease, submittedAt: submitAt, waitingSince: this.now };
    this.#waiting.set(lease, { story: state.story, request });
    this.#isChanged = true;
  }

  #grant({ id, tier, isFromReservation = false }: Grant): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) throw new Error(`simulation: ${id} was granted and does not wait`);
    this.#waiting.delete(id);
    const { story, request } = waiting;
    const { zones } = story.job;
    const zone = zones?.[story.stays.length % zones.length];
    const waitedSince = request.waitingSince ?? request.submittedAt;
    const stay: Stay = { lease: id, tier, isFromReservation, waitedSince, grantedAt: this.now, ...(zone && { zone }) };
    story.stays.push(stay);
    const times = { heldMs: 0, since: this.now, askingSince: this.now };
    const lease: SimulatedLease = { id, story, stay, state: 'asking', ...times, version: 0 };
    this.#leases.set(id, lease);
    this.#stateOf(lease).current = lease;
    this.#askCloud(lease);
    this.#isChanged = true;
  }

  #askCloud(lease: SimulatedLease): void {
    const after = this.#world.chipsAfterMs(this.#askOf(lease));
    if (after !== undefined) this.#later(lease, after, () => this.#hold(this.#stateOf(lease), lease));
  }

  #hold(state: JobState, lease: SimulatedLease): void {
    this.#enter(lease, 'held');
    lease.stay.chipsAt ??= this.now;
    this.#forgetCoolDowns(lease);
    if (state.workLeftMs !== undefined) this.#later(lease, state.workLeftMs, () => this.#end(state, 'done'));
    const lossAfter = this.#world.lossAfterMs?.(this.#askOf(lease));
    if (lossAfter !== undefined) this.#later(lease, lossAfter, () => this.#lose(state));
  }

  #lose(state: JobState): void {
    const lease = state.current;
    if (lease?.state !== 'held') return;
    state.story.losses += 1;
    this.#leaveHeld(lease, 'asking', 'provider');
    lease.askingSince = this.now;
    this.#askCloud(lease);
  }

  #revoke({ id, for: winner, cause }: Preemption): void {
    const lease = this.#leases.get(id);
    if (lease === undefined || lease.state === 'draining')
      throw new Error(`simulation: ${id} was revoked and is no lease`);
    Object.assign(lease.stay, { revokedAt: this.now, revokedFor: winner, cause });
    const { graceMs, graceOf } = this.#world;
    const grace = lease.state !== 'held' ? 0 : Math.min(graceMs, graceOf?.(lease.story.job) ?? graceMs);
    if (lease.state === 'held') this.#leaveHeld(lease, 'draining', cause);
    else this.#enter(lease, 'draining');
    this.#later(lease, grace, () => this.#letGo(this.#stateOf(lease), lease, true));
  }

  /** The job lets go: it asks again at once where it wants to go on, and its slices are seen gone after a while. */
  #letGo(state: JobState, lease: SimulatedLease, wantsMore: boolean): void {
    if (state.current === lease) state.current = undefined;
    this.#enter(lease, 'draining');
    this.#later(lease, this.#world.drainMs, () => {
      this.#leases.delete(lease.id);
      lease.stay.goneAt = this.now;
      this.#isChanged = true;
    });
    if (wantsMore && !state.isPaused) this.#ask(state);
  }

  #end(state: JobState, outcome: 'done' | 'cancelled'): void {
    const { story, current } = state;
    this.#waiting.delete(leaseOf(state));
    if (current?.state === 'held') this.#leaveHeld(current, 'draining');
    story.endedAt = this.now;
    story.outcome = outcome;
    if (current !== undefined) this.#letGo(state, current, false);
    this.#isChanged = true;
  }

  /** Work and held time are counted when held chips are left. */
  #leaveHeld(lease: SimulatedLease, next: LeaseState, cause?: Preemption['cause'] | 'provider'): void {
    const { story } = lease;
    const state = this.#stateOf(lease);
    const workedMs = this.now - lease.since;
    const keptMs = cause === undefined ? workedMs : (this.#world.workKeptMs?.(story.job, workedMs, cause) ?? workedMs);
    lease.heldMs += workedMs;
    story.heldMs += workedMs;
    story.lostMs += workedMs - keptMs;
    if (state.workLeftMs !== undefined) state.workLeftMs = Math.max(0, state.workLeftMs - keptMs);
    this.#enter(lease, next);
  }

  #enter(lease: SimulatedLease, state: LeaseState): void {
    lease.state = state;
    lease.since = this.now;
    lease.version += 1;
    this.#isChanged = true;
  }

  #later(lease: SimulatedLease, afterMs: number, act: () => void): void {
    const { version } = lease;
    this.#events.plan(this.now + afterMs, () => {
      if (lease.version === version) act();
    });
  }

  /** Chips arrived: the place gives chips again. */
  #forgetCoolDowns({ story, stay }: SimulatedLease): void {
    const isHere = (type: string): boolean => (story.job.units[type] ?? 0) > 0;
    const coolDowns = this.#memory.coolDowns.filter(
      ({ type, tier, zone }) => !(isHere(type) && tier === stay.tier && zone === stay.zone),
    );
    this.#memory = { ...this.#memory, coolDowns };
  }

  #shown({ id, story, stay, state, heldMs, since, askingSince }: SimulatedLease): QuotaLease {
    const { id: _job, submitAt, workMs: _work, ...demand } = story.job;
    const held = state === 'held' ? heldMs + this.now - since : heldMs;
    const lease = { ...demand, id, submittedAt: submitAt, tier: stay.tier, startedAt: stay.grantedAt };
    return {
      ...lease,
      state,
      heldMs: held,
      ...(state === 'asking' && { askingSince }),
      ...(stay.zone !== undefined && { zone: stay.zone }),
      ...(stay.isFromReservation && { isFromReservation: true }),
    };
  }

  #askOf({ story, stay }: SimulatedLease): Ask {
    return { job: story.job, tier: stay.tier, at: this.now, ...(stay.zone !== undefined && { zone: stay.zone }) };
  }

  #stateOf({ story }: SimulatedLease): JobState {
    const state = this.#jobs.get(story.job.id);
    if (state === undefined) throw new Error(`simulation: no job ${story.job.id}`);
    return state;
  }
}

/** The id of the lease that the job asks for, or has: as jobctl writes it. */
const leaseOf = ({ story, leases }: JobState): string =>
  leaseKey({ pool: '', job: story.job.id, run: 'r', number: leases });

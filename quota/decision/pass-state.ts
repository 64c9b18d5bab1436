import type { EpochMs, QuotaUnits } from '../../domain/units.js';
import { runningCoolDowns } from './cool-downs.js';
import { Nominal, type Workload, ProjectQuota, workloadOf } from './project-quota.js';
import { ProjectDrafts, ProjectUsage, UserUsage } from './usage.js';
import { DEFAULT_RULES } from '../quota-config.js';
import type {
  Grant,
  LimitedQuota,
  PoolRules,
  Preemption,
  QuotaLease,
  QuotaMemory,
  QuotaRequest,
} from '../quota-config.js';
import { unitsOf } from '../../domain/units.js';
import { KindTable } from './waiting.js';
import { addShape, Room } from './room.js';
import { ShapeTable } from './shapes.js';
import type { Shape } from './shapes.js';
import { Limits } from './limits.js';
import { Candidates } from './candidates.js';
import type { Kind, WaitingRequest } from './waiting.js';

/** Input of a pass. */
export interface PassInput {
  readonly config: LimitedQuota;
  readonly requests: readonly QuotaRequest[];
  readonly leases: readonly QuotaLease[];
  readonly memory: QuotaMemory;
  readonly now: EpochMs;
}

/** All state that changes during a pass, and the only methods that change it. */
export class PassState {
  readonly config: LimitedQuota;
  readonly rules: PoolRules;
  readonly now: EpochMs;
  readonly memory: QuotaMemory;
  readonly shapes: ShapeTable;
  readonly limits: Limits;
  readonly room: Room;
  readonly kinds: readonly Kind[];
  readonly waiting: readonly WaitingRequest[];
  readonly projects: ReadonlyMap<string, ProjectUsage>;
  readonly grants: Grant[] = [];
  readonly preemptions: Preemption[] = [];
  /** In-quota requests for which free chips, draining chips or chips of targets were claimed, all or in part. */
  readonly claimants: WaitingRequest[] = [];
  readonly #users = new Map<string, UserUsage>();
  readonly #candidates = new Map<number, Candidates>();
  readonly #poolUnits: number[];

  constructor({ config, requests, leases, memory, now }: PassInput) {
    this.config = config;
    this.rules = config.rules ?? DEFAULT_RULES;
    this.now = now;
    this.memory = memory;
    this.shapes = new ShapeTable(config, runningCoolDowns(memory, now));
    const asked = requests.map((request) => this.shapes.of(request));
    const workloads = leases.map((lease) => workloadOf(lease, this.shapes.of(lease), config.tiers.length));
    const totals = config.tiers.map((tier) => this.#vector(tier));
    this.#poolUnits = this.shapes.types.map((_, type) => totals.reduce((sum, total) => sum + (total[type] ?? 0), 0));
    this.room = roomOf(totals, workloads);
    this.limits = new Limits(this);
    this.projects = this.#projectsOf(workloads, requests);
    const kinds = new KindTable(this.projects);
    this.waiting = requests.map((request, index) =>
      kinds.add(request, asked[index] as Shape, this.#user(request.user)),
    );
    this.kinds = kinds.all;
  }

  candidates(tier: number): Candidates {
    return this.#candidates.get(tier) ?? this.#readCandidates(tier);
  }

  /** Starts the request: its chips are free. */
  grant(waiting: WaitingRequest, tier: number, isFromReservation = false): void {
    const { request, kind } = waiting;
    if (isFromReservation) this.room.spend(kind.shape, tier);
    else this.room.take(kind.shape, tier);
    this.grants.push(isFromReservation ? { id: request.id, tier, isFromReservation } : { id: request.id, tier });
    this.#serve(waiting, tier);
    waiting.served = { kind: 'granted', tier, isFromReservation };
  }

  /** Claims free and coming chips for the request, and those of its targets. It starts when all of them are free (rule 7). */
  claim(waiting: WaitingRequest, tier: number, targets: readonly Workload[]): void {
    for (const { shape } of targets) this.room.drain(shape, tier);
    this.room.claim(waiting.kind.shape, tier);
    this.#serve(waiting, tier);
    this.#preempt(waiting, tier, targets);
    this.claimants.push(waiting);
    waiting.served = { kind: 'claimed', tier, targets: targets.map(({ id }) => id) };
  }

  /**
   * Claims the free and coming chips for a request that needs more.
   * @param protectedOnes returns the leases that hold the rest; called only to explain
   */
  claimPart(waiting: WaitingRequest, tier: number, protectedOnes: () => readonly Workload[]): void {
    this.room.claim(waiting.kind.shape, tier);
    this.#serve(waiting, tier);
    this.claimants.push(waiting);
    const { now } = this;
    const candidates = this.candidates(tier);
    waiting.served = {
      kind: 'protected',
      tier,
      get by() {
        return protectedOnes().map(({ id }) => id);
      },
      get until() {
        return Math.min(...protectedOnes().map((workload) => candidates.until(workload) ?? now));
      },
    };
  }

  #readCandidates(tier: number): Candidates {
    const quotas = [...this.projects.values()].map((project) => project.quota);
    const candidates = new Candidates(quotas, tier, this.rules, this.now);
    this.#candidates.set(tier, candidates);
    return candidates;
  }

  /** Call it after the request was added to its quota: only then do all of its targets borrow. */
  #preempt({ request }: WaitingRequest, tier: number, targets: readonly Workload[]): void {
    if (targets.length === 0) return;
    const candidates = this.candidates(tier);
    for (const target of targets) {
      const { id, lease } = target;
      this.preemptions.push({ id, for: request.id, cause: lease?.state === 'parked' ? 'parked' : 'quota' });
      candidates.take(target);
    }
  }

  #serve({ request, kind, user }: WaitingRequest, tier: number): void {
    const { project, priority, shape } = kind;
    project.add({ id: request.id, priority, startedAt: this.now, shape, tier });
    // It may push out leases of its project in any tier.
    if (project.quota.hasLeases) for (const candidates of this.#candidates.values()) candidates.changed(project.quota);
    user.hold(shape);
  }

  #projectsOf(workloads: readonly Workload[], requests: readonly QuotaRequest[]): Map<string, ProjectUsage> {
    const drafts = new ProjectDrafts(this.shapes.types.length);
    for (const each of workloads) {
      const { lease, shape } = each;
      if (lease === undefined || lease.state === 'draining') continue;
      drafts.of(lease.project).add(each);
      this.#user(lease.user).hold(shape);
    }
    for (const { name } of this.config.projects) drafts.of(name);
    for (const { project } of requests) drafts.of(project);
    const nominal = new Map(this.config.projects.map((each) => [each.name.toLowerCase(), each.nominal]));
    const { limits } = this;
    const keptFrom = limits.isLendingLimited ? limits.keptFrom.bind(limits) : undefined;
    const pricings = this.config.tiers.map((_, tier) => this.rules.tiers[tier]?.pricing);
    return new Map(
      [...drafts.byName].map(([name, { workloads: own, used }], index) => {
        const byTier = this.config.tiers.map((_, tier) => this.#vector(nominal.get(name)?.[tier] ?? {}));
        const quota = new ProjectQuota(new Nominal(byTier, pricings), own);
        return [name, new ProjectUsage(index, { name, quota, used, room: this.room, keptFrom })];
      }),
    );
  }

  #user(name: string): UserUsage {
    let user = this.#users.get(name);
    if (user === undefined) this.#users.set(name, (user = new UserUsage(this.#users.size, this.#poolUnits)));
    return user;
  }

  #vector(units: QuotaUnits): number[] {
    return this.shapes.types.map((type) => unitsOf(units, type));
  }
}

function roomOf(totals: readonly (readonly number[])[], workloads: readonly Workload[]): Room {
  const leased = totals.map((total) => total.map(() => 0));
  const draining = totals.map((total) => total.map(() => 0));
  for (const { shape, lease, tier } of workloads) {
    addShape(leased[tier] ?? [], shape);
    if (lease?.state === 'draining') addShape(draining[tier] ?? [], shape);
  }
  return new Room(totals, leased, draining);
}

import type { EpochMs, QuotaUnits } from '../../domain/units.js';
import { runningCoolDowns } from './cool-downs.js';
import type { Laid } from './laying.js';
import { Lot } from './laying.js';
import { ProjectUse, UserUse } from './project-use.js';
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
import { unitsOf } from '../quota-units.js';
import { KindTable } from './kinds.js';
import { ProjectDrafts } from './project-drafts.js';
import { addShape, Room } from './room.js';
import { ShapeTable } from './shapes.js';
import type { Shape } from './shapes.js';
import { Borrowers } from './victims.js';
import type { Kind, Waiting } from './waiting.js';

/** What a pass starts from. */
export interface PassInput {
  readonly config: LimitedQuota;
  readonly requests: readonly QuotaRequest[];
  readonly leases: readonly QuotaLease[];
  readonly memory: QuotaMemory;
  readonly now: EpochMs;
}

/** All that changes while one pass is made, and the only ways in which it does. */
export class PassState {
  readonly config: LimitedQuota;
  readonly rules: PoolRules;
  readonly now: EpochMs;
  readonly memory: QuotaMemory;
  readonly shapes: ShapeTable;
  readonly room: Room;
  readonly kinds: readonly Kind[];
  readonly waiting: readonly Waiting[];
  readonly projects: ReadonlyMap<string, ProjectUse>;
  readonly grants: Grant[] = [];
  readonly preemptions: Preemption[] = [];
  /** In quota: those for whom chips that are free, draining or their victims' were claimed, all or in part. */
  readonly claimants: Waiting[] = [];
  readonly #users = new Map<string, UserUse>();
  readonly #borrowers = new Map<number, Borrowers>();
  readonly #poolUnits: number[];

  constructor({ config, requests, leases, memory, now }: PassInput) {
    this.config = config;
    this.rules = config.rules ?? DEFAULT_RULES;
    this.now = now;
    this.memory = memory;
    this.shapes = new ShapeTable(config, runningCoolDowns(memory, now));
    const asked = requests.map((request) => this.shapes.of(request));
    const laid = leases.map((lease) => laidOf(lease, this.shapes.of(lease)));
    const totals = config.tiers.map((tier) => this.#vector(tier));
    this.#poolUnits = this.shapes.types.map((_, type) => totals.reduce((sum, total) => sum + (total[type] ?? 0), 0));
    this.room = roomOf(totals, laid);
    this.projects = this.#projectsOf(laid, requests);
    const kinds = new KindTable(this.projects);
    this.waiting = requests.map((request, index) =>
      kinds.add(request, asked[index] as Shape, this.#user(request.user)),
    );
    this.kinds = kinds.all;
  }

  borrowers(tier: number): Borrowers {
    return this.#borrowers.get(tier) ?? this.#readBorrowers(tier);
  }

  /** Its chips are free: it starts. */
  grant(waiting: Waiting, tier: number, isFromReservation = false): void {
    const { request, kind } = waiting;
    if (isFromReservation) this.room.spend(kind.shape, tier);
    else this.room.take(kind.shape, tier);
    this.grants.push(isFromReservation ? { id: request.id, tier, isFromReservation } : { id: request.id, tier });
    this.#serve(waiting, tier);
    waiting.served = { kind: 'granted', tier, isFromReservation };
  }

  /** Earmarks for it what is free and coming, with what its victims give back; it starts when that is free (rule 7). */
  claim(waiting: Waiting, tier: number, victims: readonly Laid[]): void {
    for (const { shape } of victims) this.room.drain(shape, tier);
    this.room.claim(waiting.kind.shape, tier);
    this.#serve(waiting, tier);
    this.#preempt(waiting, tier, victims);
    this.claimants.push(waiting);
    waiting.served = { kind: 'claimed', tier, victims: victims.map(({ id }) => id) };
  }

  /** As `claim`, of what there is by now. @param protectedOnes who has the rest; found when it is asked for */
  claimPart(waiting: Waiting, tier: number, protectedOnes: () => readonly Laid[]): void {
    this.room.claim(waiting.kind.shape, tier);
    this.#serve(waiting, tier);
    this.claimants.push(waiting);
    const { now } = this;
    const borrowers = this.borrowers(tier);
    waiting.served = {
      kind: 'protected',
      tier,
      get by() {
        return protectedOnes().map(({ id }) => id);
      },
      get until() {
        return Math.min(...protectedOnes().map((laid) => borrowers.until(laid) ?? now));
      },
    };
  }

  #readBorrowers(tier: number): Borrowers {
    const lots = [...this.projects.values()].map((project) => project.lot(tier));
    const borrowers = new Borrowers(lots, this.rules, this.now);
    this.#borrowers.set(tier, borrowers);
    return borrowers;
  }

  /** Once the request is laid, all of its victims are borrowed ones. */
  #preempt({ request }: Waiting, tier: number, victims: readonly Laid[]): void {
    if (victims.length === 0) return;
    const borrowers = this.borrowers(tier);
    for (const victim of victims) {
      const { id, lease } = victim;
      this.preemptions.push({ id, for: request.id, cause: lease?.state === 'parked' ? 'parked' : 'quota' });
      borrowers.take(victim);
    }
  }

  #serve({ request, kind, user }: Waiting, tier: number): void {
    const { project, priority, shape } = kind;
    const lot = project.lot(tier);
    lot.lay({ id: request.id, priority, startedAt: this.now, shape });
    if (lot.hasLeases) this.#borrowers.get(tier)?.changed(lot);
    project.use(shape);
    user.hold(shape);
  }

  #projectsOf(laid: readonly Laid[], requests: readonly QuotaRequest[]): Map<string, ProjectUse> {
    const drafts = new ProjectDrafts(this.config.tiers.length, this.shapes.types.length);
    for (const each of laid) {
      const { lease, shape } = each;
      if (lease === undefined || lease.state === 'draining') continue;
      drafts.of(lease.project).add(each, lease.tier);
      this.#user(lease.user).hold(shape);
    }
    for (const { name } of this.config.projects) drafts.of(name);
    for (const { project } of requests) drafts.of(project);
    const nominal = new Map(this.config.projects.map((each) => [each.name.toLowerCase(), each.nominal]));
    return new Map(
      [...drafts.byName].map(([name, { laid: byTier, used }], index) => {
        const lots = byTier.map((ofTier, tier) => new Lot(this.#vector(nominal.get(name)?.[tier] ?? {}), ofTier));
        return [name, new ProjectUse(index, name, lots, used)];
      }),
    );
  }

  #user(name: string): UserUse {
    let user = this.#users.get(name);
    if (user === undefined) this.#users.set(name, (user = new UserUse(this.#users.size, this.#poolUnits)));
    return user;
  }

  #vector(units: QuotaUnits): number[] {
    return this.shapes.types.map((type) => unitsOf(units, type));
  }
}

function laidOf(lease: QuotaLease, shape: Shape): Laid {
  return { id: lease.id, priority: lease.priority, startedAt: lease.startedAt, shape, lease };
}

function roomOf(totals: readonly (readonly number[])[], laid: readonly Laid[]): Room {
  const leased = totals.map((total) => total.map(() => 0));
  const draining = totals.map((total) => total.map(() => 0));
  for (const { shape, lease } of laid) {
    const tier = Math.min(lease?.tier ?? 0, totals.length - 1);
    addShape(leased[tier] ?? [], shape);
    if (lease?.state === 'draining') addShape(draining[tier] ?? [], shape);
  }
  return new Room(totals, leased, draining);
}

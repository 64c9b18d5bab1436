import { type EpochMs, unitsOf } from '../../domain/units.js';
import {
  findProject,
  type LimitedQuota,
  type QuotaLease,
  type QuotaMemory,
  type QuotaRequest,
  type Reservation,
  askingEndsAt,
  DEFAULT_RULES,
  projectKey,
  tierOf,
} from '../quota-config.js';
import { mayLieIn } from '../decision/shapes.js';
import type { Outcome, TierProblem, Verdict } from '../decision/verdict.js';
import { CountedLeases } from '../pool-accounts.js';
import type { DueTime, Holder, Reason, ProjectUnits } from './explanation.js';

/** Most jobs that a reason names. */
const MOST_NAMED = 5;

/** A verdict as a closed list of reasons with all their numbers. */
export class Reasons {
  readonly #config: LimitedQuota;
  readonly #memory: QuotaMemory;
  readonly #holders: LeaseHolders;
  readonly #reservations: readonly (Reservation & { readonly types: readonly string[] })[];

  /** @param memory as the pass left it */
  constructor(config: LimitedQuota, memory: QuotaMemory, requests: readonly QuotaRequest[], holders: LeaseHolders) {
    this.#config = config;
    this.#memory = memory;
    this.#holders = holders;
    const reserved = new Set(memory.reservations.map(({ id }) => id));
    const types = new Map(
      requests.filter(({ id }) => reserved.has(id)).map(({ id, units }) => [id, Object.keys(units)]),
    );
    this.#reservations = memory.reservations.map((each) => ({ ...each, types: types.get(each.id) ?? [] }));
  }

  /** Reasons of a request that the pass did not grant; never empty. */
  of(verdict: Verdict): readonly Reason[] {
    const { request, isInQuota, problems, outcome } = verdict;
    const ofTiers = problems.flatMap((problem) => this.#ofProblem(problem, verdict));
    return [
      ...(outcome.kind === 'frozen' ? [{ code: 'frozen' } as const] : []),
      ...(isInQuota ? [] : this.#overNominal(request, problems)),
      ...ofTiers,
      ...ofOutcome(outcome),
    ];
  }

  /** Holders of the types that the reasons say are short, most units first. */
  holdersFor(reasons: readonly Reason[]): readonly Holder[] {
    const short = reasons.filter((reason) => reason.code === 'short');
    return short.flatMap(({ tier, type }) => named(this.#holders.of(tier, type).leases, type)).slice(0, MOST_NAMED);
  }

  /** Asking leases of the types that are short, each with the time at which it is returned to the pool. */
  askingEndsFor(reasons: readonly Reason[]): readonly { readonly at: EpochMs; readonly id: string }[] {
    return reasons.flatMap((reason) => {
      const end = reason.code === 'short' ? this.#holders.of(reason.tier, reason.type).askingEnd : undefined;
      return end === undefined ? [] : [end];
    });
  }

  #ofProblem(problem: TierProblem, verdict: Verdict): readonly Reason[] {
    const { kind, tier } = problem;
    const { request } = verdict;
    switch (kind) {
      case 'pricing':
        return this.#otherPricing(request, tier);
      case 'size':
        return [
          {
            code: 'never-fits',
            tier,
            type: problem.type,
            asked: unitsOf(request.units, problem.type),
            has: problem.has,
          },
        ];
      case 'cool-down':
        return [{ code: 'cool-down', tier, zones: this.#coolZones(request, tier), until: problem.until }];
      case 'room':
        return this.#ofRoom(problem, verdict);
      case 'borrowing-limit': {
        const { type, borrowed, limit } = problem;
        return [{ code: 'borrowing-limit', tier, type, asked: unitsOf(request.units, type), borrowed, limit }];
      }
      case 'lending-limit':
        return [{ code: 'lending-limit', tier, type: problem.type, kept: problem.kept }];
      case 'crowded': {
        const { type, within } = problem;
        const total = unitsOf(this.#config.tiers[tier] ?? {}, type);
        return [{ code: 'crowded', tier, type, asked: unitsOf(request.units, type), total, within }];
      }
      case 'after-others':
        return [{ code: 'after-others', tier, type: problem.type }];
    }
  }

  #ofRoom(room: Extract<TierProblem, { kind: 'room' }>, verdict: Verdict): readonly Reason[] {
    const { request, isInQuota, outcome } = verdict;
    const { tier, type, asked, free, reserved, claimed } = room;
    const { inUse, draining, drainingUnits, borrowed } = this.#holders.of(tier, type);
    const total = unitsOf(this.#config.tiers[tier] ?? {}, type);
    const isForIt = outcome.kind === 'claimed' && outcome.tier === tier;
    const reservation = this.#reservations.find((each) => each.tier === tier && each.types.includes(type));
    const isOwn = reservation?.id === request.id;
    const isReserved = reserved > 0 && reservation !== undefined && !isOwn;
    // A request that its quota covers does not borrow, even if this tier is crowded or others do not lend its chips.
    const isBorrower = !isInQuota && this.#isOverNominal(request);
    // Units collected for it count as free. So do units that it alone claims, as far as they are free.
    const isOnlyClaim = isForIt && claimed <= asked;
    const usable = isOnlyClaim ? Math.max(0, Math.min(asked, total - inUse - reserved)) : free + (isOwn ? reserved : 0);
    return [
      ...(usable < asked
        ? [{ code: 'short', tier, type, total, inUse, free: usable, short: asked - usable } as const]
        : []),
      ...(isReserved
        ? [{ code: 'reserved', tier, type, units: reserved, for: reservation.id, since: reservation.madeAt } as const]
        : []),
      ...(claimed > 0 && !isForIt ? [{ code: 'claimed', tier, type, units: claimed } as const] : []),
      ...(draining.length > 0
        ? [{ code: 'draining', tier, type, units: drainingUnits, by: named(draining, type), isForIt } as const]
        : []),
      ...(isBorrower && borrowed.length > 0 ? [{ code: 'borrowers', tier, type, by: borrowed } as const] : []),
    ];
  }

  #isOverNominal(request: QuotaRequest): boolean {
    return Object.entries(request.units).some(([type, asked]) => asked > this.#holders.leftFor(request, type));
  }

  /** One reason per type. Nominal quota is summed over all tiers that the job may use. */
  #overNominal(request: QuotaRequest, problems: readonly TierProblem[]): readonly OverNominal[] {
    const { project, priority, units } = request;
    const shut = new Set(problems.filter(({ kind }) => kind === 'pricing' || kind === 'size').map(({ tier }) => tier));
    if (shut.size === this.#config.tiers.length) return [];
    const tiers = [...this.#config.tiers.keys()].filter((tier) => mayLieIn(this.#config, request, tier));
    const nominal = findProject(this.#config, project)?.nominal ?? [];
    const before = this.#holders.withinNominalBefore(project, priority);
    const [tier = 0] = tiers;
    return Object.entries(units).flatMap(([type, asked]): OverNominal[] => {
      const has = tiers.reduce((sum, each) => sum + unitsOf(nominal[each] ?? {}, type), 0);
      const left = this.#holders.leftFor(request, type);
      if (asked <= left) return [];
      const by = before.filter((lease) => unitsOf(lease.units, type) > 0);
      const more = { used: has - left, by: named(by, type), ...(tiers.length > 1 ? { tiers } : {}) };
      return [{ code: 'over-nominal', tier, type, asked, nominal: has, ...more }];
    });
  }

  #otherPricing({ pricing: wanted }: QuotaRequest, tier: number): readonly Reason[] {
    const pricing = this.#config.rules?.tiers[tier]?.pricing;
    return pricing === undefined || wanted === undefined ? [] : [{ code: 'pricing', tier, pricing, wanted }];
  }

  #coolZones({ units, zones = [] }: QuotaRequest, tier: number): readonly string[] {
    const cooling = this.#memory.coolDowns.filter((each) => each.tier === tier && unitsOf(units, each.type) > 0);
    return zones.filter((zone) => cooling.some((each) => each.zone === zone));
  }
}

function ofOutcome(outcome: Outcome): readonly Reason[] {
  switch (outcome.kind) {
    case 'protected':
      return [{ code: 'protected', tier: outcome.tier, by: outcome.by, until: outcome.until }];
    case 'held-back':
      return [{ code: 'held-back', tier: outcome.tier, by: outcome.by, until: outcome.until }];
    case 'collecting':
      return [{ code: 'collecting', tier: outcome.tier, since: outcome.madeAt, until: outcome.until }];
    default:
      return [];
  }
}

type OverNominal = Extract<Reason, { code: 'over-nominal' }>;

const named = (leases: readonly QuotaLease[], type: string): readonly Holder[] =>
  leases.slice(0, MOST_NAMED).map((lease) => holder(lease, type));

/**
 * Times at which rules alone may change a verdict, the earliest first. Ends of jobs are not among them, since they are not known.
 * @param askingEnds asking leases of the types that are short, each with the time at which it is returned
 */
export function dueTimes(
  { request, isInQuota, outcome }: Verdict,
  reasons: readonly Reason[],
  facts: {
    readonly memory: QuotaMemory;
    readonly agingMs: number;
    readonly askingEnds: readonly { readonly at: EpochMs; readonly id: string }[];
    readonly now: EpochMs;
  },
): readonly DueTime[] {
  const times: DueTime[] = facts.askingEnds.map(({ at, id }) => ({ at, what: 'asking-ends', of: id }));
  if (outcome.kind === 'protected') {
    const [first] = outcome.by;
    times.push({ at: outcome.until, what: 'protection-ends', ...(first === undefined ? {} : { of: first }) });
  }
  if (outcome.kind === 'held-back') times.push({ at: outcome.until, what: 'held-back-ends' });
  const cools = reasons.filter((reason) => reason.code === 'cool-down').map(({ until }) => until);
  if (cools.length > 0) times.push({ at: Math.min(...cools), what: 'cool-down-ends' });
  else if (!isInQuota && outcome.kind === 'passed-over' && reasons.some(isReservable))
    times.push({ at: agesAt(request, facts), what: 'reservation' });
  return times.filter(({ at }) => at > facts.now).toSorted((a, b) => a.at - b.at);
}

/** Whether a reservation would help: it helps against a shortage, not against a limit that is always too small for the job. */
function isReservable(reason: Reason, _: number, all: readonly Reason[]): boolean {
  if (reason.code !== 'short') return false;
  return !all.some(
    (other) => other.code === 'borrowing-limit' && other.tier === reason.tier && other.asked > other.limit,
  );
}

/** Time at which the request has waited its aging time (rule 8). */
function agesAt(
  { id, waitingSince, submittedAt }: QuotaRequest,
  { memory, agingMs }: { readonly memory: QuotaMemory; readonly agingMs: number },
): EpochMs {
  return Math.max(waitingSince ?? submittedAt, memory.dissolved[id] ?? 0) + agingMs;
}

/** Holders of one type in one tier. */
interface Holding {
  readonly inUse: number;
  /** Most units first, then by id. */
  readonly leases: readonly QuotaLease[];
  readonly draining: readonly QuotaLease[];
  readonly drainingUnits: number;
  /** Borrowed units by project, most first, without draining leases. */
  readonly borrowed: readonly ProjectUnits[];
  /** Earliest time at which a lease without chips may be taken back. */
  readonly askingEnd?: { readonly at: EpochMs; readonly id: string };
}

/**
 * Looks up holders by tier and type. Each holding is made on first use, so that ten thousand leases are sorted once and not for
 * each job that is explained.
 */
export class LeaseHolders {
  readonly #config: LimitedQuota;
  readonly #tiers: readonly QuotaLease[][];
  #counted: CountedLeases | undefined;
  #borrowed: ReadonlySet<string> | undefined;
  readonly #holdings = new Map<string, Holding>();

  constructor(config: LimitedQuota, leases: readonly QuotaLease[]) {
    this.#config = config;
    this.#tiers = config.tiers.map(() => []);
    for (const lease of leases) this.#tiers[tierOf(lease, config.tiers.length)]?.push(lease);
  }

  of(tier: number, type: string): Holding {
    const key = `${tier}/${type}`;
    const known = this.#holdings.get(key);
    if (known) return known;
    const holding = this.#make(tier, type);
    this.#holdings.set(key, holding);
    return holding;
  }

  #make(tier: number, type: string): Holding {
    const units = (lease: QuotaLease): number => unitsOf(lease.units, type);
    const leases = (this.#tiers[tier] ?? [])
      .filter((lease) => units(lease) > 0)
      .toSorted((a, b) => units(b) - units(a) || (a.id < b.id ? -1 : 1));
    const draining = leases.filter(isDraining);
    const borrowed = this.#borrowedIds;
    const rules = this.#config.rules ?? DEFAULT_RULES;
    const asking = leases.filter((lease) => lease.state === 'asking');
    const ends = asking.map((lease) => ({ id: lease.id, at: askingEndsAt(lease, rules) }));
    const [askingEnd] = ends.toSorted((a, b) => a.at - b.at);
    return {
      inUse: leases.reduce((sum, lease) => sum + units(lease), 0),
      leases: leases.filter((lease) => !isDraining(lease)),
      draining,
      drainingUnits: draining.reduce((sum, lease) => sum + units(lease), 0),
      borrowed: byProject(
        leases.filter((lease) => borrowed.has(lease.id)),
        type,
      ),
      ...(askingEnd === undefined ? {} : { askingEnd }),
    };
  }

  /** All leases counted (rule 3), once for all jobs that are explained. */
  get #count(): CountedLeases {
    return (this.#counted ??= new CountedLeases(this.#config, this.#tiers.flat()));
  }

  get #borrowedIds(): ReadonlySet<string> {
    this.#borrowed ??= new Set([...this.#count.projects.values()].flatMap((each) => each.borrowed.map(({ id }) => id)));
    return this.#borrowed;
  }

  /** Units of one type that are left of the project's nominal quota for a request, after those that count before it. */
  leftFor(request: QuotaRequest, type: string): number {
    return this.#count.leftFor(request, type);
  }

  /** The project's leases within nominal quota that count before a request of this priority, in the order of rule 3. */
  withinNominalBefore(project: string, priority: number): readonly QuotaLease[] {
    const counted = this.#count.projects.get(projectKey(project))?.within ?? [];
    return counted.filter((lease) => lease.priority <= priority);
  }
}

const isDraining = ({ state }: QuotaLease): boolean => state === 'draining';

function holder({ id, project, units }: QuotaLease, type: string): Holder {
  return { id, project, units: unitsOf(units, type) };
}

/** Units by project, most first. */
function byProject(leases: readonly QuotaLease[], type: string): readonly ProjectUnits[] {
  const units = new Map<string, ProjectUnits>();
  for (const { project, units: all } of leases) {
    const key = project.toLowerCase();
    units.set(key, { project, units: (units.get(key)?.units ?? 0) + unitsOf(all, type) });
  }
  return [...units.values()].toSorted((a, b) => b.units - a.units || (a.project < b.project ? -1 : 1));
}

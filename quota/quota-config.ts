import type { Demand } from '../domain/lease.js';
import type { Pricing } from '../domain/slice.js';
import type { EpochMs, QuotaUnits } from '../domain/units.js';

/** One project of a quota file. */
export interface QuotaProject {
  /** The name as written in the file. Names are compared without regard to case. */
  readonly name: string;
  /** Shares of the pool by generation, as written: 0.6 is 60 %. */
  readonly shares: Readonly<Record<string, number>>;
  /** Whole units by tier (same order as `tiers`) that the shares come to: see nominal-quota.ts. */
  readonly nominal: readonly QuotaUnits[];
  /** RE2 patterns, full match on the user id. Resolved at submit, never in a decision. */
  readonly members: readonly string[];
}

/** The tiers and projects of one quota file. Plain JSON. */
export interface LimitedQuota {
  readonly kind: 'limited';
  /** Units by tier, best tier first. */
  readonly tiers: readonly QuotaUnits[];
  readonly projects: readonly QuotaProject[];
  /** Rules of the pool file. Absent: `DEFAULT_RULES`. */
  readonly rules?: PoolRules;
}

/** The way in which a tier's units are bought. */
export interface TierRule {
  /** The tier serves jobs that name this pricing or none. Absent: each job's own pricing. */
  readonly pricing?: Pricing;
  /** Full or short name of a Google reservation; with pricing `reserved` only. */
  readonly reservation?: string;
}

/** Rules of a pool file, beside a quota file (docs/pool-file.md, docs/quota.md). Durations in ms, 0 or more. */
export interface PoolRules {
  /** In the order of `tiers`. A tier without an entry has no rule. */
  readonly tiers: readonly TierRule[];
  /** Units of the largest slice of each type that a zone can hold, by zone. A zone or type without an entry is not bounded. */
  readonly largestSlice: Readonly<Record<string, QuotaUnits>>;
  /** Most units that a project may borrow, per type over all tiers, by project in lower case. Without an entry: no limit. */
  readonly borrowingLimits: Readonly<Record<string, QuotaUnits>>;
  /**
   * Most units of a project's nominal quota that others may borrow, per type and tier, by project in lower case. Without an
   * entry: all.
   */
  readonly lendingLimits: Readonly<Record<string, QuotaUnits>>;
  /** A borrowed lease is not preempted before it has held its chips for this long (rule 6). */
  readonly minRuntimeMs: number;
  /** A job that has waited this long gets a reservation (rule 8). */
  readonly agingMs: number;
  /** Reservations hold back in-quota demand for at most this long, all together (rule 8). */
  readonly maxGuaranteeDelayMs: number;
  /** A lease without chips is returned after this long, if any job waits for them. */
  readonly askingTimeoutMs: number;
  /** The first cool-down of a (type, tier, zone) that gave no chips; it doubles up to `coolDownMaxMs`. */
  readonly coolDownMs: number;
  readonly coolDownMaxMs: number;
  /** Whether a job without a project is refused. */
  readonly requireProject: boolean;
  /**
   * Users who may apply files, freeze, drain, and change priorities of others' jobs; empty: everybody (docs/quota.md, "The
   * verbs").
   */
  readonly admins: readonly string[];
  /** Absent: every project may have any priority. */
  readonly priorityFloors?: PriorityFloors;
}

const MINUTE = 60_000;
/** The rules of a pool without settings. */
export const DEFAULT_RULES: PoolRules = {
  tiers: [],
  largestSlice: {},
  borrowingLimits: {},
  lendingLimits: {},
  minRuntimeMs: 10 * MINUTE,
  agingMs: 60 * MINUTE,
  maxGuaranteeDelayMs: 60 * MINUTE,
  askingTimeoutMs: 15 * MINUTE,
  coolDownMs: 15 * MINUTE,
  coolDownMaxMs: 4 * 60 * MINUTE,
  requireProject: false,
  admins: [],
};

/** `unlimited`: there is no quota file. */
export type QuotaConfig = LimitedQuota | { readonly kind: 'unlimited' };

/** The pool `default` if no quota file is configured. */
export const UNLIMITED: QuotaConfig = { kind: 'unlimited' };
/** The note in every verdict of an unlimited pool. */
export const UNLIMITED_NOTE = 'no quota file: the pool is unlimited';

/** The project of users who name none and are members of none: no nominal quota, best effort. */
export const NO_PROJECT = 'none';

/** Names the jobs of a project: `project vision`, `jobs without a project`. */
export const jobsOf = (project: string): string =>
  project === NO_PROJECT ? 'jobs without a project' : `project ${project}`;
/** After a job or its demand: `in project vision`, `without a project`. */
export const inProject = (project: string): string =>
  project === NO_PROJECT ? 'without a project' : `in project ${project}`;

/** A job that waits. `id` names the lease it asks for. */
export interface QuotaRequest extends Demand {
  readonly id: string;
  /** Start of its wait for this lease. Its aging counts from here. Absent: `submittedAt`. */
  readonly waitingSince?: EpochMs;
}

/**
 * `asking`: granted, but its chips are not there yet, or were lost to the provider. `held`: it has its chips. `draining`: its job
 * released it, or was told to, and its slices are not seen gone yet. `parked`: its job is paused.
 */
export type LeaseState = 'asking' | 'held' | 'draining' | 'parked';

/** A job that holds units, or whose slices were not all seen gone. */
export interface QuotaLease extends Demand {
  readonly id: string;
  /** Index of `tiers`; 0 in an unlimited pool. A tier that the pool no longer has counts as the last. */
  readonly tier: number;
  /** The time of the grant. */
  readonly startedAt: EpochMs;
  /** Absent: `held`. */
  readonly state?: LeaseState;
  /** Time that its chips were held until now, in every phase but paused, in ms; absent: since `startedAt`. */
  readonly heldMs?: number;
  /** Time since which an asking lease has no chips. Absent: `startedAt`. */
  readonly askingSince?: EpochMs;
  /** Zone in which it asks or has its slices. Absent: not known yet. */
  readonly zone?: string;
  /** Since it began to ask, an asking lease has asked in each of its zones, or each has refused it (rule 11). */
  readonly everywhere?: Everywhere;
  /** Granted from a reservation (rule 8). */
  readonly isFromReservation?: boolean;
}

/** Index of a lease's tier among this many tiers. A lease of a tier that the pool no longer has counts in the last one. */
export const tierOf = ({ tier }: Pick<QuotaLease, 'tier'>, tiers: number): number => Math.min(tier, tiers - 1);

/** Time since which a lease in state `asking` waits for its chips. */
export const askedAt = ({ askingSince, startedAt }: QuotaLease): EpochMs => askingSince ?? startedAt;

/** End of the asking timeout (rule 11). @param lease in state `asking` */
export const askingEndsAt = (lease: QuotaLease, { askingTimeoutMs }: Pick<PoolRules, 'askingTimeoutMs'>): EpochMs =>
  askedAt(lease) + askingTimeoutMs;

/** Most tiers of a quota file. */
export const MOST_TIERS = 20;

export const EVERYWHERE = ['asked', 'refused'] as const;
export type Everywhere = (typeof EVERYWHERE)[number];

/** Chips that come free in one tier collect for this request (rule 8). */
export interface Reservation {
  readonly id: string;
  readonly tier: number;
  readonly madeAt: EpochMs;
}

/** A place that gave no chips. A job whose zones all cool down holds no reservation and preempts no lease. */
export interface CoolDown {
  readonly type: string;
  readonly tier: number;
  readonly zone: string;
  /** Number of times in a row that a lease was returned from here without chips, 1 or more. */
  readonly failures: number;
  readonly until: EpochMs;
}

/** Facts that one decision leaves to the next. Plain JSON, bounded by the waiting requests and the leases. */
export interface QuotaMemory {
  readonly reservations: readonly Reservation[];
  /** Time at which a request's reservation was dissolved, by request. Its aging counts from there. */
  readonly dissolved: Readonly<Record<string, EpochMs>>;
  /** Time that an in-quota request waited for chips before now, and since when it waits again, by request (rule 8). */
  readonly heldBack: Readonly<Record<string, { readonly ms: number; readonly since?: EpochMs }>>;
  readonly coolDowns: readonly CoolDown[];
  /** In-quota requests for which a lease was preempted. They get those chips before any reservation does (rule 7). */
  readonly winners: readonly string[];
}

export const NO_MEMORY: QuotaMemory = { reservations: [], dissolved: {}, heldBack: {}, coolDowns: [], winners: [] };

/** All input of a decision except the time. The order of `requests` and `leases` does not matter. */
export interface Pool {
  readonly config: QuotaConfig;
  readonly requests: readonly QuotaRequest[];
  readonly leases: readonly QuotaLease[];
  /** Absent: `NO_MEMORY`. */
  readonly memory?: QuotaMemory;
  /** True after an admin's freeze: nothing new is granted, and nothing that runs is touched (rule 10). */
  readonly isFrozen?: boolean;
}

export interface Grant {
  readonly id: string;
  readonly tier: number;
  readonly isFromReservation?: boolean;
}

/** A lease that is taken back. It counts until its slices are seen gone. */
export interface Preemption {
  readonly id: string;
  /** The request that gets its chips; with cause `tier`, the lease itself. */
  readonly for: string;
  /**
   * `quota`: a borrower gives lent chips back, with notice. `asking`: it had no chips in time. `parked`: its job is paused.
   * `tier`: it had no chips in time, and its job could have its chips in another tier.
   */
  readonly cause: 'quota' | 'asking' | 'parked' | 'tier';
}

export interface Decision {
  readonly grants: readonly Grant[];
  readonly preemptions: readonly Preemption[];
  readonly memory: QuotaMemory;
  /** Earliest time at which time alone may change the answer. Absent: never. */
  readonly nextAt?: EpochMs;
}

/** The project's entry, found without regard to case. */
export function findProject(config: QuotaConfig, name: string): QuotaProject | undefined {
  if (config.kind === 'unlimited') return undefined;
  const { projects } = config;
  const known = byName.get(projects) ?? new Map(projects.toReversed().map((each) => [projectKey(each.name), each]));
  byName.set(projects, known);
  return known.get(projectKey(name));
}

/** Indexes by list of projects: a caller that looks up each of 2,000 projects does not scan the list each time. */
const byName = new WeakMap<LimitedQuota['projects'], ReadonlyMap<string, QuotaProject>>();

/** Names of projects are compared without regard to case. */
export const projectKey = (name: string): string => name.toLowerCase();

/** Project names that differ from an earlier name only by case, each with that earlier name. */
export function twinsOf(names: readonly string[]): ReadonlyMap<string, string> {
  const first = new Map<string, string>();
  const twins = new Map<string, string>();
  for (const name of names) {
    const twin = first.get(projectKey(name));
    if (twin === undefined) first.set(projectKey(name), name);
    else twins.set(name, twin);
  }
  return twins;
}

export const isSameProject = (a: string, b: string): boolean => projectKey(a) === projectKey(b);

/**
 * `[limits]` of a pool file (docs/adr/0075): the most that one user or one job may take of the pool. Plain JSON; absent: no
 * limit.
 */
export interface PoolLimits {
  /** Open jobs of one user in the pool. */
  readonly openJobsPerUser?: number;
  /** Jobs of one user that are accepted within a minute. */
  readonly submitsPerMinute?: number;
  /** Stored output of the command of one attempt, all hosts together. */
  readonly logBytesPerAttempt?: number;
  /** Requests of one job at once, each in another zone (docs/adr/0101); 1: no job may hedge. */
  readonly requestsPerJob?: number;
  /** Size of a job's input, as JSON. Absent: `MOST_INPUT_BYTES`. */
  readonly inputBytes?: number;
}

/** The highest priority of a project's jobs, 1 (first) to 5, by project in lower case. Without an entry: any. */
export type PriorityFloors = Readonly<Record<string, number>>;

/** Says why a job of this project may not have this priority; undefined if it may. */
export function floorProblem(
  floors: PriorityFloors | undefined,
  project: string,
  priority: number,
): string | undefined {
  const name = project.toLowerCase();
  const floor = floors !== undefined && Object.hasOwn(floors, name) ? floors[name] : undefined;
  if (floor === undefined || priority >= floor) return undefined;
  return (
    `priority: ${priority} is higher than project ${project} may have in this pool: ${floor} at most\n` +
    `  write priority: ${floor}, or ask for another [limits] priority_floor in the pool file`
  );
}

/** The new place of each moved tier, by its old place. */
export type TierMoves = ReadonlyMap<number, number>;

/**
 * Finds the tiers whose place has changed. Leases name their tier by its place, and an operator may put a tier before others.
 * Tiers are matched by the way their units are bought. Tiers that are bought alike keep their places.
 */
export function tierMoves(before: QuotaConfig | undefined, after: QuotaConfig | undefined): TierMoves {
  const [from, to] = [purchasesOf(before), purchasesOf(after)];
  const moves = [...from].flatMap(([purchase, place]) => {
    const now = to.get(purchase);
    return now === undefined || now === place ? [] : [[place, now] as const];
  });
  return new Map(moves);
}

/** The place of each tier whose purchase no other tier shares, by that purchase. */
function purchasesOf(config: QuotaConfig | undefined): ReadonlyMap<string, number> {
  if (config?.kind !== 'limited') return new Map();
  const keys = config.tiers.map((_, place) => purchaseKey(config.rules?.tiers[place] ?? {}));
  const single = keys.flatMap((key, place) =>
    keys.indexOf(key) === keys.lastIndexOf(key) ? [[key, place] as const] : [],
  );
  return new Map(single);
}

const purchaseKey = ({ pricing, reservation }: TierRule): string => JSON.stringify([pricing ?? '', reservation ?? '']);

/** The memory of decisions, with tiers at their present places. */
export function moveMemory(memory: QuotaMemory, moves: TierMoves): QuotaMemory {
  const moved = <T extends { readonly tier: number }>(entry: T): T => ({
    ...entry,
    tier: moves.get(entry.tier) ?? entry.tier,
  });
  return { ...memory, reservations: memory.reservations.map(moved), coolDowns: memory.coolDowns.map(moved) };
}

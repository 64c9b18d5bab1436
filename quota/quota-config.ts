import type { Demand } from '../domain/lease.js';
import type { Pricing } from '../domain/slice.js';
import type { EpochMs, QuotaUnits } from '../domain/units.js';
import type { PriorityFloors } from './pool-limits.js';

/** One project of a quota file. */
export interface QuotaProject {
  /** As written in the file; names are compared without regard to case. */
  readonly name: string;
  /** Shares of the pool by generation, as written: 0.6 is 60 %. */
  readonly shares: Readonly<Record<string, number>>;
  /** Whole units by tier (same order as `tiers`) that the shares come to: see nominal-quota.ts. */
  readonly nominal: readonly QuotaUnits[];
  /** RE2 patterns, full match on the user id. Resolved at submit, never in a decision. */
  readonly members: readonly string[];
}

/** What one quota file divides. Plain JSON. */
export interface LimitedQuota {
  readonly kind: 'limited';
  /** Units by tier, best tier first. */
  readonly tiers: readonly QuotaUnits[];
  readonly projects: readonly QuotaProject[];
  /** Of the pool file; absent: `DEFAULT_RULES`. */
  readonly rules?: PoolRules;
}

/** What a tier's units are bought as. */
export interface TierRule {
  /** Serves jobs that name it or name none; absent: each job's own. */
  readonly pricing?: Pricing;
  /** Full or short name of a Google reservation; with pricing `reserved` only. */
  readonly reservation?: string;
}

/** What a pool file says beside a quota file (docs/pool-file.md, docs/quota.md). Durations in ms, 0 or more. */
export interface PoolRules {
  /** In the order of `tiers`; one that is missing has no rule of its own. */
  readonly tiers: readonly TierRule[];
  /** By zone: units of the largest slice of each type that it can hold. A zone or type that is not named is not bounded. */
  readonly largestSlice: Readonly<Record<string, QuotaUnits>>;
  /** By project, in lower case: units that it may borrow at most, per type over all tiers. Not named: no limit. */
  readonly borrowingLimits: Readonly<Record<string, QuotaUnits>>;
  /** By project, in lower case: units of its nominal quota that others may borrow at most, per type and tier. Not named: all. */
  readonly lendingLimits: Readonly<Record<string, QuotaUnits>>;
  /** A borrowed lease is not preempted before it has held its chips for so long (rule 6). */
  readonly minRuntimeMs: number;
  /** A job that has waited so long gets a reservation (rule 8). */
  readonly agingMs: number;
  /** In-quota demand is held back by reservations for so long at most, all together (rule 8). */
  readonly maxGuaranteeDelayMs: number;
  /** A lease without chips comes back after so long, while anybody waits for them. */
  readonly askingTimeoutMs: number;
  /** The first cool-down of a (type, tier, zone) that gave no chips; it doubles up to `coolDownMaxMs`. */
  readonly coolDownMs: number;
  readonly coolDownMaxMs: number;
  /** Whether a job without a project is refused. */
  readonly requireProject: boolean;
  /** Users who may apply files, freeze, drain, and change priorities of others' jobs; empty: everybody (docs/quota.md, "The verbs"). */
  readonly admins: readonly string[];
  /** Absent: every project may have any priority. */
  readonly priorityFloors?: PriorityFloors;
}

const MINUTE = 60_000;
/** What a pool without settings of its own has. */
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

/** The pool `default` where no quota file is configured. */
export const UNLIMITED: QuotaConfig = { kind: 'unlimited' };
/** What every verdict of an unlimited pool says. */
export const UNLIMITED_NOTE = 'no quota file: the pool is unlimited';

/** The project of those who name none and are members of none: no nominal quota, best effort. */
export const NO_PROJECT = 'none';

/** A job that waits. `id` names the lease it asks for. */
export interface QuotaRequest extends Demand {
  readonly id: string;
  /** When it began to wait for this lease: its aging counts from here. Absent: `submittedAt`. */
  readonly waitingSince?: EpochMs;
}

/**
 * `asking`: granted, its chips are not there yet, or were lost to the provider. `held`: it has them. `draining`: its job let
 * go, or was told to, and its slices are not seen gone. `parked`: its job is paused.
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
  /** How long its chips were held until now, in every phase but paused, in ms; absent: since `startedAt`. */
  readonly heldMs?: number;
  /** Of an asking lease: since when it has no chips; absent: `startedAt`. */
  readonly askingSince?: EpochMs;
  /** Where it asks, or has its slices; absent: not known yet. */
  readonly zone?: string;
  /** Of an asking lease: since it asks, it has asked in each zone that it names, or each has refused it (rule 11). */
  readonly everywhere?: Everywhere;
  /** Granted from a reservation (rule 8). */
  readonly isFromReservation?: boolean;
}

/** Which of so many tiers a lease lies in: one of a tier that the pool no longer has lies in the last. */
export const tierOf = ({ tier }: Pick<QuotaLease, 'tier'>, tiers: number): number => Math.min(tier, tiers - 1);

/** Since when a lease in state `asking` waits for its chips. */
export const askedAt = ({ askingSince, startedAt }: QuotaLease): EpochMs => askingSince ?? startedAt;

/** End of the asking timeout (rule 11). @param lease in state `asking` */
export const askingEndsAt = (lease: QuotaLease, { askingTimeoutMs }: Pick<PoolRules, 'askingTimeoutMs'>): EpochMs =>
  askedAt(lease) + askingTimeoutMs;

/** Of a quota file. */
export const MOST_TIERS = 20;

export const EVERYWHERE = ['asked', 'refused'] as const;
export type Everywhere = (typeof EVERYWHERE)[number];

/** Chips that come free in one tier collect for this request (rule 8). */
export interface Reservation {
  readonly id: string;
  readonly tier: number;
  readonly madeAt: EpochMs;
}

/** A place that gave no chips. A job all of whose zones are cooling down holds no reservation and preempts nobody. */
export interface CoolDown {
  readonly type: string;
  readonly tier: number;
  readonly zone: string;
  /** How often in a row a lease came back from here without chips, 1 or more. */
  readonly failures: number;
  readonly until: EpochMs;
}

/** What a decision has to know of those before it. Plain JSON; bounded by what waits and by what is leased. */
export interface QuotaMemory {
  readonly reservations: readonly Reservation[];
  /** By request: when its reservation was dissolved; its aging counts from there. */
  readonly dissolved: Readonly<Record<string, EpochMs>>;
  /** By in-quota request: for how long it waited for chips before now, and since when it does (rule 8). */
  readonly heldBack: Readonly<Record<string, { readonly ms: number; readonly since?: EpochMs }>>;
  readonly coolDowns: readonly CoolDown[];
  /** In-quota requests for which somebody was preempted: those chips are theirs before any reservation's (rule 7). */
  readonly winners: readonly string[];
}

export const NO_MEMORY: QuotaMemory = { reservations: [], dissolved: {}, heldBack: {}, coolDowns: [], winners: [] };

/** All that a decision is made from, beside the time. The order of `requests` and `leases` does not matter. */
export interface Pool {
  readonly config: QuotaConfig;
  readonly requests: readonly QuotaRequest[];
  readonly leases: readonly QuotaLease[];
  /** Absent: `NO_MEMORY`. */
  readonly memory?: QuotaMemory;
  /** An admin's freeze: nothing new is granted, nothing that runs is touched (rule 10). */
  readonly isFrozen?: boolean;
}

export interface Grant {
  readonly id: string;
  readonly tier: number;
  readonly isFromReservation?: boolean;
}

/** A lease that has to go; it counts until its slices are seen gone. */
export interface Preemption {
  readonly id: string;
  /** The request that its chips are for; with `tier` the lease itself. */
  readonly for: string;
  /**
   * `quota`: a borrower gives lent chips back, with notice. `asking`: it had no chips in time. `parked`: its job is paused. `tier`:
   * it had no chips in time, and its job could have its chips in another tier.
   */
  readonly cause: 'quota' | 'asking' | 'parked' | 'tier';
}

export interface Decision {
  readonly grants: readonly Grant[];
  readonly preemptions: readonly Preemption[];
  readonly memory: QuotaMemory;
  /** When time alone may change the answer: the earliest; absent: never. */
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

/** By the list of a file as it was read: who asks for each of 2,000 projects does not go through all of them each time. */
const byName = new WeakMap<LimitedQuota['projects'], ReadonlyMap<string, QuotaProject>>();

/** Names of projects are compared without regard to case. */
export const projectKey = (name: string): string => name.toLowerCase();

/** Of names of projects those that differ from an earlier one by case only, with that one. */
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

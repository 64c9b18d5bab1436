/**
 * What the rules of docs/quota.md say of one pool at one time, slow and obvious. It shares nothing with quota/ but the shapes
 * of the data: other arithmetic (BigInt), everything laid anew at each question.
 */
import type { EpochMs, QuotaUnits } from '../../../domain/units.js';
import type { LimitedQuota, PoolRules, QuotaLease, QuotaMemory, QuotaRequest } from '../../../quota/quota-config.js';

/** A limited pool with its rules named. */
export interface Facts {
  readonly config: LimitedQuota & { readonly rules: PoolRules };
  readonly requests: readonly QuotaRequest[];
  readonly leases: readonly QuotaLease[];
  readonly memory: QuotaMemory;
  readonly isFrozen?: boolean;
}

export const jobOf = (lease: string): string => lease.slice(0, lease.lastIndexOf('/'));
export const typesOf = (units: QuotaUnits): string[] => Object.keys(units).filter((type) => (units[type] ?? 0) > 0);
export const count = (units: QuotaUnits | undefined, type: string): bigint => BigInt(units?.[type] ?? 0);
export const isOf = (project: string, { project: other }: { readonly project: string }): boolean =>
  project.toLowerCase() === other.toLowerCase();

export function tierOf({ config }: Facts, { tier }: { readonly tier: number }): number {
  return tier < config.tiers.length ? tier : config.tiers.length - 1;
}

export const leasesIn = (facts: Facts, tier: number): QuotaLease[] =>
  facts.leases.filter((lease) => tierOf(facts, lease) === tier);

export function totalOf(all: readonly { readonly units: QuotaUnits }[], type: string): bigint {
  let total = 0n;
  for (const { units } of all) total += count(units, type);
  return total;
}

/** Rule 1: the tier's units less all leases in it, draining ones too; below 0 after a shrink. */
export const free = (facts: Facts, tier: number, type: string): bigint =>
  count(facts.config.tiers[tier], type) - totalOf(leasesIn(facts, tier), type);

export const drainingIn = (facts: Facts, tier: number, type: string): bigint =>
  totalOf(
    leasesIn(facts, tier).filter(({ state }) => state === 'draining'),
    type,
  );

export const fitsFree = (facts: Facts, units: QuotaUnits, tier: number): boolean =>
  typesOf(units).every((type) => count(units, type) <= free(facts, tier, type));

export const canServe = ({ config }: Facts, { pricing }: Pick<QuotaRequest, 'pricing'>, tier: number): boolean => {
  const ofTier = config.rules.tiers[tier]?.pricing;
  return ofTier === undefined || pricing === undefined || pricing === ofTier;
};

export const allTiers = ({ config }: Facts): number[] => config.tiers.map((_, tier) => tier);
export const allowedTiers = (facts: Facts, request: QuotaRequest): number[] =>
  allTiers(facts).filter((tier) => canServe(facts, request, tier));

const nominalOf = ({ config }: Facts, project: string, tier: number): QuotaUnits =>
  config.projects.find(({ name }) => isOf(project, { project: name }))?.nominal[tier] ?? {};

type Laid = Pick<QuotaLease, 'id' | 'priority' | 'startedAt' | 'units' | 'pricing'>;

/** Rule 3: of the leases of a project, and of a request that would start now, those that lie on nominal quota. */
export function onNominal(facts: Facts, project: string, asking?: Laid): Set<string> {
  const lying: Laid[] = facts.leases.filter((one) => isOf(project, one) && one.state !== 'draining');
  // What started in this very moment lies below a request all the same: it was granted before.
  const rank = (one: Laid): number => (one === asking ? Number.POSITIVE_INFINITY : one.startedAt);
  if (asking !== undefined) lying.push(asking);
  lying.sort((a, b) => a.priority - b.priority || compare(rank(a), rank(b)) || compare(a.id, b.id));
  const on: Laid[] = [];
  for (const one of lying) {
    if (typesOf(one.units).every((type) => canBeSplit(facts, project, [...on, one], type))) on.push(one);
  }
  return new Set(on.map(({ id }) => id));
}

/**
 * Whether there is a way to lay all of these on the project's quota of the tiers that each may use, a unit here and a unit there:
 * by Hall's theorem, if no set of tiers has less than all those together who may use no other.
 */
function canBeSplit(facts: Facts, project: string, all: readonly Laid[], type: string): boolean {
  return setsOf(allTiers(facts)).every((tiers) => {
    const bound = all.filter((one) => allTiers(facts).every((tier) => tiers.has(tier) || !canServe(facts, one, tier)));
    let has = 0n;
    for (const tier of tiers) has += count(nominalOf(facts, project, tier), type);
    return totalOf(bound, type) <= has;
  });
}

const setsOf = (tiers: readonly number[]): Set<number>[] =>
  tiers.reduce<Set<number>[]>((sets, tier) => [...sets, ...sets.map((set) => new Set([...set, tier]))], [new Set()]);

const compare = <Value extends number | string>(a: Value, b: Value): number => (a < b ? -1 : a > b ? 1 : 0);

/** Rule 3: its project's quota of all tiers that it may use covers it. */
export const isCovered = (facts: Facts, request: QuotaRequest, now: EpochMs): boolean =>
  onNominal(facts, request.project, { ...request, startedAt: now }).has(request.id);

/**
 * Rule 3: it is covered, and has room in the tier beside all that lies on nominal quota once it does. Where it is not at home it
 * leaves what others do not lend.
 */
export const isInQuota = (facts: Facts, request: QuotaRequest, tier: number, now: EpochMs): boolean =>
  canServe(facts, request, tier) &&
  isCovered(facts, request, now) &&
  typesOf(request.units).every((type) => {
    const beside = onNominalIn(facts, tier, { ...request, startedAt: now });
    const kept = isHome(facts, request, tier, now) ? 0n : keptForOthers(facts, request.project, tier, type);
    return count(request.units, type) + totalOf(beside, type) + kept <= count(facts.config.tiers[tier], type);
  });

/** The leases of all projects in one tier that lie on nominal quota when one more asks. */
function onNominalIn(facts: Facts, tier: number, asking: QuotaRequest & Laid): QuotaLease[] {
  return leasesIn(facts, tier).filter((lease) =>
    onNominal(facts, lease.project, isOf(lease.project, asking) ? asking : undefined).has(lease.id),
  );
}

/** Rule 4: tiers of which its project has quota of that very tier left come first. */
export function homeFirst(facts: Facts, request: QuotaRequest, tiers: readonly number[], now: EpochMs): number[] {
  const at = (tier: number): boolean => isHome(facts, request, tier, now);
  return [...tiers.filter(at), ...tiers.filter((tier) => !at(tier))];
}

/** Its project has quota of that very tier left for it. */
function isHome(facts: Facts, request: QuotaRequest, tier: number, now: EpochMs): boolean {
  const lies = onNominal(facts, request.project, { ...request, startedAt: now });
  const before = leasesIn(facts, tier).filter((one) => lies.has(one.id) && one.priority <= request.priority);
  const own = before.filter((one) => isOf(request.project, one));
  return typesOf(request.units).every(
    (type) => count(request.units, type) + totalOf(own, type) <= count(nominalOf(facts, request.project, tier), type),
  );
}

export const inQuotaTiers = (facts: Facts, request: QuotaRequest, now: EpochMs): number[] =>
  allTiers(facts).filter((tier) => isInQuota(facts, request, tier, now));

export const heldFor = (lease: QuotaLease, now: EpochMs): number => lease.heldMs ?? now - lease.startedAt;

/** Rule 6: what may not be preempted by quota, though it is borrowed. */
export function isProtected({ config: { rules } }: Facts, lease: QuotaLease, now: EpochMs): boolean {
  const { state = 'held' } = lease;
  if (state === 'held') return heldFor(lease, now) < rules.minRuntimeMs;
  return state === 'asking' && lease.isFromReservation === true && now - lease.startedAt < rules.askingTimeoutMs;
}

/** Rule 6: leases of a tier that are borrowed once the request is laid, in the order in which they are taken. */
export function borrowedBeside(facts: Facts, request: QuotaRequest, tier: number, now: EpochMs): QuotaLease[] {
  const rank = { asking: 0, parked: 1, held: 2, draining: 3 } as const;
  return leasesIn(facts, tier)
    .filter((lease) => {
      if (lease.state === 'draining') return false;
      const asking = isOf(lease.project, request) ? { ...request, startedAt: now } : undefined;
      return !onNominal(facts, lease.project, asking).has(lease.id);
    })
    .sort(
      (a, b) =>
        rank[a.state ?? 'held'] - rank[b.state ?? 'held'] ||
        b.priority - a.priority ||
        b.startedAt - a.startedAt ||
        compare(a.id, b.id),
    );
}

/** Units of a type that the project has borrowed, over all tiers. */
export function borrowedBy(facts: Facts, project: string, type: string): bigint {
  const lies = onNominal(facts, project);
  const own = facts.leases.filter((one) => isOf(project, one) && one.state !== 'draining');
  return totalOf(
    own.filter(({ id }) => !lies.has(id)),
    type,
  );
}

const limitOf = (limits: Readonly<Record<string, QuotaUnits>>, project: string, type: string): bigint | undefined => {
  const limit = limits[project.toLowerCase()]?.[type];
  return limit === undefined ? undefined : BigInt(limit);
};

/** Rule 4: whether a borrower of these units would stay within its project's borrowing limit. */
export const isWithinBorrowingLimit = (facts: Facts, request: QuotaRequest): boolean =>
  typesOf(request.units).every((type) => {
    const limit = limitOf(facts.config.rules.borrowingLimits, request.project, type);
    return limit === undefined || borrowedBy(facts, request.project, type) + count(request.units, type) <= limit;
  });

export const nominalOfAll = (facts: Facts, project: string, type: string): bigint =>
  allTiers(facts).reduce((sum, tier) => sum + count(nominalOf(facts, project, tier), type), 0n);

/** Rule 4: units of a type that other projects do not lend and do not use. */
export function keptForOthers(facts: Facts, project: string, tier: number, type: string): bigint {
  let kept = 0n;
  for (const { name } of facts.config.projects) {
    const limit = limitOf(facts.config.rules.lendingLimits, name, type);
    if (limit === undefined || isOf(project, { project: name })) continue;
    const lies = onNominal(facts, name);
    const lying = facts.leases.filter((one) => lies.has(one.id));
    const here = lying.filter((one) => tierOf(facts, one) === tier);
    const leftHere = count(nominalOf(facts, name, tier), type) - totalOf(here, type);
    const left = nominalOfAll(facts, name, type) - totalOf(lying, type);
    const own = (leftHere < left ? leftHere : left) - limit;
    if (own > 0n) kept += own;
  }
  return kept;
}

export const isWithinLendingLimits = (facts: Facts, request: QuotaRequest, tier: number): boolean =>
  typesOf(request.units).every(
    (type) => free(facts, tier, type) - count(request.units, type) >= keptForOthers(facts, request.project, tier, type),
  );

/** All of the request's zones cool down in the tier for one of its types. */
export function coolsDown({ memory }: Facts, request: QuotaRequest, tier: number, now: EpochMs): boolean {
  const zones = request.zones ?? [];
  if (zones.length === 0) return false;
  const isCold = (type: string, zone: string): boolean =>
    memory.coolDowns.some((one) => one.type === type && one.tier === tier && one.zone === zone && one.until > now);
  return typesOf(request.units).some((type) => zones.every((zone) => isCold(type, zone)));
}

/** An asking lease that comes back if somebody waits for its chips. */
export function hasAskedTooLong({ config: { rules } }: Facts, lease: QuotaLease, now: EpochMs): boolean {
  if (lease.state !== 'asking') return false;
  if (lease.isFromReservation === true && now - lease.startedAt < rules.askingTimeoutMs) return false;
  return now - (lease.askingSince ?? lease.startedAt) >= rules.askingTimeoutMs;
}

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

export const canServe = ({ config }: Facts, { pricing }: QuotaRequest, tier: number): boolean => {
  const ofTier = config.rules.tiers[tier]?.pricing;
  return ofTier === undefined || pricing === undefined || pricing === ofTier;
};

export const allTiers = ({ config }: Facts): number[] => config.tiers.map((_, tier) => tier);
export const allowedTiers = (facts: Facts, request: QuotaRequest): number[] =>
  allTiers(facts).filter((tier) => canServe(facts, request, tier));

const nominalOf = ({ config }: Facts, project: string, tier: number): QuotaUnits =>
  config.projects.find(({ name }) => isOf(project, { project: name }))?.nominal[tier] ?? {};

type Laid = Pick<QuotaLease, 'id' | 'priority' | 'startedAt' | 'units'>;

/** Rule 3: of the leases of a project in a tier, and of a request that would start now, those that lie on nominal quota. */
export function onNominal(facts: Facts, project: string, tier: number, asking?: Laid): Set<string> {
  const lying: Laid[] = leasesIn(facts, tier).filter((one) => isOf(project, one) && one.state !== 'draining');
  // What started in this very moment lies below a request all the same: it was granted before.
  const rank = (one: Laid): number => (one === asking ? Number.POSITIVE_INFINITY : one.startedAt);
  if (asking !== undefined) lying.push(asking);
  lying.sort((a, b) => a.priority - b.priority || compare(rank(a), rank(b)) || compare(a.id, b.id));
  const left = new Map(typesOf(nominalOf(facts, project, tier)).map((type) => [type, 0n]));
  for (const type of left.keys()) left.set(type, count(nominalOf(facts, project, tier), type));
  const lies = new Set<string>();
  for (const { id, units } of lying) {
    if (!typesOf(units).every((type) => count(units, type) <= (left.get(type) ?? 0n))) continue;
    lies.add(id);
    for (const type of typesOf(units)) left.set(type, (left.get(type) ?? 0n) - count(units, type));
  }
  return lies;
}

const compare = <Value extends number | string>(a: Value, b: Value): number => (a < b ? -1 : a > b ? 1 : 0);

export const isInQuota = (facts: Facts, request: QuotaRequest, tier: number, now: EpochMs): boolean =>
  canServe(facts, request, tier) &&
  onNominal(facts, request.project, tier, { ...request, startedAt: now }).has(request.id);

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
      return !onNominal(facts, lease.project, tier, asking).has(lease.id);
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
  let total = 0n;
  for (const tier of allTiers(facts)) {
    const lies = onNominal(facts, project, tier);
    const own = leasesIn(facts, tier).filter((one) => isOf(project, one) && one.state !== 'draining');
    total += totalOf(
      own.filter(({ id }) => !lies.has(id)),
      type,
    );
  }
  return total;
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

/** Rule 4: units of a type that other projects do not lend and do not use. */
export function keptForOthers(facts: Facts, project: string, tier: number, type: string): bigint {
  let kept = 0n;
  for (const { name } of facts.config.projects) {
    const limit = limitOf(facts.config.rules.lendingLimits, name, type);
    if (limit === undefined || isOf(project, { project: name })) continue;
    const lies = onNominal(facts, name, tier);
    const used = totalOf(
      leasesIn(facts, tier).filter((one) => lies.has(one.id)),
      type,
    );
    const own = count(nominalOf(facts, name, tier), type) - limit - used;
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

import type { EpochMs } from '../../../domain/units.js';
import type { QuotaLease, QuotaRequest } from '../../../quota/quota-config.js';
import {
  allowedTiers,
  borrowedBeside,
  coolsDown,
  count,
  drainingIn,
  fitsFree,
  free,
  hasAskedTooLong,
  homeFirst,
  inQuotaTiers,
  isCovered,
  isProtected,
  isWithinBorrowingLimit,
  isWithinLendingLimits,
  jobOf,
  tierOf,
  totalOf,
  typesOf,
} from './oracle.js';
import type { Facts } from './oracle.js';

/** What the rules promise the only request of a pool. */
export type Promised =
  | { readonly kind: 'granted'; readonly tier: number }
  /** `victims` in the order in which they are taken; of them enough, and none that is not needed. */
  | { readonly kind: 'evicts'; readonly tier: number; readonly victims: readonly QuotaLease[] }
  | { readonly kind: 'waits' };

/** Leases that come back because they asked too long, while the request goes on waiting and could use their chips. */
export function comesBack(facts: Facts, request: QuotaRequest, now: EpochMs): QuotaLease[] {
  if (facts.isFrozen || freePlace(facts, request, now) !== undefined) return [];
  return facts.leases.filter((lease) => {
    const tier = tierOf(facts, lease);
    const couldUse =
      allowedTiers(facts, request).includes(tier) &&
      typesOf(request.units).every((type) => count(request.units, type) <= count(facts.config.tiers[tier], type)) &&
      typesOf(request.units).some((type) => count(lease.units, type) > 0n) &&
      !coolsDown(facts, request, tier, now);
    return hasAskedTooLong(facts, lease, now) && couldUse && jobOf(lease.id) !== jobOf(request.id);
  });
}

/** The pool once they drain. */
export function afterComingBack(facts: Facts, request: QuotaRequest, now: EpochMs): Facts {
  const back = new Set(comesBack(facts, request, now).map(({ id }) => id));
  return {
    ...facts,
    leases: facts.leases.map((one): QuotaLease => (back.has(one.id) ? { ...one, state: 'draining' } : one)),
  };
}

/** Rule 4: where it is in quota, its project's own tiers first; who is not covered borrows in any allowed tier, within limits. */
function freePlace(facts: Facts, request: QuotaRequest, now: EpochMs): number | undefined {
  const own = homeFirst(facts, request, inQuotaTiers(facts, request, now), now);
  const borrows = (tier: number): boolean =>
    (isCovered(facts, request, now) || isWithinBorrowingLimit(facts, request)) &&
    isWithinLendingLimits(facts, request, tier);
  const places = [...own, ...allowedTiers(facts, request).filter((tier) => !own.includes(tier) && borrows(tier))];
  return places.find((tier) => fitsFree(facts, request.units, tier));
}

/** Rules 3, 4, 6 and 7 for a pool in which one job waits, and nothing cools down. */
export function promiseTo(facts: Facts, request: QuotaRequest, now: EpochMs): Promised {
  if (facts.isFrozen) return { kind: 'waits' };
  const place = freePlace(facts, request, now);
  if (place !== undefined) return { kind: 'granted', tier: place };
  const seen = afterComingBack(facts, request, now);
  const own = homeFirst(seen, request, inQuotaTiers(seen, request, now), now);
  if (own.some((tier) => lacking(seen, request, tier).length === 0)) return { kind: 'waits' };
  for (const tier of own) {
    const victims = candidates(seen, request, tier, now);
    if (suffices(seen, request, tier, victims)) return { kind: 'evicts', tier, victims };
  }
  return { kind: 'waits' };
}

/** Types of which what is free and what drains together is too little. */
function lacking(facts: Facts, { units }: QuotaRequest, tier: number): string[] {
  return typesOf(units).filter((type) => count(units, type) > free(facts, tier, type) + drainingIn(facts, tier, type));
}

export function candidates(facts: Facts, request: QuotaRequest, tier: number, now: EpochMs): QuotaLease[] {
  const types = lacking(facts, request, tier);
  return borrowedBeside(facts, request, tier, now).filter(
    (lease) => !isProtected(facts, lease, now) && types.some((type) => count(lease.units, type) > 0n),
  );
}

/** Whether the request fits into what is free, what drains, and the victims' chips. */
export function suffices(facts: Facts, { units }: QuotaRequest, tier: number, victims: readonly QuotaLease[]): boolean {
  return typesOf(units).every(
    (type) => count(units, type) <= free(facts, tier, type) + drainingIn(facts, tier, type) + totalOf(victims, type),
  );
}

/** Rule 6: in order until enough, then, from the last taken on, each that is not needed stays. */
export function taken(
  facts: Facts,
  request: QuotaRequest,
  tier: number,
  victims: readonly QuotaLease[],
): readonly QuotaLease[] {
  const enough = victims.findIndex((_, index) => suffices(facts, request, tier, victims.slice(0, index + 1)));
  let kept = victims.slice(0, enough + 1);
  for (const victim of kept.toReversed()) {
    const without = kept.filter(({ id }) => id !== victim.id);
    if (suffices(facts, request, tier, without)) kept = without;
  }
  return kept;
}

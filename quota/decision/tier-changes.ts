import type { EpochMs } from '../../domain/units.js';
import { askedAt, askingEndsAt, tierOf } from '../quota-config.js';
import type { Preemption, QuotaLease } from '../quota-config.js';
import type { PassState } from './pass-state.js';
import { compareIds } from './time-order.js';

/**
 * Rule 11 if no other job waits for a lease's chips: a lease that has asked in all of its zones in vain is returned if its job
 * gets free chips in another tier instead (docs/adr/0114). Only the one that has asked longest is returned in a pass, because the
 * next one's chips depend on it.
 * @param grantsWithout the grants of a pass after that lease was returned and its job asked anew
 */
export function leaseForOtherTier(
  state: PassState,
  leases: readonly QuotaLease[],
  grantsWithout: (lease: QuotaLease) => PassState['grants'],
): readonly Preemption[] {
  const due = leases.filter((lease) => isDue(lease, state) && mightBeElsewhere(lease, state));
  due.sort((a, b) => askedAt(a) - askedAt(b) || compareIds(a.id, b.id));
  const ownTier = (lease: QuotaLease): number => tierOf(lease, state.config.tiers.length);
  const found = due
    .slice(0, MOST_LOOKED_AT)
    .find((lease) => grantsWithout(lease).some(({ id, tier }) => id === lease.id && tier !== ownTier(lease)));
  return found === undefined ? [] : [tierChangeOf(found)];
}

export const tierChangeOf = ({ id }: QuotaLease): Preemption => ({ id, for: id, cause: 'tier' });

/** Most leases that are tried in a pass; each costs another pass. */
const MOST_LOOKED_AT = 4;

/** Times at which time alone may move a lease to another tier. */
export function tierChangeTimes(state: PassState, leases: readonly QuotaLease[]): readonly EpochMs[] {
  return leases.flatMap((lease) => {
    if (lease.state !== 'asking' || lease.everywhere === undefined) return [];
    const { tiers, coolingUntil } = state.shapes.of(lease);
    return tiers.length < 2 ? [] : [dueAt(lease, state), ...coolingUntil.values()];
  });
}

function isDue(lease: QuotaLease, state: PassState): boolean {
  return lease.state === 'asking' && lease.everywhere !== undefined && dueAt(lease, state) <= state.now;
}

/** A lease that was refused everywhere has its answer already. */
const dueAt = (lease: QuotaLease, { rules }: PassState): EpochMs =>
  lease.everywhere === 'refused' ? askedAt(lease) : askingEndsAt(lease, rules);

/** The cheap half of the check: another tier has room at all. */
function mightBeElsewhere(lease: QuotaLease, state: PassState): boolean {
  const shape = state.shapes.of(lease);
  const own = tierOf(lease, state.config.tiers.length);
  return shape.tiers.some((tier) => tier !== own && !shape.coolingUntil.has(tier) && state.room.isFree(shape, tier));
}

import type { EpochMs } from '../../domain/units.js';
import { askingEndsAt, tierOf, type Preemption, type QuotaLease, askedAt } from '../quota-config.js';
import type { PassState } from './pass-state.js';
import type { Shape } from './shapes.js';
import { compareIds, inTimeOrder } from './time-order.js';
import { isAnyWaiting, isWaiting, type WaitingRequest } from './waiting.js';
import type { HoldBacks, Reservations } from './reservations.js';
import { protectedUntil } from './candidates.js';

/**
 * Rule 11: an asking lease whose timeout is over is returned to the pool if a request of another job still waits after this
 * pass, could use its chips, and is not on cool-down there.
 */
export function timedOutLeases(state: PassState, leases: readonly QuotaLease[]): readonly Preemption[] {
  const due = leases.filter((lease) => lease.state === 'asking' && askingEndsAt(lease, state.rules) <= state.now);
  if (due.length === 0) return [];
  due.sort((a, b) => askingEndsAt(a, state.rules) - askingEndsAt(b, state.rules) || compareIds(a.id, b.id));
  const wanting = inTimeOrder(state.waiting.filter(isWaiting));
  return due.flatMap((lease) => {
    const wants = wanting.find((waiting) =>
      couldUse(waiting, state.shapes.of(lease), lease, state.config.tiers.length),
    );
    return wants === undefined ? [] : [{ id: lease.id, for: wants.request.id, cause: 'asking' as const }];
  });
}

function couldUse(
  { request, kind: { shape } }: WaitingRequest,
  asking: Shape,
  lease: QuotaLease,
  tiers: number,
): boolean {
  const tier = tierOf(lease, tiers);
  if (!shape.tiers.includes(tier) || shape.coolingUntil.has(tier)) return false;
  return shape.types.some((type) => asking.types.includes(type)) && jobOf(request.id) !== jobOf(lease.id);
}

/** The job and run of a lease key (job/run/number). Any other id stands for a job. */
const jobOf = (id: string): string => id.replace(/\/\d+$/, '');

/** Earliest time at which the decision may change without a change of facts. */
export function nextAt(
  state: PassState,
  leases: readonly QuotaLease[],
  reservations: Reservations,
  holdBacks: HoldBacks,
): EpochMs | undefined {
  const earliest = new Earliest(state.now);
  for (const time of tierChangeTimes(state, leases)) earliest.add(time);
  const kinds = state.kinds.filter(isAnyWaiting);
  if (kinds.length === 0) return earliest.time;
  const isInQuotaWaiting = kinds.some(({ inQuota }) => inQuota.length > 0);
  for (const lease of leases) {
    if (lease.state === 'asking') earliest.add(askingEndsAt(lease, state.rules));
    if (isInQuotaWaiting) earliest.add(protectedUntil(lease, state.rules, state.now));
  }
  for (const kind of kinds) {
    for (const until of kind.shape.coolingUntil.values()) earliest.add(until);
    if (!reservations.hasPlaceFor(kind)) continue;
    for (let each = kind.last; each !== undefined; each = each.before) {
      if (isWaiting(each)) earliest.add(reservations.agedAt(each));
    }
  }
  for (const reservation of reservations.memory().reservations) earliest.add(reservations.endOf(reservation));
  for (const { request } of holdBacks.running()) earliest.add(holdBacks.until(request.id));
  return earliest.time;
}

/** Minimum of the times after `now`. */
class Earliest {
  time: EpochMs | undefined;
  readonly #now: EpochMs;

  constructor(now: EpochMs) {
    this.#now = now;
  }

  add(time: EpochMs | undefined): void {
    if (time !== undefined && time > this.#now && (this.time === undefined || time < this.time)) this.time = time;
  }
}

/**
 * Rule 11 if no other job waits for a lease's chips: a lease that has asked in all of its zones in vain is returned if its job
 * then gets free chips in another tier (docs/adr/0114). A pass returns only the lease that has asked longest, because the next
 * one's chips depend on it.
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
function tierChangeTimes(state: PassState, leases: readonly QuotaLease[]): readonly EpochMs[] {
  return leases.flatMap((lease) => {
    if (lease.state !== 'asking' || lease.everywhere === undefined) return [];
    const { tiers, coolingUntil } = state.shapes.of(lease);
    return tiers.length < 2 ? [] : [dueAt(lease, state), ...coolingUntil.values()];
  });
}

function isDue(lease: QuotaLease, state: PassState): boolean {
  return lease.state === 'asking' && lease.everywhere !== undefined && dueAt(lease, state) <= state.now;
}

/** Time from which the lease may change its tier: at once if every zone refused it, else the end of its asking timeout. */
const dueAt = (lease: QuotaLease, { rules }: PassState): EpochMs =>
  lease.everywhere === 'refused' ? askedAt(lease) : askingEndsAt(lease, rules);

/** The cheap half of the check: whether another tier has room at all. */
function mightBeElsewhere(lease: QuotaLease, state: PassState): boolean {
  const shape = state.shapes.of(lease);
  const own = tierOf(lease, state.config.tiers.length);
  return shape.tiers.some((tier) => tier !== own && !shape.coolingUntil.has(tier) && state.room.isFree(shape, tier));
}

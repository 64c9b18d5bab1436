import type { EpochMs } from '../../domain/units.js';
import type { PassState } from './pass-state.js';
import { askingEndsAt, tierOf } from '../quota-config.js';
import type { Preemption, QuotaLease } from '../quota-config.js';
import type { Shape } from './shapes.js';
import { compareIds, inTimeOrder } from './time-order.js';
import { isAnyWaiting, isWaiting } from './waiting.js';
import type { WaitingRequest } from './waiting.js';
import type { HoldBacks } from './hold-backs.js';
import type { Reservations } from './reservations.js';
import { protectedUntil } from './candidates.js';
import { tierChangeTimes } from './tier-changes.js';

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

import type { EpochMs } from '../../domain/units.js';
import { askingEndsAt } from './came-back.js';
import type { HoldBacks } from './hold-backs.js';
import type { PassState } from './pass-state.js';
import type { QuotaLease } from '../quota-config.js';
import type { Reservations } from './reservations.js';
import { protectedUntil } from './victims.js';
import { isAnyWaiting, isWaiting } from './waiting.js';

/** When time alone may change the answer: the earliest; undefined where nobody waits. */
export function nextAt(
  state: PassState,
  leases: readonly QuotaLease[],
  reservations: Reservations,
  holdBacks: HoldBacks,
): EpochMs | undefined {
  const kinds = state.kinds.filter(isAnyWaiting);
  if (kinds.length === 0) return undefined;
  const earliest = new Earliest(state.now);
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

/** Of times after `now`. */
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

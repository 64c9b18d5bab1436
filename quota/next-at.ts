import type { EpochMs } from '../domain/units.js';
import { askingEndsAt } from './came-back.js';
import type { HoldBacks } from './hold-backs.js';
import type { PassState } from './pass-state.js';
import type { QuotaLease } from './quota-config.js';
import type { Reservations } from './reservations.js';
import { protectedUntil } from './victims.js';
import type { Waiting } from './waiting.js';

/** When time alone may change the answer: the earliest; undefined where nobody waits. */
export function nextAt(
  state: PassState,
  leases: readonly QuotaLease[],
  reservations: Reservations,
  holdBacks: HoldBacks,
): EpochMs | undefined {
  const waiting = state.waiting.filter(({ served }) => served?.kind !== 'granted');
  if (waiting.length === 0) return undefined;
  const isInQuotaWaiting = waiting.some(({ kind }) => kind.inQuota.length > 0);
  const times = [
    ...leases.flatMap((lease) => endsOf(lease, isInQuotaWaiting, state)),
    ...waiting.flatMap((each) => endsOfWaiting(each, reservations)),
    ...reservations.memory().reservations.map((reservation) => reservations.endOf(reservation)),
    ...[...holdBacks.heldBack()].map(({ request }) => holdBacks.until(request.id)),
  ];
  return earliestAfter(state.now, times);
}

/** Minimum runtime, and asking timeout. */
function endsOf(lease: QuotaLease, isInQuotaWaiting: boolean, { rules, now }: PassState): readonly EpochMs[] {
  const asking = lease.state === 'asking' ? [askingEndsAt(lease, rules)] : [];
  const until = isInQuotaWaiting ? protectedUntil(lease, rules, now) : undefined;
  return until === undefined ? asking : [...asking, until];
}

/** Cool-downs, and the aging time where a reservation could be made. */
function endsOfWaiting(waiting: Waiting, reservations: Reservations): readonly EpochMs[] {
  const { kind } = waiting;
  const cooling = kind.shape.coolingUntil.size === 0 ? [] : [...kind.shape.coolingUntil.values()];
  return reservations.hasPlaceFor(kind) ? [...cooling, reservations.agedAt(waiting)] : cooling;
}

function earliestAfter(now: EpochMs, times: readonly EpochMs[]): EpochMs | undefined {
  let earliest: EpochMs | undefined;
  for (const time of times) if (time > now && (earliest === undefined || time < earliest)) earliest = time;
  return earliest;
}

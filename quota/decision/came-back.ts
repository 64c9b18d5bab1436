import type { EpochMs } from '../../domain/units.js';
import type { PassState } from './pass-state.js';
import type { PoolRules, Preemption, QuotaLease } from '../quota-config.js';
import type { Shape } from './shapes.js';
import { inTimeOrder } from './time-order.js';
import { isWaiting } from './waiting.js';
import type { Waiting } from './waiting.js';

/** When the time of an asking lease is up; one from a reservation has its whole first timeout. */
export function askingEndsAt(lease: QuotaLease, { askingTimeoutMs }: PoolRules): EpochMs {
  const since = lease.isFromReservation === true ? lease.startedAt : (lease.askingSince ?? lease.startedAt);
  return Math.max(since, lease.askingSince ?? lease.startedAt) + askingTimeoutMs;
}

/**
 * Rule 11: asking leases whose time is up come back if somebody of another job goes on waiting after this pass who could use
 * their chips, and does not cool down there.
 */
export function comingBack(state: PassState, leases: readonly QuotaLease[]): readonly Preemption[] {
  const due = leases.filter((lease) => lease.state === 'asking' && askingEndsAt(lease, state.rules) <= state.now);
  if (due.length === 0) return [];
  due.sort((a, b) => askingEndsAt(a, state.rules) - askingEndsAt(b, state.rules) || (a.id < b.id ? -1 : 1));
  const wanting = inTimeOrder(state.waiting.filter(isWaiting));
  return due.flatMap((lease) => {
    const wants = wanting.find((waiting) =>
      couldUse(waiting, state.shapes.of(lease), lease, state.config.tiers.length),
    );
    return wants === undefined ? [] : [{ id: lease.id, for: wants.request.id, cause: 'asking' as const }];
  });
}

function couldUse({ request, kind: { shape } }: Waiting, asking: Shape, lease: QuotaLease, tiers: number): boolean {
  const tier = Math.min(lease.tier, tiers - 1);
  if (!shape.tiers.includes(tier) || shape.coolingUntil.has(tier)) return false;
  return shape.types.some((type) => asking.types.includes(type)) && jobOf(request.id) !== jobOf(lease.id);
}

/** Of a lease key (job/run/number); any other id is its own job. */
const jobOf = (id: string): string => id.replace(/\/\d+$/, '');

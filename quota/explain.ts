import { addUnits } from '../domain/units.js';
import type { EpochMs, QuotaUnits } from '../domain/units.js';
import { inServiceOrder } from './decide.js';
import { PoolUse } from './pool-use.js';
import { UNLIMITED_NOTE } from './quota-config.js';
import type { QuotaConfig, QuotaLease, QuotaRequest } from './quota-config.js';
import { formatUnits, unitsOf } from './quota-units.js';

/** Where a waiting job stands, 1 = first in line; undefined if `id` does not wait. `now` is kept for aging. */
export function position(
  config: QuotaConfig,
  requests: readonly QuotaRequest[],
  leases: readonly QuotaLease[],
  _now: EpochMs,
  id: string,
): number | undefined {
  const line = inLine(config, requests, leases);
  const index = line.findIndex((request) => request.id === id);
  return index === -1 ? undefined : index + 1;
}

/** The waiting jobs in the order in which `decide` looks at them: in-quota demand first. */
export function inLine<Request extends QuotaRequest>(
  config: QuotaConfig,
  requests: readonly Request[],
  leases: readonly QuotaLease[],
): Request[] {
  const waiting = requests.toSorted(inServiceOrder);
  if (config.kind === 'unlimited') return waiting;
  const pool = new PoolUse(config, leases);
  const isInQuota = (request: Request): boolean => config.tiers.some((_, tier) => pool.isInQuota(request, tier));
  const first = new Set(waiting.filter(isInQuota));
  return [...first, ...waiting.filter((request) => !first.has(request))];
}

/**
 * One sentence on why a job waits: `16 v5litepod asked, 8 of 32 free in the pool; 2nd in line`. Undefined if `id` does
 * not wait.
 */
export function explainWaiting(
  config: QuotaConfig,
  requests: readonly QuotaRequest[],
  leases: readonly QuotaLease[],
  now: EpochMs,
  id: string,
): string | undefined {
  const request = requests.find((candidate) => candidate.id === id);
  const place = position(config, requests, leases, now, id);
  if (request === undefined || place === undefined) return undefined;
  if (config.kind === 'unlimited') return `${formatUnits(request.units)} asked; ${UNLIMITED_NOTE}`;
  const free = new PoolUse(config, leases).free();
  const total = config.tiers.reduce(addUnits, {});
  return `${formatUnits(request.units)} asked, ${formatFree(request.units, free, total)}; ${ordinal(place)} in line`;
}

function formatFree(asked: QuotaUnits, free: QuotaUnits, total: QuotaUnits): string {
  const types = Object.keys(asked);
  const parts = types.map((type) => {
    const ofType = types.length === 1 ? '' : ` ${type}`;
    return `${Math.max(0, unitsOf(free, type))} of ${unitsOf(total, type)}${ofType} free`;
  });
  return `${parts.join(', ')} in the pool`;
}

/** 1st, 2nd, 3rd, 4th, .. 11th, .. 21st. */
export function ordinal(place: number): string {
  const isTeen = place % 100 >= 11 && place % 100 <= 13;
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][place % 10] ?? 'th');
  return `${place}${ending}`;
}

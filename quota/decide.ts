import type { EpochMs, QuotaUnits } from '../domain/units.js';
import { PoolUse } from './pool-use.js';
import { NO_MEMORY } from './quota-config.js';
import type { Decision, Grant, LimitedQuota, Pool, QuotaConfig, QuotaRequest } from './quota-config.js';
import { isWithin } from './quota-units.js';

/**
 * Which waiting jobs get their units now. Pure and exact; the order of `requests` and `leases` does not matter.
 * A gang gets all of its units, in one tier, or none; all leases of a tier together never exceed it through a grant; a
 * lease counts until it is no longer passed in. In-quota demand comes before best effort, inside by `inServiceOrder`, and
 * whatever does not fit is passed over. Nobody is preempted: a pool that was shrunk drains as leases end.
 * @param now the grants' start
 */
export function decide({ config, requests, leases, memory = NO_MEMORY }: Pool, now: EpochMs): Decision {
  const waiting = requests.toSorted(inServiceOrder);
  if (config.kind === 'unlimited') {
    return { grants: waiting.map(({ id }) => ({ id, tier: 0 })), preemptions: [], memory };
  }
  const pool = new PoolUse(config, leases);
  const grants: Grant[] = [];
  const grantWhere = (canLieIn: (request: QuotaRequest, tier: number) => boolean) => (request: QuotaRequest) => {
    const tier = config.tiers.findIndex((_, index) => pool.hasRoom(request.units, index) && canLieIn(request, index));
    if (tier === -1) return true;
    grants.push({ id: request.id, tier });
    pool.grant({ ...request, tier, startedAt: now });
    return false;
  };
  const bestEffort = waiting.filter(grantWhere((request, tier) => pool.isInQuota(request, tier)));
  bestEffort.forEach(grantWhere(() => true));
  return { grants, preemptions: [], memory };
}

/** Whether some tier could hold the whole gang if the pool were empty; else why not, in one sentence. */
export function canEverFit(
  config: QuotaConfig,
  units: QuotaUnits,
): { readonly fits: true } | { readonly fits: false; readonly message: string } {
  if (config.kind === 'unlimited' || config.tiers.some((tier) => isWithin(units, tier))) return { fits: true };
  const sentences = Object.entries(units).flatMap(([type, asked]) => {
    const largest = Math.max(0, ...config.tiers.map((tier) => tier[type] ?? 0));
    if (asked <= largest) return [];
    if (largest === 0) return [`the pool has no ${type} (it has ${poolTypes(config).join(', ') || 'nothing'})`];
    const where = config.tiers.length === 1 ? 'the pool' : 'its largest tier';
    return [`${asked} ${type} asked, ${where} has ${largest}`];
  });
  const message = sentences.join('; ') || 'no tier of the pool has all of the types asked for';
  return { fits: false, message: `can never start: ${message}` };
}

function poolTypes(config: LimitedQuota): string[] {
  return [...new Set(config.tiers.flatMap((tier) => Object.keys(tier)))].sort();
}

/** Priority, submit time, id: the last is arbitrary but fixed. */
export function inServiceOrder(a: QuotaRequest, b: QuotaRequest): number {
  return a.priority - b.priority || a.submittedAt - b.submittedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

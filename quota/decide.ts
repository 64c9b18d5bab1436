import { addUnits } from '../domain/units.js';
import type { EpochMs, QuotaUnits } from '../domain/units.js';
import { inLayingOrder, nominalLeft } from './nominal-quota.js';
import { findProject } from './quota-config.js';
import type { Grant, QuotaConfig, QuotaLease, QuotaRequest } from './quota-config.js';
import { isWithin, subtractUnits } from './quota-units.js';

type Limited = Extract<QuotaConfig, { kind: 'limited' }>;

/**
 * Which waiting jobs get their units now. Pure and exact; the order of `requests` and `leases` does not matter.
 * A gang gets all of its units, in one tier, or none; all leases of a tier together never exceed it through a grant; a
 * lease counts until it is no longer passed in. In-quota demand comes before best effort, inside by `inServiceOrder`, and
 * whatever does not fit is passed over. Nobody is preempted: a pool that was shrunk drains as leases end.
 * @param now the grants' start
 */
export function decide(
  config: QuotaConfig,
  requests: readonly QuotaRequest[],
  leases: readonly QuotaLease[],
  now: EpochMs,
): { readonly grants: readonly Grant[] } {
  const waiting = requests.toSorted(inServiceOrder);
  if (config.kind === 'unlimited') return { grants: waiting.map(({ id }) => ({ id, tier: 0 })) };
  const pool = new PoolUse(config, leases);
  const grants: Grant[] = [];
  const grantWhere = (canLieIn: (request: QuotaRequest, tier: number) => boolean) => (request: QuotaRequest) => {
    const tier = config.tiers.findIndex((_, index) => pool.hasRoom(request.units, index) && canLieIn(request, index));
    if (tier === -1) return true;
    grants.push({ id: request.id, tier });
    pool.add({ ...request, tier, startedAt: now });
    return false;
  };
  const bestEffort = waiting.filter(grantWhere((request, tier) => pool.isInQuota(request, tier)));
  bestEffort.forEach(grantWhere(() => true));
  return { grants };
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

function poolTypes(config: Limited): string[] {
  return [...new Set(config.tiers.flatMap((tier) => Object.keys(tier)))].sort();
}

/** Priority, submit time, id: the last is arbitrary but fixed. */
export function inServiceOrder(a: QuotaRequest, b: QuotaRequest): number {
  return a.priority - b.priority || a.submittedAt - b.submittedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/** What is leased of a pool, while a decision is made. */
export class PoolUse {
  readonly #config: Limited;
  /** By tier: units that are free; below 0 after the pool was shrunk. */
  readonly #free: QuotaUnits[];
  /** By project and tier, in laying order. */
  readonly #leases = new Map<string, QuotaLease[]>();

  constructor(config: Limited, leases: readonly QuotaLease[]) {
    this.#config = config;
    this.#free = [...config.tiers];
    for (const lease of leases) this.#note(lease);
    for (const laid of this.#leases.values()) laid.sort(inLayingOrder);
  }

  add(lease: QuotaLease): void {
    this.#note(lease);
    this.#leases.get(this.#key(lease.project, lease.tier))?.sort(inLayingOrder);
  }

  hasRoom(units: QuotaUnits, tier: number): boolean {
    return isWithin(units, this.#free[tier] ?? {});
  }

  /** Units that are free in all tiers together. */
  free(): QuotaUnits {
    return this.#free.reduce(addUnits, {});
  }

  /** Whether the request would lie whole on its project's nominal quota in this tier, if it started now. */
  isInQuota(request: QuotaRequest, tier: number): boolean {
    const nominal = findProject(this.#config, request.project)?.nominal[tier];
    if (nominal === undefined) return false;
    const leases = this.#leases.get(this.#key(request.project, tier)) ?? [];
    return isWithin(request.units, nominalLeft(nominal, leases, request.priority));
  }

  #note(lease: QuotaLease): void {
    const tier = Math.min(lease.tier, this.#free.length - 1);
    this.#free[tier] = subtractUnits(this.#free[tier] ?? {}, lease.units);
    const key = this.#key(lease.project, tier);
    const leases = this.#leases.get(key);
    if (leases === undefined) this.#leases.set(key, [lease]);
    else leases.push(lease);
  }

  #key(project: string, tier: number): string {
    return `${tier}/${project.toLowerCase()}`;
  }
}

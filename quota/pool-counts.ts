import type { PoolSnapshot } from './published-state.js';
import type { LeaseState } from './quota-config.js';

/** Units that leases of one project have in one state, of one type, over all tiers. */
export interface LeasedUnits {
  readonly project: string;
  readonly type: string;
  readonly state: LeaseState;
  /** Quota units, of which a chip may be a part. */
  readonly units: number;
}

/** A pool in numbers, for metrics. */
export interface PoolCounts {
  readonly waiting: number;
  /** Each project, type and state once. */
  readonly leased: readonly LeasedUnits[];
}

/** Of those who are not among the `mostProjects` with the most leases. */
export const OTHER_PROJECTS = 'other';

/** @param mostProjects that are named: an unlimited pool takes any name of a project, and each is series of a metric */
export function poolCounts({ view }: PoolSnapshot, mostProjects: number): PoolCounts {
  const leasesOf = new Map<string, number>();
  for (const { project } of view.leases) leasesOf.set(project, (leasesOf.get(project) ?? 0) + 1);
  const named = new Set(
    [...leasesOf]
      .toSorted(mostFirst)
      .slice(0, mostProjects)
      .map(([project]) => project),
  );
  const leased = new Map<string, LeasedUnits>();
  for (const { project, units, state = 'held' } of view.leases) {
    const name = named.has(project) ? project : OTHER_PROJECTS;
    for (const [type, amount] of Object.entries(units)) {
      const key = JSON.stringify([name, type, state]);
      leased.set(key, { project: name, type, state, units: amount + (leased.get(key)?.units ?? 0) });
    }
  }
  return { waiting: view.requests.length, leased: [...leased.values()] };
}

type Counted = readonly [project: string, leases: number];
const mostFirst = ([a, leasesA]: Counted, [b, leasesB]: Counted): number => leasesB - leasesA || (a < b ? -1 : 1);

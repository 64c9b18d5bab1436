import type { EpochMs } from '../domain/units.js';
import type { Holder, ProjectUnits } from './explanation.js';
import { inLayingOrder } from './nominal-quota.js';
import { DEFAULT_RULES, isSameProject } from './quota-config.js';
import type { LimitedQuota, QuotaLease } from './quota-config.js';
import { isWithin, subtractUnits, unitsOf } from './quota-units.js';

/** Who holds one type in one tier. */
interface Holding {
  readonly inUse: number;
  /** Most units first, then by id. */
  readonly leases: readonly QuotaLease[];
  readonly draining: readonly QuotaLease[];
  readonly drainingUnits: number;
  /** By project, most units first; not of those that drain. */
  readonly borrowed: readonly ProjectUnits[];
  /** When the first lease without chips may be taken back. */
  readonly askingEnd?: { readonly at: EpochMs; readonly id: string };
}

/**
 * Who holds what, looked up by tier and type. Each is made when it is asked for first: ten thousand leases are sorted once,
 * not for each job that is explained.
 */
export class LeaseHolders {
  readonly #config: LimitedQuota;
  readonly #tiers: readonly QuotaLease[][];
  readonly #borrowed: (ReadonlySet<string> | undefined)[];
  readonly #holdings = new Map<string, Holding>();
  readonly #laid = new Map<string, readonly QuotaLease[]>();

  constructor(config: LimitedQuota, leases: readonly QuotaLease[]) {
    this.#config = config;
    this.#tiers = config.tiers.map(() => []);
    this.#borrowed = config.tiers.map(() => undefined);
    for (const lease of leases) this.#tiers[Math.min(lease.tier, config.tiers.length - 1)]?.push(lease);
  }

  of(tier: number, type: string): Holding {
    const key = `${tier}/${type}`;
    const known = this.#holdings.get(key);
    if (known) return known;
    const holding = this.#make(tier, type);
    this.#holdings.set(key, holding);
    return holding;
  }

  #make(tier: number, type: string): Holding {
    const units = (lease: QuotaLease): number => unitsOf(lease.units, type);
    const leases = (this.#tiers[tier] ?? [])
      .filter((lease) => units(lease) > 0)
      .toSorted((a, b) => units(b) - units(a) || (a.id < b.id ? -1 : 1));
    const draining = leases.filter(isDraining);
    const borrowed = this.#borrowedIn(tier);
    const { askingTimeoutMs } = this.#config.rules ?? DEFAULT_RULES;
    const asking = leases.filter((lease) => lease.state === 'asking');
    const ends = asking.map(({ id, askingSince, startedAt }) => ({
      id,
      at: (askingSince ?? startedAt) + askingTimeoutMs,
    }));
    const [askingEnd] = ends.toSorted((a, b) => a.at - b.at);
    return {
      inUse: leases.reduce((sum, lease) => sum + units(lease), 0),
      leases: leases.filter((lease) => !isDraining(lease)),
      draining,
      drainingUnits: draining.reduce((sum, lease) => sum + units(lease), 0),
      borrowed: byProject(
        leases.filter((lease) => borrowed.has(lease.id)),
        type,
      ),
      ...(askingEnd === undefined ? {} : { askingEnd }),
    };
  }

  /** The ids of leases that do not lie on their project's nominal quota (rule 3). */
  #borrowedIn(tier: number): ReadonlySet<string> {
    const known = this.#borrowed[tier];
    if (known) return known;
    const laid = (this.#tiers[tier] ?? []).filter((lease) => !isDraining(lease)).toSorted(inLayingOrder);
    const left = new Map(this.#config.projects.map(({ name, nominal }) => [name.toLowerCase(), nominal[tier] ?? {}]));
    const borrowed = new Set<string>();
    for (const { id, project, units } of laid) {
      const own = left.get(project.toLowerCase()) ?? {};
      if (isWithin(units, own)) left.set(project.toLowerCase(), subtractUnits(own, units));
      else borrowed.add(id);
    }
    this.#borrowed[tier] = borrowed;
    return borrowed;
  }

  /** The project's leases that lie on its nominal quota before a request of this priority, in laying order. */
  laidBefore(tier: number, project: string, priority: number): readonly QuotaLease[] {
    const key = `${tier}/${project.toLowerCase()}`;
    const known = this.#laid.get(key);
    const laid = known ?? this.#laidOf(tier, project);
    if (known === undefined) this.#laid.set(key, laid);
    return laid.filter((lease) => lease.priority <= priority);
  }

  #laidOf(tier: number, project: string): readonly QuotaLease[] {
    const borrowed = this.#borrowedIn(tier);
    const own = (this.#tiers[tier] ?? []).filter((lease) => isSameProject(lease.project, project));
    return own.filter((lease) => !isDraining(lease) && !borrowed.has(lease.id)).toSorted(inLayingOrder);
  }
}

const isDraining = ({ state }: QuotaLease): boolean => state === 'draining';

export function holder({ id, project, units }: QuotaLease, type: string): Holder {
  return { id, project, units: unitsOf(units, type) };
}

/** Most units first. */
function byProject(leases: readonly QuotaLease[], type: string): readonly ProjectUnits[] {
  const units = new Map<string, ProjectUnits>();
  for (const { project, units: all } of leases) {
    const key = project.toLowerCase();
    units.set(key, { project, units: (units.get(key)?.units ?? 0) + unitsOf(all, type) });
  }
  return [...units.values()].toSorted((a, b) => b.units - a.units || (a.project < b.project ? -1 : 1));
}

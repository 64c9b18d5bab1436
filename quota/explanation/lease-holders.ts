import type { EpochMs } from '../../domain/units.js';
import type { Holder, ProjectUnits } from './explanation.js';
import { CountedLeases } from '../counted-leases.js';
import { askingEndsAt, DEFAULT_RULES, projectKey, tierOf } from '../quota-config.js';
import type { LimitedQuota, QuotaLease, QuotaRequest } from '../quota-config.js';
import { unitsOf } from '../../domain/units.js';

/** Holders of one type in one tier. */
interface Holding {
  readonly inUse: number;
  /** Most units first, then by id. */
  readonly leases: readonly QuotaLease[];
  readonly draining: readonly QuotaLease[];
  readonly drainingUnits: number;
  /** Borrowed units by project, most first, without draining leases. */
  readonly borrowed: readonly ProjectUnits[];
  /** Earliest time at which a lease without chips may be taken back. */
  readonly askingEnd?: { readonly at: EpochMs; readonly id: string };
}

/**
 * Looks up holders by tier and type. Each holding is made on first use, so that ten thousand leases are sorted once and not for
 * each job that is explained.
 */
export class LeaseHolders {
  readonly #config: LimitedQuota;
  readonly #tiers: readonly QuotaLease[][];
  #counted: CountedLeases | undefined;
  #borrowed: ReadonlySet<string> | undefined;
  readonly #holdings = new Map<string, Holding>();

  constructor(config: LimitedQuota, leases: readonly QuotaLease[]) {
    this.#config = config;
    this.#tiers = config.tiers.map(() => []);
    for (const lease of leases) this.#tiers[tierOf(lease, config.tiers.length)]?.push(lease);
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
    const borrowed = this.#borrowedIds;
    const rules = this.#config.rules ?? DEFAULT_RULES;
    const asking = leases.filter((lease) => lease.state === 'asking');
    const ends = asking.map((lease) => ({ id: lease.id, at: askingEndsAt(lease, rules) }));
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

  /** All leases counted (rule 3), once for all jobs that are explained. */
  get #count(): CountedLeases {
    return (this.#counted ??= new CountedLeases(this.#config, this.#tiers.flat()));
  }

  get #borrowedIds(): ReadonlySet<string> {
    this.#borrowed ??= new Set([...this.#count.projects.values()].flatMap((each) => each.borrowed.map(({ id }) => id)));
    return this.#borrowed;
  }

  /** Units of one type that are left of the project's nominal quota for a request, after those that count before it. */
  leftFor(request: QuotaRequest, type: string): number {
    return this.#count.leftFor(request, type);
  }

  /** The project's leases within nominal quota that count before a request of this priority, in the order of rule 3. */
  withinNominalBefore(project: string, priority: number): readonly QuotaLease[] {
    const counted = this.#count.projects.get(projectKey(project))?.within ?? [];
    return counted.filter((lease) => lease.priority <= priority);
  }
}

const isDraining = ({ state }: QuotaLease): boolean => state === 'draining';

export function holder({ id, project, units }: QuotaLease, type: string): Holder {
  return { id, project, units: unitsOf(units, type) };
}

/** Units by project, most first. */
function byProject(leases: readonly QuotaLease[], type: string): readonly ProjectUnits[] {
  const units = new Map<string, ProjectUnits>();
  for (const { project, units: all } of leases) {
    const key = project.toLowerCase();
    units.set(key, { project, units: (units.get(key)?.units ?? 0) + unitsOf(all, type) });
  }
  return [...units.values()].toSorted((a, b) => b.units - a.units || (a.project < b.project ? -1 : 1));
}

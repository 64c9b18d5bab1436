import { unitsOf } from '../domain/units.js';
import type { QuotaUnits } from '../domain/units.js';
import { Nominal } from './decision/nominal-left.js';
import { ProjectQuota, workloadOf } from './decision/project-quota.js';
import { ShapeTable } from './decision/shapes.js';
import { inQuotaOrder } from './nominal-quota.js';
import { projectKey } from './quota-config.js';
import type { LimitedQuota, QuotaLease, QuotaRequest } from './quota-config.js';

/** A project's leases, counted against its nominal quota (rule 3). Draining leases are left out. */
export interface CountedProject {
  readonly quota: ProjectQuota;
  /** In the order of rule 3. */
  readonly within: readonly QuotaLease[];
  readonly borrowed: readonly QuotaLease[];
}

/** The leases within nominal quota and the borrowing ones, counted as decisions count them, for explanations and displays. */
export class CountedLeases {
  /** Projects by name in lower case: those of the quota file and those of any lease. */
  readonly projects: ReadonlyMap<string, CountedProject>;
  readonly #shapes: ShapeTable;
  readonly #config: LimitedQuota;

  constructor(config: LimitedQuota, leases: readonly QuotaLease[]) {
    this.#config = config;
    this.#shapes = new ShapeTable(config, []);
    const ofProject = new Map<string, QuotaLease[]>(config.projects.map(({ name }) => [projectKey(name), []]));
    for (const lease of leases) {
      if (lease.state === 'draining') continue;
      this.#shapes.of(lease);
      const own = ofProject.get(projectKey(lease.project));
      if (own === undefined) ofProject.set(projectKey(lease.project), [lease]);
      else own.push(lease);
    }
    const nominal = new Map(config.projects.map((each) => [projectKey(each.name), each.nominal]));
    this.projects = new Map([...ofProject].map(([name, own]) => [name, this.#count(nominal.get(name) ?? [], own)]));
  }

  #count(nominal: readonly QuotaUnits[], leases: readonly QuotaLease[]): CountedProject {
    const { tiers, rules } = this.#config;
    const byTier = tiers.map((_, tier) => this.#shapes.types.map((type) => unitsOf(nominal[tier] ?? {}, type)));
    const pricings = tiers.map((_, tier) => rules?.tiers[tier]?.pricing);
    const workloads = leases.map((lease) => workloadOf(lease, this.#shapes.of(lease), tiers.length));
    const quota = new ProjectQuota(new Nominal(byTier, pricings), workloads);
    const ids = new Set(quota.usage().borrowing.map(({ id }) => id));
    const inOrder = leases.toSorted(inQuotaOrder);
    return {
      quota,
      within: inOrder.filter(({ id }) => !ids.has(id)),
      borrowed: inOrder.filter(({ id }) => ids.has(id)),
    };
  }

  /** Nominal units of one type that no lease of the project uses. */
  unused(project: string, type: string): number {
    const quota = this.projects.get(projectKey(project))?.quota;
    const number = this.#shapes.typeNumber(type);
    return quota === undefined ? 0 : quota.nominalOf(number) - (quota.usage().used[number] ?? 0);
  }

  /** Units of one type that are left of the project's nominal quota for this request. */
  leftFor({ project, priority, pricing }: QuotaRequest, type: string): number {
    const quota = this.projects.get(projectKey(project))?.quota;
    return quota?.leftFor(priority).for(pricing, this.#shapes.typeNumber(type)) ?? 0;
  }
}

import { addUnits, type QuotaUnits, unitsOf } from '../domain/units.js';
import { nominalQuota, inQuotaOrder } from './nominal-quota.js';
import {
  type LeaseState,
  type LimitedQuota,
  type Pool,
  type QuotaLease,
  tierOf,
  projectKey,
  type QuotaRequest,
} from './quota-config.js';
import type { PoolSnapshot } from './published-state.js';
import { Nominal, ProjectQuota, workloadOf } from './decision/project-quota.js';
import { ShapeTable } from './decision/shapes.js';

/** One project's quota units of one type, over all tiers. */
export interface ProjectAccount {
  /** The name as the quota file writes it. */
  readonly project: string;
  readonly type: string;
  /** Units that its shares come to; 0 if the quota file gives it none. */
  readonly nominal: number;
  /** Units in asking, held and parked leases, within nominal quota and borrowed. */
  readonly used: number;
  /** Part of `used`: units of leases that are not within its nominal quota (rule 3). */
  readonly borrowed: number;
  /** Part of its unused nominal quota that others have borrowed (`lend`). */
  readonly lent: number;
  /** Units in draining leases. They count in the pool until their slices are seen gone, and in none of the fields above. */
  readonly draining: number;
  /** Units that its waiting jobs ask for. */
  readonly waiting: number;
}

/** One tier's quota units of one type. */
interface TierAccount {
  /** Index into the tiers, best first. */
  readonly tier: number;
  readonly type: string;
  readonly total: number;
  /** Units in all leases, whatever their state. */
  readonly inUse: number;
  /** Part of `inUse` in draining leases. */
  readonly draining: number;
  /** Less than 0 after the pool was shrunk under its leases. */
  readonly free: number;
}

export interface PoolAccounts {
  /** One row per tier and type of the quota file; empty for an unlimited pool. */
  readonly tiers: readonly TierAccount[];
  /** One row per project and type with any units: the quota file's projects in its order, then others by name. */
  readonly projects: readonly ProjectAccount[];
  /** Projects of the quota file that have no row. */
  readonly idle: readonly string[];
}

/** Units of a pool by tier and by project. The order of requests and leases does not matter. */
export function poolAccounts({ config, requests, leases }: Pool): PoolAccounts {
  const ledger = new Ledger(config.kind === 'limited' ? config.projects.map(({ name }) => name) : []);
  for (const { project, units } of requests) ledger.add(project, 'waiting', units);
  for (const { project, units, state } of leases)
    ledger.add(project, state === 'draining' ? 'draining' : 'used', units);
  if (config.kind === 'unlimited') return { tiers: [], ...ledger.close() };
  for (const { name, nominal } of config.projects) for (const units of nominal) ledger.add(name, 'nominal', units);
  enterLoans(ledger, config, leases);
  const tiers = config.tiers.flatMap((total, tier) => tierAccounts(total, tier, leasesIn(config, tier, leases)));
  return { tiers, ...ledger.close() };
}

function tierAccounts(total: QuotaUnits, tier: number, leases: readonly QuotaLease[]): readonly TierAccount[] {
  const inUse = sumOf(leases);
  const draining = sumOf(leases.filter(isDraining));
  return Object.keys(total).map((type) => ({
    tier,
    type,
    total: unitsOf(total, type),
    inUse: unitsOf(inUse, type),
    draining: unitsOf(draining, type),
    free: unitsOf(total, type) - unitsOf(inUse, type),
  }));
}

/** Ids of the leases that are not within their project's nominal quota (rule 3). Draining leases are left out. */
export function borrowedLeases({ config, leases }: Pool): ReadonlySet<string> {
  if (config.kind === 'unlimited') return new Set();
  const { projects } = new CountedLeases(config, leases);
  return new Set([...projects.values()].flatMap(({ borrowed }) => borrowed.map(({ id }) => id)));
}

const leasesIn = ({ tiers }: LimitedQuota, tier: number, leases: readonly QuotaLease[]): readonly QuotaLease[] =>
  leases.filter((lease) => tierOf(lease, tiers.length) === tier);

/** Enters the units that each project borrows and lends, over all tiers. */
function enterLoans(ledger: Ledger, config: LimitedQuota, leases: readonly QuotaLease[]): void {
  const counted = new CountedLeases(config, leases);
  const borrowed = new Map([...counted.projects].map(([project, each]) => [project, sumOf(each.borrowed)]));
  for (const [project, units] of borrowed) ledger.add(project, 'borrowed', units);
  const all = [...borrowed.values()].reduce(addUnits, {});
  const promised = config.projects.flatMap(({ nominal }) => nominal).reduce(addUnits, {});
  for (const [type, total] of Object.entries(config.tiers.reduce(addUnits, {}))) {
    const nobodys = Math.max(0, total - unitsOf(promised, type));
    const unused = new Map([...counted.projects.keys()].map((project) => [project, counted.unused(project, type)]));
    for (const [project, units] of lend(unitsOf(all, type) - nobodys, unused)) {
      ledger.add(project, 'lent', { [type]: units });
    }
  }
}

/**
 * Divides borrowed units among the projects that leave nominal quota unused, in proportion to it and in whole units. Borrowing
 * has no named lender.
 * @param borrowed units borrowed beyond those that are promised to no project
 * @param unused units by project, 0 or more; no project lends more than these
 */
function lend(borrowed: number, unused: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const most = [...unused.values()].reduce((sum, units) => sum + units, 0);
  if (borrowed <= 0 || most === 0) return new Map();
  return nominalQuota(Math.min(borrowed, most), unused);
}

const isDraining = ({ state }: QuotaLease): boolean => state === 'draining';
const sumOf = (leases: readonly QuotaLease[]): QuotaUnits => leases.map(({ units }) => units).reduce(addUnits, {});

type Column = 'nominal' | 'used' | 'borrowed' | 'lent' | 'draining' | 'waiting';
type Entry = Record<Column, number> & { readonly type: string };

/** One entry per project and type. Names are compared without regard to case. */
class Ledger {
  readonly #projects: Map<string, { readonly name: string; readonly types: Map<string, Entry> }>;
  /** Names in the order of the quota file. */
  readonly #known: readonly string[];

  constructor(known: readonly string[]) {
    this.#known = known;
    this.#projects = new Map(known.map((name) => [name.toLowerCase(), { name, types: new Map() }]));
  }

  add(project: string, column: Column, units: QuotaUnits): void {
    const key = project.toLowerCase();
    const entry = this.#projects.get(key) ?? { name: project, types: new Map<string, Entry>() };
    this.#projects.set(key, entry);
    for (const [type, amount] of Object.entries(units)) {
      const row = entry.types.get(type) ?? { type, nominal: 0, used: 0, borrowed: 0, lent: 0, draining: 0, waiting: 0 };
      entry.types.set(type, row);
      row[column] += amount;
    }
  }

  close(): Pick<PoolAccounts, 'projects' | 'idle'> {
    const known = new Set(this.#known);
    const others = [...this.#projects.values()].map(({ name }) => name).filter((name) => !known.has(name));
    const names = [...this.#known, ...others.sort()];
    const projects = names.flatMap((project) => this.#rows(project));
    const shown = new Set(projects.map(({ project }) => project));
    return { projects, idle: names.filter((name) => !shown.has(name)) };
  }

  #rows(project: string): readonly ProjectAccount[] {
    const rows = [...(this.#projects.get(project.toLowerCase())?.types.values() ?? [])];
    return rows
      .filter(({ nominal, used, draining, waiting }) => nominal + used + draining + waiting > 0)
      .toSorted((a, b) => (a.type < b.type ? -1 : 1))
      .map((row) => ({ project, ...row }));
  }
}

/** Units that leases of one project have in one state, of one type, over all tiers. */
export interface LeasedUnits {
  readonly project: string;
  readonly type: string;
  readonly state: LeaseState;
  /** Quota units, not chips. */
  readonly units: number;
}

/** A pool in numbers, for metrics. */
interface PoolCounts {
  readonly waiting: number;
  /** Each project, type and state once. */
  readonly leased: readonly LeasedUnits[];
}

/** Name for all projects that are not among the `mostProjects` with the most leases. */
const OTHER_PROJECTS = 'other';

/**
 * @param mostProjects number of projects that are named: an unlimited pool takes any project name, and each adds series to a
 * metric
 */
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

/** A project's leases, counted against its nominal quota (rule 3). Draining leases are left out. */
interface CountedProject {
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

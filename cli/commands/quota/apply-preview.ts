import { count, formatUnits, type QuotaUnits, unitsOf } from '../../../domain/units.js';
import { renderTable } from '../../terminal/render/columns.js';
import { jobOfLeaseKey, type Demand } from '../../../domain/lease.js';
import { decide } from '../../../quota/decide.js';
import { canEverFit } from '../../../quota/submission.js';
import { poolAccounts } from '../../../quota/pool-accounts.js';
import type { PoolSnapshot } from '../../../quota/published-state.js';
import {
  type QuotaConfig,
  DEFAULT_RULES,
  isSameProject,
  type LimitedQuota,
  type PoolRules,
  type QuotaProject,
} from '../../../quota/quota-config.js';
import { formatDuration } from '../../terminal/render/quantities.js';

const MOST_JOBS = 20;

/**
 * Renders the preview of `quota apply` before its question.
 * @param effect undefined: the pool never ran, so nothing is known of it
 */
export function renderApply(
  pool: string,
  changes: readonly ConfigChange[] | undefined,
  effect: ApplyEffect | undefined,
  width?: number,
): readonly string[] {
  if (changes === undefined)
    return [`pool ${pool}: its quota file is the workers' own, so what changes is not known here`];
  return [
    changes.length === 0 ? `pool ${pool}: the files say what is in force already` : `pool ${pool}: what changes`,
    ...renderTable(
      changes.map(({ what, before, after }) => [`  ${what}`, before, '->', after]),
      width,
    ),
    ...(effect === undefined ? ['  it never ran: this starts it'] : effectLines(effect)),
  ];
}

function effectLines({ preempted, starts, stranded, over }: ApplyEffect): readonly string[] {
  return [
    ...jobLines(preempted, 'preempted at once, with notice'),
    ...jobLines(starts, 'started at once'),
    ...(preempted.length + starts.length === 0 ? ['nobody is preempted, nobody starts'] : []),
    ...jobLines(stranded, 'that can never start under it'),
    ...over.map(
      ({ tier, type, units }) =>
        `tier ${tier + 1} has ${units} ${type} less than are leased: nothing starts there until leases have ended`,
    ),
  ];
}

function jobLines(jobs: readonly MovedJob[], what: string): readonly string[] {
  if (jobs.length === 0) return [];
  const rows = jobs
    .slice(0, MOST_JOBS)
    .map((moved) => [
      `  ${moved.job}`,
      moved.project,
      moved.user,
      formatUnits(moved.units),
      moved.for === undefined ? '' : `for ${moved.for}`,
    ]);
  const hidden = jobs.length - rows.length;
  return [
    `${count(jobs.length, 'job')} ${what}`,
    ...renderTable(rows),
    ...(hidden > 0 ? [`  .. and ${hidden} more`] : []),
  ];
}

/** A job that a new file affects. */
interface MovedJob extends Pick<Demand, 'project' | 'user' | 'units'> {
  readonly job: string;
  /** For a preemption: the job that gets its chips. */
  readonly for?: string;
}

/** Immediate effects of another configuration on a pool, as it was last published. */
export interface ApplyEffect {
  readonly preempted: readonly MovedJob[];
  readonly starts: readonly MovedJob[];
  /** Waiting jobs that can never start under the new configuration. */
  readonly stranded: readonly MovedJob[];
  /** Tiers with more units leased than exist: they drain as leases end, and no job is stopped for it. */
  readonly over: readonly { readonly tier: number; readonly type: string; readonly units: number }[];
}

/** Computes the effect at the time of the state, because the ages of leases are known for that time. */
export function applyEffect({ view, at }: PoolSnapshot, config: QuotaConfig): ApplyEffect {
  const after = { ...view, config };
  const { grants, preemptions } = decide(after, at);
  const demands = new Map([...view.requests, ...view.leases].map((each) => [each.id, each]));
  const moved = (id: string): MovedJob[] => {
    const demand = demands.get(id);
    return demand === undefined ? [] : [jobOf(demand)];
  };
  return {
    preempted: preemptions.flatMap((preemption) =>
      moved(preemption.id).map((job) => ({ ...job, for: jobOfLeaseKey(preemption.for) })),
    ),
    starts: grants.flatMap(({ id }) => moved(id)),
    stranded: view.requests.filter((request) => !canEverFit(config, request.units).fits).map(jobOf),
    over: poolAccounts(after).tiers.flatMap(({ tier, type, free }) => (free < 0 ? [{ tier, type, units: -free }] : [])),
  };
}

function jobOf({ id, project, user, units }: Demand & { readonly id: string }): MovedJob {
  return { job: jobOfLeaseKey(id), project, user, units };
}

/** One change by a new file, in words; `-` for an absent value. */
export interface ConfigChange {
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

/** Changes from `before` to `after`: totals, projects with their shares and members, rules. Empty: no difference. */
export function configDifference(before: QuotaConfig, after: QuotaConfig): readonly ConfigChange[] {
  const changes = [
    { what: 'pool', before: before.kind, after: after.kind },
    ...totals(limited(before), limited(after)),
    ...projects(limited(before), limited(after)),
    ...rules(limited(before).rules ?? DEFAULT_RULES, limited(after).rules ?? DEFAULT_RULES),
  ];
  return changes.filter((change) => change.before !== change.after);
}

/** The configuration in the form of a limited pool. An unlimited pool has no tiers and no projects. */
const limited = (config: QuotaConfig): LimitedQuota =>
  config.kind === 'limited' ? config : { kind: 'limited', tiers: [], projects: [] };

function totals(before: LimitedQuota, after: LimitedQuota): ConfigChange[] {
  return indexes(before.tiers, after.tiers).flatMap((tier) => {
    const [old, young] = [before.tiers[tier] ?? {}, after.tiers[tier] ?? {}];
    return names(old, young).map((type) => ({
      what: `tier ${tier + 1}: ${type}`,
      before: shown(old[type]),
      after: shown(young[type]),
    }));
  });
}

function projects(before: LimitedQuota, after: LimitedQuota): ConfigChange[] {
  const gone = before.projects.filter(({ name }) => find(after, name) === undefined);
  return [...after.projects, ...gone].flatMap(({ name }) => {
    const [old, young] = [find(before, name), find(after, name)];
    return [
      { what: `project ${name}`, before: old ? 'there' : '-', after: young ? 'there' : '-' },
      ...names(old?.shares ?? {}, young?.shares ?? {}).map((type) => ({
        what: `project ${name}: ${type}`,
        before: shareOf(old, type),
        after: shareOf(young, type),
      })),
      { what: `project ${name}: members`, before: membersOf(old), after: membersOf(young) },
    ];
  });
}

const find = (config: LimitedQuota, name: string): QuotaProject | undefined =>
  config.projects.find((project) => isSameProject(project.name, name));

/** A share with its units: `0.5 = 64 units`, or `0.5 = 64 + 8 units` over two tiers. */
function shareOf(project: QuotaProject | undefined, type: string): string {
  const share = project?.shares[type];
  if (project === undefined || share === undefined) return '-';
  const units = project.nominal.filter((tier) => Object.hasOwn(tier, type)).map((tier) => unitsOf(tier, type));
  return units.length === 0 ? String(share) : `${share} = ${units.join(' + ')} units`;
}

const membersOf = (project: QuotaProject | undefined): string =>
  project === undefined || project.members.length === 0 ? '-' : project.members.join(' ');

function rules(before: PoolRules, after: PoolRules): ConfigChange[] {
  return [
    ...indexes(before.tiers, after.tiers).map((tier) => ({
      what: `tier ${tier + 1}: bought as`,
      before: boughtAs(before, tier),
      after: boughtAs(after, tier),
    })),
    ...TABLES.flatMap(([key, what]) =>
      names(before[key], after[key]).map((name) => ({
        what: `${what} ${name}`,
        before: unitsIn(before[key], name),
        after: unitsIn(after[key], name),
      })),
    ),
    ...DURATIONS.map(([key, what]) => ({
      what,
      before: formatDuration(before[key]),
      after: formatDuration(after[key]),
    })),
    { what: 'project required', before: yesNo(before.requireProject), after: yesNo(after.requireProject) },
    { what: 'admins', before: before.admins.join(' ') || 'everybody', after: after.admins.join(' ') || 'everybody' },
  ];
}

function boughtAs({ tiers }: PoolRules, tier: number): string {
  const { pricing, reservation } = tiers[tier] ?? {};
  if (pricing === undefined) return "each job's own pricing";
  return reservation === undefined ? pricing : `${pricing} (${reservation})`;
}

const TABLES = [
  ['largestSlice', 'largest slices of'],
  ['borrowingLimits', 'borrowing limit of'],
  ['lendingLimits', 'lending limit of'],
] as const;

const DURATIONS = [
  ['minRuntimeMs', 'minimum runtime'],
  ['agingMs', 'aging'],
  ['maxGuaranteeDelayMs', 'longest hold-back by reservations'],
  ['askingTimeoutMs', 'asking timeout'],
  ['coolDownMs', 'first cool-down'],
  ['coolDownMaxMs', 'longest cool-down'],
] as const;

function unitsIn(table: Readonly<Record<string, QuotaUnits>>, name: string): string {
  const units = table[name];
  return units === undefined ? 'none' : formatUnits(units);
}

const yesNo = (value: boolean): string => (value ? 'yes' : 'no');
const shown = (value: number | undefined): string => (value === undefined ? '-' : String(value));
const names = (a: object, b: object): readonly string[] => [...new Set([...Object.keys(a), ...Object.keys(b)])];
const indexes = (a: readonly unknown[], b: readonly unknown[]): readonly number[] =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, index) => index);

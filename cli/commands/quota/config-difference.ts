import type { QuotaUnits } from '../../../domain/units.js';
import { DEFAULT_RULES, isSameProject } from '../../../quota/quota-config.js';
import type { LimitedQuota, PoolRules, QuotaConfig, QuotaProject } from '../../../quota/quota-config.js';
import { formatUnits, unitsOf } from '../../../domain/units.js';
import { formatDuration } from '../../terminal/render/quantities.js';

/** One change by a new file, in words; `-` for an absent value. */
export interface ConfigChange {
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

/** Differences under `after`: totals, projects with their shares and members, rules. Empty: no difference. */
export function configDifference(before: QuotaConfig, after: QuotaConfig): readonly ConfigChange[] {
  const changes = [
    { what: 'pool', before: before.kind, after: after.kind },
    ...totals(limited(before), limited(after)),
    ...projects(limited(before), limited(after)),
    ...rules(limited(before).rules ?? DEFAULT_RULES, limited(after).rules ?? DEFAULT_RULES),
  ];
  return changes.filter((change) => change.before !== change.after);
}

/** In an unlimited pool, nothing is counted. */
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

/** `0.5 = 64 units`, over the tiers `0.5 = 64 + 8 units`. */
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

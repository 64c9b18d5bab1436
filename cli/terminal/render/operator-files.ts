import type { PoolDefaults } from '../../../domain/job-file/pool-defaults.js';
import type { QuotaUnits } from '../../../domain/units.js';
import type { GangBound } from '../../../quota/nominal-quota.js';
import type { PoolChoices } from '../../../quota/allowed.js';
import type { PoolLimits, PoolRules, QuotaConfig, TierRule } from '../../../quota/quota-config.js';
import { formatDuration } from './quantities.js';
import { renderTable } from './columns.js';
import { CliError, ExitCode } from '../cli-error.js';
import type { OutputFlag } from '../options.js';
import { printErr, printOut } from '../print.js';

/** Summary of a pool file's defaults. */
export function poolEssentials({ googleProject, zones, tpu = {} }: PoolDefaults): readonly string[] {
  const defaults = Object.entries(tpu).map(([key, value]) => [`  tpu.${key}`, asText(value)]);
  return renderTable([
    ['  google_project', googleProject ?? "each job's, else the worker's"],
    ['  zones', zones?.join(', ') ?? "each job's"],
    ...defaults,
  ]);
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Summary of choices that jobs may make, and of the limits of a user or job. */
export function choiceEssentials({ allow }: PoolChoices, limits: PoolLimits | undefined): readonly string[] {
  const lists = Object.entries(allow ?? {}).map(([key, list]) => [`  allow.${key}`, list?.join(', ') ?? '']);
  const { openJobsPerUser, submitsPerMinute, requestsPerJob, logBytesPerAttempt, inputBytes } = limits ?? {};
  const named = [
    ['  open jobs of a user', openJobsPerUser],
    ['  submits in a minute', submitsPerMinute],
    ['  requests of a job at once', requestsPerJob],
    ['  log of an attempt', logBytesPerAttempt, ' bytes'],
    ['  input of a job', inputBytes, ' bytes'],
  ] as const;
  return renderTable([
    ...(allow === undefined ? [] : [['  allow', "the pool's own values, and those listed"], ...lists]),
    ...named.flatMap(([title, value, unit = '']) => (value === undefined ? [] : [[title, `${value}${unit} at most`]])),
  ]);
}

/** Summary of a pool's rules, in addition to tiers and projects. */
export function ruleEssentials(config: QuotaConfig): readonly string[] {
  return config.kind === 'limited' && config.rules ? timeEssentials(config.rules) : [];
}

export function timeEssentials(rules: PoolRules): readonly string[] {
  const limits = (byProject: PoolRules['lendingLimits']): string =>
    Object.entries(byProject)
      .map(([name, units]) => `${name} ${unitsOf(units)}`)
      .join('; ') || 'none';
  return renderTable([
    ['  minimum runtime', formatDuration(rules.minRuntimeMs)],
    ['  aging', formatDuration(rules.agingMs)],
    ['  guarantee delay', `${formatDuration(rules.maxGuaranteeDelayMs)} at most`],
    ['  asking timeout', formatDuration(rules.askingTimeoutMs)],
    ['  cool-down', `${formatDuration(rules.coolDownMs)}, doubling to ${formatDuration(rules.coolDownMaxMs)}`],
    ['  largest slice', limits(rules.largestSlice)],
    ['  borrowing limits', limits(rules.borrowingLimits)],
    ['  lending limits', limits(rules.lendingLimits)],
    ['  project', rules.requireProject ? 'required' : 'not required'],
    ['  admins', rules.admins.join(', ') || 'everybody'],
    ...Object.entries(rules.priorityFloors ?? {}).map(([name, floor]) => [`  priority of ${name}`, `${floor} at most`]),
  ]);
}

/** Summary of a quota file: tiers, and each project's whole units in them, best tier first. */
export function quotaEssentials(config: QuotaConfig): readonly string[] {
  if (config.kind === 'unlimited') return ['  no limit'];
  const { tiers, projects } = config;
  return renderTable([
    ...tiers.map((units, index) => [`  tier ${index + 1}`, unitsOf(units), boughtAs(config.rules?.tiers[index])]),
    ...projects.map(({ name, nominal, members }) => [
      `  ${name}`,
      nominal.map(unitsOf).join('; '),
      members.length === 0 ? 'nobody' : members.join(' '),
    ]),
  ]);
}

/** Rows about quota that spans several tiers: the gangs that always have room in it. Each gang is in one tier. */
export function gangEssentials(bounds: readonly GangBound[]): readonly string[] {
  if (bounds.length === 0) return [];
  const rows = bounds.map(({ project, type, pricing, nominal, tier, sure }) => {
    const most = Math.min(nominal, tier);
    const always = sure === 0 ? 'no gang always has room' : `a gang of ${sure} always has room`;
    const more = sure < most ? `, one of ${most} if others within their quota leave a tier to it` : '';
    const none = tier < nominal ? `, no tier holds more than ${tier}` : '';
    const jobs = pricing === undefined ? '' : `, jobs that name ${pricing}`;
    return [`  ${project}`, `${nominal} ${type}${jobs}`, `${always}${more}${none}`];
  });
  return ['  quota of all tiers together; a gang lies in one tier:', ...renderTable(rows)];
}

function boughtAs({ pricing, reservation }: TierRule = {}): string {
  return [pricing, reservation].filter((word) => word !== undefined).join(', ');
}

function unitsOf(units: QuotaUnits): string {
  const parts = Object.entries(units).map(([type, amount]) => `${amount} ${type}`);
  return parts.length === 0 ? '-' : parts.join(', ');
}

/** The report on a valid file, as lines and as JSON. */
export interface Verdict {
  /** Warnings for stderr. Each begins as a warning and names its place. */
  readonly notes: readonly string[];
  readonly lines: readonly string[];
  readonly json: { readonly warnings: readonly string[]; readonly [key: string]: unknown };
}

/** @param named the file or files, for the first line */
export async function printVerdict(
  named: string,
  output: OutputFlag['output'],
  judgement: () => Verdict | Promise<Verdict>,
): Promise<number> {
  if (output === 'json') return printAsJson(judgement);
  const { notes, lines } = await judgement();
  for (const note of notes) printErr(`${note}\n`);
  printOut(`${named}: ok\n${lines.join('\n')}\n`);
  return ExitCode.Done;
}

/** Prints JSON. Problems are the answer here, so they go to stdout too. */
async function printAsJson(judgement: () => Verdict | Promise<Verdict>): Promise<number> {
  try {
    const { json } = await judgement();
    print({ ok: true, ...json });
    return ExitCode.Done;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    print({ ok: false, message: error.message });
    return error.exitCode;
  }
}

const print = (value: object): void => printOut(`${JSON.stringify(value, null, 2)}\n`);

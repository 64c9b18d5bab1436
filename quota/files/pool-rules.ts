import { canonicalGeneration } from '../../domain/job-file/accelerator.js';
import { pricingOf, resolveCapacity } from '../../domain/job-file/capacity-keys.js';
import { secondsOf } from '../../domain/job-file/fields.js';
import { Report } from '../../domain/job-file/report.js';
import { checkZone } from '../../domain/job-file/tpu-section.js';
import type { Path } from '../../domain/problem.js';
import type { QuotaUnits } from '../../domain/units.js';
import { RULE_KEYS } from './pool-file-form.js';
import type { PoolFileForm } from './pool-file-form.js';
import { DEFAULT_RULES, isSameProject } from '../quota-config.js';
import type { PoolRules, TierRule } from '../quota-config.js';

/** What the file says of quota, over the defaults; undefined where it says nothing. What is wrong goes into `report`. */
export function poolRulesOf(form: PoolFileForm, report: Report): PoolRules | undefined {
  if (RULE_KEYS.every((key) => form[key] === undefined)) return undefined;
  return {
    ...timesOf(form.quota ?? {}, report),
    tiers: (form.tiers ?? []).map((tier, index) => tierRuleOf(tier, form.zones ?? [], ['tiers', index], report)),
    largestSlice: largestSliceOf(form.largest_slice ?? {}, report),
    borrowingLimits: limitsOf(form.borrowing_limits ?? {}, ['borrowing_limits'], report),
    lendingLimits: limitsOf(form.lending_limits ?? {}, ['lending_limits'], report),
    requireProject: form.quota?.require_project ?? DEFAULT_RULES.requireProject,
    admins: form.quota?.admins ?? DEFAULT_RULES.admins,
  };
}

type QuotaForm = NonNullable<PoolFileForm['quota']>;
type TimeKey = Exclude<keyof QuotaForm, 'require_project' | 'admins'>;
type Times = Pick<
  PoolRules,
  'minRuntimeMs' | 'agingMs' | 'maxGuaranteeDelayMs' | 'askingTimeoutMs' | 'coolDownMs' | 'coolDownMaxMs'
>;

function timesOf(form: QuotaForm, report: Report): Times {
  const ms = (key: TimeKey, fallback: number): number => durationMs(form, key, fallback, report);
  if (form.asking_timeout !== undefined && secondsOf(form.asking_timeout) === 0) {
    const hint = 'a lease would come back before Google could answer; 15m without it';
    report.wrong(['quota', 'asking_timeout'], form.asking_timeout, 'too short', hint);
  }
  const coolDownMs = ms('cool_down', DEFAULT_RULES.coolDownMs);
  const coolDownMaxMs = ms('cool_down_max', Math.max(DEFAULT_RULES.coolDownMaxMs, coolDownMs));
  if (coolDownMaxMs < coolDownMs) {
    const message = `is less than cool_down, which is ${String(form.cool_down ?? `${DEFAULT_RULES.coolDownMs / 60_000}m`)}`;
    report.problem(['quota', 'cool_down_max'], form.cool_down_max, message);
  }
  return {
    minRuntimeMs: ms('min_runtime', DEFAULT_RULES.minRuntimeMs),
    agingMs: ms('aging', DEFAULT_RULES.agingMs),
    maxGuaranteeDelayMs: ms('max_guarantee_delay', DEFAULT_RULES.maxGuaranteeDelayMs),
    askingTimeoutMs: ms('asking_timeout', DEFAULT_RULES.askingTimeoutMs),
    coolDownMs,
    coolDownMaxMs,
  };
}

const LONGEST_SECONDS = 365 * 24 * 3600;

function durationMs(form: QuotaForm, key: TimeKey, fallback: number, report: Report): number {
  const value = form[key];
  if (value === undefined) return fallback;
  const seconds = secondsOf(value);
  if (seconds > LONGEST_SECONDS) report.wrong(['quota', key], value, 'a duration of a year at most', 'such as 24h');
  return Math.round(seconds * 1000);
}

/** Chips of a reservation by name come through queued resources alone: its form is checked as a job's own would be. */
function tierRuleOf(
  tier: NonNullable<PoolFileForm['tiers']>[number],
  zones: readonly string[],
  path: Path,
  report: Report,
): TierRule {
  const inTier = new Report([]);
  const { reservation } = resolveCapacity({ ...tier, allocation_mode: 'queued-resources' }, zones, inTier);
  for (const problem of inTier.problems)
    report.problem([...path, ...problem.path.slice(1)], problem.value, problem.message, problem.hint);
  const pricing = pricingOf(tier);
  return { ...(pricing !== undefined && { pricing }), ...(reservation !== undefined && { reservation }) };
}

function largestSliceOf(byZone: NonNullable<PoolFileForm['largest_slice']>, report: Report): PoolRules['largestSlice'] {
  return Object.fromEntries(
    Object.entries(byZone).map(([zone, units]) => {
      checkZone(['largest_slice', zone], zone, report);
      return [zone, unitsByType(units, ['largest_slice', zone], report)];
    }),
  );
}

function limitsOf(
  byProject: Readonly<Record<string, QuotaUnits>>,
  path: Path,
  report: Report,
): PoolRules['lendingLimits'] {
  const names = Object.keys(byProject);
  return Object.fromEntries(
    Object.entries(byProject).map(([name, units], index) => {
      const twin = names.slice(0, index).find((other) => isSameProject(other, name));
      if (twin !== undefined)
        report.problem([...path, name], units, `'${name}' and '${twin}' differ by case only`, 'keep one');
      return [name.toLowerCase(), unitsByType(units, [...path, name], report)];
    }),
  );
}

/** Under the API's names of the types. */
function unitsByType(units: QuotaUnits, path: Path, report: Report): QuotaUnits {
  const byType = new Map<string, number>();
  for (const [name, amount] of Object.entries(units)) {
    const type = canonicalGeneration(name);
    if (byType.has(type))
      report.problem([...path, name], amount, `${type} is given twice`, 'v5e is another name of v5litepod');
    byType.set(type, amount);
  }
  return Object.fromEntries(byType);
}

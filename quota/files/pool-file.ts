import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import { Report, checkForm } from '../../domain/job-file/report.js';
import { resolveInventory } from '../../domain/machine-kinds/machines/section.js';
import type { OwnMachine } from '../../domain/machine-kinds/machines/words.js';
import { checkPoolTables, checkPoolZone, tierPurchase } from '../../domain/pool-tables.js';
import type { Path, Problem } from '../../domain/problem.js';
import { type AccessRules, NO_ACCESS_RULES } from '../membership.js';
import {
  poolFileSchema,
  type PoolFileForm,
  RULE_KEYS,
  accessRulesOf,
  poolLimitsOf,
  priorityFloorsOf,
} from './pool-file-form.js';
import { type PoolRules, DEFAULT_RULES, twinsOf, type PoolLimits } from '../quota-config.js';
import { MOST_POOL_FILE } from '../../domain/bounds.js';
import { located, readToml, sizeProblem, TomlPositions } from './toml-text.js';
import { canonicalGeneration } from '../../domain/accelerators.js';
import { secondsOf } from '../../domain/job-file/fields.js';
import type { QuotaUnits } from '../../domain/units.js';
import { checkAllow, poolChoicesOf, type PoolChoices } from '../allowed.js';

const POOL_FILE = { schema: poolFileSchema(), title: 'a pool file' };

export type ParsedPoolFile =
  | {
      readonly ok: true;
      readonly defaults: PoolDefaults;
      /** Rules about quota; absent: none. `checkFiles` (pool-files.ts) checks whether they fit a quota file. */
      readonly rules?: PoolRules;
      /** Own machines, in file order; empty without `[[machines]]`. */
      readonly machines: readonly OwnMachine[];
      readonly access: AccessRules;
      readonly choices: PoolChoices;
      readonly limits?: PoolLimits;
      /** The file as written. */
      readonly form: PoolFileForm;
    }
  | { readonly ok: false; /** In file order. */ readonly problems: readonly Problem[] };

/**
 * Reads a pool file: settings of a pool that Bastion's quota file cannot hold, as TOML beside it (docs/pool-file.md).
 * @param file the file's name, for messages, also those about jobs
 * @param pool the pool that the file belongs to
 */
export function parsePoolFile(source: string, file: string, pool: string): ParsedPoolFile {
  const size = sizeProblem(source, MOST_POOL_FILE);
  if (size !== undefined) return { ok: false, problems: [{ file, path: [], ...size }] };
  const positions = new TomlPositions(source);
  const tree = readToml(source, positions);
  if (!tree.ok) return { ok: false, problems: [{ file, ...tree.problem }] };
  const { form, problems, dropped } = checkForm(POOL_FILE, tree.value);
  const report = new Report(dropped);
  checkPoolTables(form, report);
  const ofRules = new Report(dropped);
  const rules = poolRulesOf(form, ofRules);
  const ofMachines = new Report(dropped);
  const machines = resolveInventory(form.machines ?? [], ofMachines);
  const ofAccess = new Report(dropped);
  const access = form.access === undefined ? NO_ACCESS_RULES : accessRulesOf(form.access, ofAccess);
  checkAllow(form, ofRules);
  const limits = poolLimitsOf(form, ofRules);
  const all = [...problems, ...report.problems, ...ofRules.problems, ...ofMachines.problems, ...ofAccess.problems];
  if (all.length > 0) return { ok: false, problems: located(all, file, positions) };
  return {
    ok: true,
    defaults: { ...asDefaults(form, file, pool), ...largestOf(form) },
    ...(rules && { rules }),
    machines,
    access,
    choices: poolChoicesOf(form, file, pool),
    ...(limits && { limits }),
    form,
  };
}

function asDefaults(form: PoolFileForm, file: string, pool: string): PoolDefaults {
  const { google_project, zones, tpu } = form;
  const listedZones = [...new Set([...(zones ?? []), ...Object.keys(form.largest_slice ?? {})])];
  return {
    pool,
    file,
    ...(google_project !== undefined && { googleProject: google_project }),
    ...(zones && zones.length > 0 && { zones }),
    ...(listedZones.length > 0 && { listedZones }),
    ...(tpu && { tpu }),
  };
}

/** `largest_slice` also applies to a pool without a quota file, which has no other rules. */
const largestOf = ({ largest_slice: bounds }: PoolFileForm): Pick<PoolDefaults, 'largestSlice'> =>
  bounds === undefined ? {} : { largestSlice: largestSliceOf(bounds, new Report([])) };

/** The file's rules about quota, over the defaults; undefined if it has none. Problems go into `report`. */
export function poolRulesOf(form: PoolFileForm, report: Report): PoolRules | undefined {
  const floors = priorityFloorsOf(form, report);
  if (floors === undefined && RULE_KEYS.every((key) => form[key] === undefined)) return undefined;
  return {
    ...timesOf(form.quota ?? {}, report),
    tiers: (form.tiers ?? []).map((tier, index) => tierPurchase(tier, form.zones ?? [], ['tiers', index], report)),
    largestSlice: largestSliceOf(form.largest_slice ?? {}, report),
    borrowingLimits: limitsOf(form.borrowing_limits ?? {}, ['borrowing_limits'], report),
    lendingLimits: limitsOf(form.lending_limits ?? {}, ['lending_limits'], report),
    requireProject: form.quota?.require_project ?? DEFAULT_RULES.requireProject,
    admins: form.quota?.admins ?? DEFAULT_RULES.admins,
    ...(floors && { priorityFloors: floors }),
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
    const coolDown = String(form.cool_down ?? `${DEFAULT_RULES.coolDownMs / 60_000}m`);
    report.wrong(['quota', 'cool_down_max'], form.cool_down_max, `less than cool_down, which is ${coolDown}`);
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
  if (seconds > LONGEST_SECONDS)
    report.wrong(['quota', key], value, 'longer than a year', 'write 8760h or less, such as 24h');
  return Math.round(seconds * 1000);
}

function largestSliceOf(byZone: NonNullable<PoolFileForm['largest_slice']>, report: Report): PoolRules['largestSlice'] {
  return Object.fromEntries(
    Object.entries(byZone).map(([zone, units]) => {
      checkPoolZone(['largest_slice', zone], zone, report);
      return [zone, unitsByType(units, ['largest_slice', zone], report)];
    }),
  );
}

function limitsOf(
  byProject: Readonly<Record<string, QuotaUnits>>,
  path: Path,
  report: Report,
): PoolRules['lendingLimits'] {
  const twins = twinsOf(Object.keys(byProject));
  return Object.fromEntries(
    Object.entries(byProject).map(([name, units]) => {
      const twin = twins.get(name);
      if (twin !== undefined)
        report.problem([...path, name], units, `'${name}' and '${twin}' differ by case only`, 'keep one');
      return [name.toLowerCase(), unitsByType(units, [...path, name], report)];
    }),
  );
}

/** Units by the API's names of the types. */
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

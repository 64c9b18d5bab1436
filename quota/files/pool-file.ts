import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import { Report } from '../../domain/job-file/report.js';
import { checkForm } from '../../domain/job-file/schema-problems.js';
import { inventoryForm, resolveInventory } from '../../domain/machine-kinds/machines/inventory.js';
import type { OwnMachine } from '../../domain/machine-kinds/machines/words.js';
import { checkZone } from '../../domain/machine-kinds/cloud-tpu/google-keys.js';
import { checkPoolDefaults } from '../../domain/machine-kinds/cloud-tpu/section.js';
import type { Path, Problem } from '../../domain/problem.js';
import { type AccessRules, NO_ACCESS_RULES } from '../access-roles.js';
import type { PoolRules, TierRule } from '../quota-config.js';
import { accessRulesOf, accessSection } from './access-section.js';
import { located, readToml, TomlPositions } from './toml-text.js';
import { canonicalGeneration } from '../../domain/job-file/accelerator.js';
import { pricingOf, resolveCapacity } from '../../domain/machine-kinds/cloud-tpu/capacity-keys.js';
import { duration, flag, secondsOf, section, text, texts, wholeNumber } from '../../domain/job-file/fields.js';
import type { QuotaUnits } from '../../domain/units.js';
import { DEFAULT_RULES, isSameProject } from '../quota-config.js';
import { z } from 'zod';
import { poolTpuSection } from '../../domain/job-file/pool-defaults.js';
import { MOST_UNITS } from '../../domain/units.js';

const units = (): z.ZodRecord<z.ZodString, ReturnType<typeof wholeNumber>> =>
  z.record(z.string(), wholeNumber(0, MOST_UNITS), { error: 'a table of units by type, such as v5litepod = 16' });
const unitsBy = (what: string): z.ZodOptional<z.ZodRecord<z.ZodString, ReturnType<typeof units>>> =>
  z.record(z.string(), units(), { error: `a table by ${what}` }).optional();

const tier = section({
  pricing: text()
    .optional()
    .describe('spot, ondemand, preemptible or reserved: the tier serves jobs that name it or name none.'),
  reservation: text().optional().describe("Name or path of a Google reservation that the tier's chips come from."),
});

const quota = section({
  min_runtime: duration().optional().describe('A borrower keeps its chips for so long at least.'),
  aging: duration().optional().describe('A job that has waited so long gets a reservation.'),
  max_guarantee_delay: duration().optional().describe('Reservations hold in-quota demand back for so long at most.'),
  asking_timeout: duration().optional().describe('A lease without chips comes back after so long, while others wait.'),
  cool_down: duration().optional().describe('A place that gave no chips is left alone for so long; doubled each time.'),
  cool_down_max: duration().optional().describe('The longest cool-down.'),
  require_project: flag().optional().describe('Whether a job whose user is member of no project is refused.'),
  admins: texts()
    .optional()
    .describe('Users who may apply files, freeze, drain and set priorities; everybody without it.'),
});

const schema = section({
  google_project: text().optional().describe('Id of the Google Cloud project of jobs that name none.'),
  zones: texts().optional().describe('Zones of jobs that name none, in order of preference.'),
  tpu: poolTpuSection().optional().describe("Defaults for tpu of a job file, under the job file's own keys."),
  machines: inventoryForm().optional().describe('Machines of your own, for jobs with the section machines.'),
  quota: quota
    .optional()
    .describe('The times of the quota rules (docs/quota.md), who must name a project, and who is admin.'),
  access: accessSection().optional().describe('Who may do what where users are verified (docs/access.md).'),
  tiers: z
    .array(tier, { error: 'a list of tables: write [[tiers]]' })
    .optional()
    .describe('What each tier of the quota file is bought as, in the order of its [[total_resources]].'),
  largest_slice: unitsBy('zone').describe('By zone and type: units of the largest slice that it can hold.'),
  borrowing_limits: unitsBy('project').describe('By project and type: units that it may borrow at most.'),
  lending_limits: unitsBy('project').describe(
    'By project and type: units of its nominal quota that others may borrow at most, in each tier.',
  ),
});

/** The form of a pool file. Behind a function, as every schema: docs/adr/0012. */
export const poolFileSchema = (): typeof schema => schema;
export type PoolFileForm = z.infer<typeof schema>;

/** The keys that say something of quota: without a quota file they have no effect. */
export const RULE_KEYS = ['quota', 'tiers', 'largest_slice', 'borrowing_limits', 'lending_limits'] as const;

/** The form as JSON Schema (draft 2020-12), for editors. */
export function poolFileJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(schema, { io: 'input' }), title: 'jobctl pool file' };
}

const POOL_FILE = { schema: poolFileSchema(), title: 'a pool file' };

export type ParsedPoolFile =
  | {
      readonly ok: true;
      readonly defaults: PoolDefaults;
      /** What it says of quota; absent: nothing. Whether that fits a quota file: `checkFiles` (pool-files.ts). */
      readonly rules?: PoolRules;
      /** Machines of one's own, in file order; none without `[[machines]]`. */
      readonly machines: readonly OwnMachine[];
      readonly access: AccessRules;
      /** As written. */
      readonly form: PoolFileForm;
    }
  | { readonly ok: false; /** In file order. */ readonly problems: readonly Problem[] };

/**
 * Reads a pool file: what Bastion's quota file cannot say of a pool, as TOML beside it (docs/pool-file.md).
 * @param file its name, for messages, those about jobs too
 * @param pool whose file it is
 */
export function parsePoolFile(source: string, file: string, pool: string): ParsedPoolFile {
  const positions = new TomlPositions(source);
  const tree = readToml(source, positions);
  if (!tree.ok) return { ok: false, problems: [{ file, ...tree.problem }] };
  const { form, problems, dropped } = checkForm(POOL_FILE, tree.value);
  const report = new Report(dropped);
  checkPoolDefaults(asTpuForm(form), report);
  const ofTpu = report.problems.map((problem) => ({ ...problem, path: inPoolFile(problem.path) }));
  const ofRules = new Report(dropped);
  const rules = poolRulesOf(form, ofRules);
  const ofMachines = new Report(dropped);
  const machines = resolveInventory(form.machines ?? [], ofMachines);
  const ofAccess = new Report(dropped);
  const access = form.access === undefined ? NO_ACCESS_RULES : accessRulesOf(form.access, ofAccess);
  const all = [...problems, ...ofTpu, ...ofRules.problems, ...ofMachines.problems, ...ofAccess.problems];
  if (all.length > 0) return { ok: false, problems: located(all, file, positions) };
  return { ok: true, defaults: asDefaults(form, file, pool), ...(rules && { rules }), machines, access, form };
}

function asDefaults({ google_project, zones, tpu }: PoolFileForm, file: string, pool: string): PoolDefaults {
  return {
    pool,
    file,
    ...(google_project !== undefined && { googleProject: google_project }),
    ...(zones && zones.length > 0 && { zones }),
    ...(tpu && { tpu }),
  };
}

/** The keys as a job's `tpu` has them; the version is a text whatever its form. */
function asTpuForm({ google_project, zones, tpu }: PoolFileForm) {
  const { version: _, ...rest } = tpu ?? {};
  return { ...rest, ...(google_project !== undefined && { project: google_project }), ...(zones && { zones }) };
}

/** Where the pool file has what a job file has in `tpu`. */
function inPoolFile(path: Path): Path {
  if (path[1] === 'zones') return path.slice(1);
  return path[1] === 'project' ? ['google_project'] : path;
}

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

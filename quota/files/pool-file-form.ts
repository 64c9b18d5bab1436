import { z } from 'zod';
import { duration, flag, section, text, texts, wholeNumber, oneOf } from '../../domain/job-file/fields.js';
import { inventoryForm } from '../../domain/machine-kinds/machines/section.js';
import { poolTableForms } from '../../domain/pool-tables.js';
import { MOST_UNITS } from '../../domain/units.js';
import { PRINCIPAL, PRINCIPAL_RULE } from '../../domain/access.js';
import type { Report } from '../../domain/job-file/report.js';
import type { Path } from '../../domain/problem.js';
import { MOST_INPUT_BYTES } from '../../domain/bounds.js';
import { MOST_REQUESTS } from '../../domain/slice.js';
import { type AccessRules, type ServiceRule, patternProblem } from '../membership.js';
import { twinsOf, type PoolLimits, type PriorityFloors } from '../quota-config.js';
import { allowSection } from '../allowed.js';

const service = section({
  subject: text().describe("Id of the service's account, as its token has it."),
  submit_for: texts().describe('Users that it may submit for: names, or patterns (RE2, full match).'),
});

const access = section({
  operators: texts()
    .optional()
    .describe(
      'Principals (user:NAME, group:NAME, service:NAME) that may do everything in this pool; nobody without it.',
    ),
  readers: oneOf(['owner', 'project', 'pool'])
    .optional()
    .describe(
      "Who reads job files, logs and outputs beside owner, admins and operators: the project's members (default).",
    ),
  projects: z
    .record(
      z.string(),
      section({ admins: texts().optional().describe('Principals that may change every job of the project.') }),
      { error: 'a table by project' },
    )
    .optional()
    .describe('By project of the quota file: who its admins are.'),
  services: z
    .array(service, { error: 'a list of tables: write [[access.services]]' })
    .optional()
    .describe('Services that submit for people.'),
});

/** `[access]` of a pool file. Behind a function, as every schema: docs/adr/0012. */
const accessSection = (): typeof access => access;
type AccessForm = z.infer<typeof access>;

/** Reads `[access]`. Problems go into `report`. */
export function accessRulesOf(form: AccessForm, report: Report): AccessRules {
  return {
    operators: principals(form.operators ?? [], ['access', 'operators'], report),
    projectAdmins: adminsOf(form.projects ?? {}, report),
    services: (form.services ?? []).map((each, index) => serviceOf(each, ['access', 'services', index], report)),
    readers: form.readers ?? 'project',
  };
}

function principals(names: readonly string[], path: Path, report: Report): readonly string[] {
  names.forEach((name, index) => {
    if (!PRINCIPAL.test(name)) report.wrong([...path, index], name, 'no principal', PRINCIPAL_RULE);
  });
  return names;
}

function adminsOf(projects: NonNullable<AccessForm['projects']>, report: Report): AccessRules['projectAdmins'] {
  const twins = twinsOf(Object.keys(projects));
  return Object.fromEntries(
    Object.entries(projects).map(([name, { admins = [] }]) => {
      const path = ['access', 'projects', name];
      const twin = twins.get(name);
      if (twin !== undefined)
        report.problem(path, undefined, `'${name}' and '${twin}' differ by case only`, 'keep one');
      return [name.toLowerCase(), principals(admins, [...path, 'admins'], report)];
    }),
  );
}

function serviceOf({ subject, submit_for }: z.infer<typeof service>, path: Path, report: Report): ServiceRule {
  submit_for.forEach((pattern, index) => {
    const problem = patternProblem(pattern);
    if (problem !== undefined) report.wrong([...path, 'submit_for', index], pattern, `no pattern: ${problem}`);
  });
  return { subject, submitFor: submit_for };
}

const SIZE_ERROR = 'a number of bytes, or a size such as 64KiB, 500MiB or 10GiB';
const size = (): z.ZodUnion<readonly [z.ZodNumber, z.ZodString]> =>
  z.union(
    [
      z.int({ error: SIZE_ERROR }).min(1, { error: SIZE_ERROR }),
      z.string().regex(/^\d+(\.\d+)?([KMGT]iB)$/, { error: SIZE_ERROR }),
    ],
    { error: SIZE_ERROR },
  );

const MOST_JOBS = 1_000_000;

const limits = section({
  open_jobs_per_user: wholeNumber(1, MOST_JOBS).optional().describe('Open jobs that one user may have in the pool.'),
  submits_per_minute: wholeNumber(1, MOST_JOBS)
    .optional()
    .describe('Jobs of one user that the pool takes in a minute.'),
  requests_per_job: wholeNumber(1, MOST_REQUESTS)
    .optional()
    .describe('Requests that one job may have at once, each in another zone; 1: no job may hedge.'),
  priority_floor: z
    .record(z.string(), wholeNumber(1, 5), { error: 'a table of priorities by project, such as vision = 2' })
    .optional()
    .describe('By project: the highest priority that its jobs may have, 1 (first) to 5.'),
  log_bytes_per_attempt: size()
    .optional()
    .describe('Stored output of the command of one attempt, all hosts together; the rest is not kept.'),
  input_bytes: size()
    .optional()
    .describe('Size of a job as it is submitted: its file as text and as JSON, and names of files.'),
});

/** The form of `[limits]`. Behind a function, as every schema: docs/adr/0012. */
const limitsSection = (): typeof limits => limits;

interface Form {
  readonly limits?: z.infer<typeof limits> | undefined;
}

const UNITS: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

const bytesOf = (value: number | string): number =>
  typeof value === 'number' ? value : Math.floor(Number(value.slice(0, -3)) * (UNITS[value.slice(-3)] ?? NaN));

/** Least limit of a log. A smaller one would cut the first lines of any job, in which people look for the error. */
const LEAST_LOG_BYTES = 64 * 2 ** 10;
/** Least limit of a job's input: about the size of a job file of one screen. */
const LEAST_INPUT_BYTES = 4 * 2 ** 10;

/** Reads the limits. Problems go into `report`. Undefined if the file sets no limit of a user or a job. */
export function poolLimitsOf({ limits }: Form, report: Report): PoolLimits | undefined {
  const { open_jobs_per_user, submits_per_minute, requests_per_job, log_bytes_per_attempt, input_bytes } = limits ?? {};
  const found: PoolLimits = {
    ...(open_jobs_per_user !== undefined && { openJobsPerUser: open_jobs_per_user }),
    ...(submits_per_minute !== undefined && { submitsPerMinute: submits_per_minute }),
    ...(requests_per_job !== undefined && { requestsPerJob: requests_per_job }),
    ...(log_bytes_per_attempt !== undefined && {
      logBytesPerAttempt: within(['limits', 'log_bytes_per_attempt'], log_bytes_per_attempt, report, LEAST_LOG_BYTES),
    }),
    ...(input_bytes !== undefined && {
      inputBytes: within(['limits', 'input_bytes'], input_bytes, report, LEAST_INPUT_BYTES, MOST_INPUT_BYTES),
    }),
  };
  return Object.keys(found).length === 0 ? undefined : found;
}

function within(path: Path, value: number | string, report: Report, least: number, most = Infinity): number {
  const bytes = bytesOf(value);
  if (bytes < least) report.wrong(path, value, 'too small', `${least} bytes at least`);
  if (bytes > most)
    report.wrong(
      path,
      value,
      'too large',
      `${most} bytes at most: Temporal takes messages of 2 MB, and keeps a job's input in several`,
    );
  return bytes;
}

/** Floors of `[limits] priority_floor`, by project in lower case. */
export function priorityFloorsOf({ limits }: Form, report: Report): PriorityFloors | undefined {
  const given = limits?.priority_floor;
  if (given === undefined) return undefined;
  const floors = new Map<string, number>();
  for (const [name, floor] of Object.entries(given)) {
    if (floors.has(name.toLowerCase()))
      report.problem(
        ['limits', 'priority_floor', name],
        floor,
        `'${name}' is there twice: case does not count`,
        'keep one',
      );
    floors.set(name.toLowerCase(), floor);
  }
  return Object.fromEntries(floors);
}

const units = (): z.ZodRecord<z.ZodString, ReturnType<typeof wholeNumber>> =>
  z.record(z.string(), wholeNumber(0, MOST_UNITS), { error: 'a table of units by type, such as v5litepod = 16' });
const unitsBy = (what: string): z.ZodOptional<z.ZodRecord<z.ZodString, ReturnType<typeof units>>> =>
  z.record(z.string(), units(), { error: `a table by ${what}` }).optional();

const tier = section({
  pricing: text()
    .optional()
    .describe('spot, ondemand, preemptible, reserved or flex-start: the tier serves jobs that name it or name none.'),
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
  ...poolTableForms(),
  machines: inventoryForm().optional().describe('Machines of your own, for jobs with the section machines.'),
  access: accessSection().optional().describe('Who may do what where users are verified (docs/access.md).'),
  allow: allowSection()
    .optional()
    .describe(
      'What jobs may choose beside what the pool gives them; without it anything, in a verified pool nothing else.',
    ),
  limits: limitsSection().optional().describe('What one user or one job may take of the pool.'),
  quota: quota
    .optional()
    .describe('The times of the quota rules (docs/quota.md), who must name a project, and who is admin.'),
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

/** Keys about quota. Without a quota file they have no effect. */
export const RULE_KEYS = ['quota', 'tiers', 'largest_slice', 'borrowing_limits', 'lending_limits'] as const;

/** The form as JSON Schema (draft 2020-12), for editors. */
export function poolFileJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(schema, { io: 'input' }), title: 'jobctl pool file' };
}

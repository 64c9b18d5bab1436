import { askedSize, formatSlices, kindOfJob, machineKind } from '../../../domain/machines.js';
import { jobDocuments } from '../../../domain/job-file/documents.js';
import { choicesOf } from '../../../domain/job-choices.js';
import { tooFewMachines } from '../../../domain/machine-kinds/machines/choice.js';
import { inputVariable, type InputSpec } from '../../../domain/inputs.js';
import { inputSizeProblem } from '../../../domain/bounds.js';
import { formatProblem, formatProblems } from '../../../domain/problem.js';
import { assignmentAt, assignmentText, type JobArray, memberIndexes } from '../../../domain/array/array.js';
import { count } from '../../../domain/units.js';
import { allowedIn, notAllowed } from '../../../quota/allowed.js';
import type { ParsedPoolFile } from '../../../quota/files/pool-file.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import {
  printVerdict,
  type Verdict,
  choiceEssentials,
  poolEssentials,
  timeEssentials,
} from '../../terminal/render/operator-files.js';
import { type GoodJob, placed, readJobSource, readJobText, readText, type WrittenJob } from '../../job/job-file.js';
import type { OutputFlag } from '../../terminal/options.js';
import { mustHaveOrder, readAll } from '../../job/several-jobs.js';
import { commandSummary } from '../../terminal/render/job-header.js';
import { renderTable } from '../../terminal/render/columns.js';

export interface ValidateFlags extends OutputFlag {
  readonly set?: readonly string[];
  readonly kind?: FileKind;
  readonly poolFile?: string;
}
type FileKind = 'job' | 'pool' | 'quota';

export async function validate(file: string, flags: ValidateFlags): Promise<number> {
  return printVerdict(file, flags.output, () => judge(file, flags));
}

/** @throws CliError with every problem */
async function judge(file: string, flags: ValidateFlags): Promise<Verdict> {
  const kind = flags.kind ?? kindOf(file);
  if (kind !== 'job' && (flags.set || (kind === 'pool' && flags.poolFile !== undefined)))
    throw new CliError(ExitCode.Usage, `${file}: is a ${kind} file; --set and --pool-file are for job files`);
  switch (kind) {
    case 'job': {
      const documents = jobDocuments(readJobSource(file), file);
      const pool = flags.poolFile === undefined ? undefined : await readPoolFile(flags.poolFile);
      const judgeOne = (text: string): Promise<JobVerdict> => judgeJob(file, text, flags.set ?? [], pool);
      return documents.length > 1 ? judgeJobs(file, documents, judgeOne) : judgeOne(documents[0] ?? '');
    }
    case 'pool': {
      const { defaults, rules, choices, limits } = await readPoolFile(file);
      const lines = [
        ...poolEssentials(defaults),
        ...(rules === undefined ? [] : timeEssentials(rules)),
        ...choiceEssentials(choices, limits),
      ];
      const { allow } = choices;
      const said = { ...(rules && { rules }), ...(allow && { allow }), ...(limits && { limits }) };
      return { notes: [], lines, json: { pool: defaults, ...said, warnings: [] } };
    }
    case 'quota': {
      const { judgeFiles } = await import('./quota-files.js');
      return judgeFiles(file, flags.poolFile);
    }
  }
}

const WANTED = 'jobctl validate takes the path of a job file (YAML), a pool file or a quota file (TOML)';
/** Tables that a quota file has and a pool file does not. */
const QUOTA_TABLE = /^[ \t]*\[\[?[ \t]*["']?(toml-schema|total_resources|project_membership|project_resources)\b/m;

function kindOf(file: string): FileKind {
  if (!/\.(toml|config)$/i.test(file)) return 'job';
  return QUOTA_TABLE.test(readText(file, WANTED)) ? 'quota' : 'pool';
}

interface JobVerdict extends Verdict {
  readonly job: GoodJob;
}

/** Checks a file of several jobs. */
async function judgeJobs(
  file: string,
  documents: readonly string[],
  judgeOne: (text: string) => Promise<JobVerdict>,
): Promise<Verdict> {
  const verdicts = await readAll(documents, judgeOne);
  mustHaveOrder(
    file,
    documents,
    verdicts.map(({ job }) => job),
  );
  return {
    notes: verdicts.flatMap(({ notes }) => notes),
    lines: verdicts.flatMap(({ lines, job }, index) => [
      ...(index === 0 ? [] : ['']),
      `job ${job.spec.name}`,
      ...lines,
    ]),
    json: { jobs: verdicts.map(({ json }) => json), warnings: verdicts.flatMap(({ json }) => json.warnings) },
  };
}

async function judgeJob(
  file: string,
  source: string,
  set: readonly string[],
  pool: GoodPoolFile | undefined,
): Promise<JobVerdict> {
  const known = pool === undefined ? { isZoneStrict: true as const } : { pool: pool.defaults };
  const job = await readJobText(file, source, { set, ...known, isDry: true, mayBeArray: true });
  const { spec, warnings, leftToPool } = job;
  if (pool !== undefined) refuseByPool(pool, job, { file, set, source: job.source });
  const notes = warnings.map((warning) => `${file}: warning: ${warning}`);
  const members = job.array && memberIndexes(job.array).length;
  const json = { ...(members !== undefined && { members }), spec, leftToPool, warnings };
  return { notes, lines: jobEssentials(job), json, job };
}

/**
 * Refuses values that a worker would refuse by the pool file alone, with their places in the job file. Only a worker knows
 * whether the pool is in verified mode, and for which user the job counts.
 * @throws CliError
 */
function refuseByPool({ choices, limits, machines }: GoodPoolFile, { spec, raw }: GoodJob, written: WrittenJob): void {
  const allowed = allowedIn(choices, { isStrict: false });
  const problems = allowed === undefined ? [] : notAllowed(allowed, choicesOf(spec));
  const size = inputSizeProblem({ v: 1, job: raw, source: written.source }, limits?.inputBytes);
  const lines = [
    ...problems.map((problem) => formatProblem(placed(written, problem))),
    ...(size === undefined ? [] : [`${written.file}: ${size}`]),
  ];
  if (lines.length > 0) throw new CliError(ExitCode.Usage, lines.join('\n'));
  const tooFew = 'machines' in spec ? tooFewMachines(spec.machines, spec.slices, machines) : undefined;
  if (tooFew !== undefined) throw new CliError(ExitCode.Refused, formatProblem(placed(written, tooFew)));
}

type GoodPoolFile = Extract<ParsedPoolFile, { ok: true }>;

async function readPoolFile(file: string): Promise<GoodPoolFile> {
  const { parsePoolFile } = await import('../../../quota/files/pool-file.js');
  const parsed = parsePoolFile(readText(file, WANTED), file, 'default');
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  return parsed;
}

/** The rows that `validate` prints for a job file. */
export function jobEssentials({
  spec,
  leftToPool,
  array,
}: Pick<GoodJob, 'spec' | 'leftToPool' | 'array'>): readonly string[] {
  const { modules } = spec;
  const { chips, hosts } = askedSize(spec);
  const orPools = (key: string): string => (leftToPool.includes(key) ? " (or the pool's)" : '');
  const kind = machineKind(kindOfJob(spec));
  const ends = kind.endsText?.(spec, orPools);
  const rows: (readonly [string, string])[] = [
    ...(array === undefined ? [] : arrayEssentials(array)),
    ['slice', `${formatSlices(spec)}: ${count(chips, 'chip')} on ${count(hosts, 'host')}`],
    ...kind.requestFacts(spec, orPools),
    ...(ends === undefined ? [] : [['ends', ends] as const]),
    ['modules', modules.length === 0 ? 'none' : modules.join(', ')],
    ...Object.entries(spec.inputs ?? {}).map(([name, input]) => ['input', inputSummary(name, input)] as const),
    ['command', commandSummary(spec)],
  ];
  return renderTable(rows.map(([key, value]) => [`  ${key}`, value]));
}

/** `data: tokens of prep, in $JOBCTL_INPUT_DATA`. */
const inputSummary = (name: string, { job, path }: InputSpec): string =>
  `${name}: ${path === undefined ? 'all' : path} of ${job}, in $${inputVariable(name)}`;

function arrayEssentials(array: JobArray): readonly (readonly [string, string])[] {
  const indexes = memberIndexes(array);
  const [first = 0] = indexes;
  const how = array.maxParallel === undefined ? '' : `, ${array.maxParallel} at a time`;
  return [
    ['array', `${count(indexes.length, 'member')}${how}`],
    ['first', `member ${first}: ${assignmentText(assignmentAt(array, first))}`],
  ];
}

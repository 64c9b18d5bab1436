import type { PoolDefaults } from '../../../domain/job-file/pool-defaults.js';
import { acceleratorOf, chipsOfJob, formatSlices } from '../../../domain/job-units.js';
import { formatProblems } from '../../../domain/problem.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { type GoodJob, readJobFile, readText } from '../job-file.js';
import type { OutputFlag } from '../options.js';
import { commandSummary, count } from '../render/job-header.js';
import { poolEssentials, quotaEssentials } from '../render/operator-files.js';
import { renderTable } from '../render/table.js';

export interface ValidateFlags extends OutputFlag {
  readonly set?: readonly string[];
  readonly kind?: FileKind;
  readonly poolFile?: string;
}
type FileKind = 'job' | 'pool' | 'quota';

/** What a good file comes to: as lines, and as JSON. */
interface Verdict {
  readonly warnings: readonly string[];
  readonly lines: readonly string[];
  readonly json: object;
}

export async function validate(file: string, flags: ValidateFlags): Promise<number> {
  if (flags.output === 'json') return validateAsJson(file, flags);
  const { warnings, lines } = await judge(file, flags);
  for (const warning of warnings) process.stderr.write(`${file}: warning: ${warning}\n`);
  process.stdout.write(`${file}: ok\n${lines.join('\n')}\n`);
  return ExitCode.Done;
}

/** Problems are the answer here, so they go to stdout too. */
async function validateAsJson(file: string, flags: ValidateFlags): Promise<number> {
  try {
    const { json, warnings } = await judge(file, flags);
    print({ ok: true, ...json, warnings });
    return ExitCode.Done;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    print({ ok: false, message: error.message });
    return error.exitCode;
  }
}

const print = (value: object): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);

/** @throws CliError with all that is wrong */
async function judge(file: string, flags: ValidateFlags): Promise<Verdict> {
  const kind = flags.kind ?? kindOf(file);
  if (kind !== 'job' && (flags.set || flags.poolFile !== undefined))
    throw new CliError(ExitCode.Usage, `${file}: is a ${kind} file; --set and --pool-file are for job files`);
  switch (kind) {
    case 'job':
      return judgeJob(file, flags);
    case 'pool': {
      const defaults = await readPoolFile(file);
      return { warnings: [], lines: poolEssentials(defaults), json: { pool: defaults } };
    }
    case 'quota':
      return judgeQuota(file);
  }
}

const WANTED = 'jobctl validate takes the path of a job file (YAML), a pool file or a quota file (TOML)';
/** Tables that a quota file has and a pool file does not. */
const QUOTA_TABLE = /^\s*\[\[?\s*["']?(toml-schema|total_resources|project_membership|project_resources)\b/m;

function kindOf(file: string): FileKind {
  if (!/\.(toml|config)$/i.test(file)) return 'job';
  return QUOTA_TABLE.test(readText(file, WANTED)) ? 'quota' : 'pool';
}

async function judgeJob(file: string, { set = [], poolFile }: ValidateFlags): Promise<Verdict> {
  const pool = poolFile === undefined ? {} : { pool: await readPoolFile(poolFile) };
  const job = readJobFile(file, { set, ...pool });
  const { spec, warnings, leftToPool } = job;
  return { warnings, lines: jobEssentials(job), json: { spec, leftToPool } };
}

async function readPoolFile(file: string): Promise<PoolDefaults> {
  const { parsePoolFile } = await import('../../../quota/pool-file.js');
  const parsed = parsePoolFile(readText(file, WANTED), file, 'default');
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  return parsed.defaults;
}

async function judgeQuota(file: string): Promise<Verdict> {
  const { parseQuotaFile } = await import('../../../quota/quota-file.js');
  const parsed = parseQuotaFile(readText(file, WANTED), file);
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  const { config, warnings } = parsed;
  return { warnings, lines: quotaEssentials(config), json: { quota: config } };
}

function jobEssentials({ spec, leftToPool }: GoodJob): readonly string[] {
  const { tpu, modules, command } = spec;
  const hosts = acceleratorOf(spec).hosts * spec.slices;
  const orPools = (key: string): string => (leftToPool.includes(key) ? " (or the pool's)" : '');
  const rows: (readonly [string, string])[] = [
    ['slice', `${formatSlices(spec)}: ${count(chipsOfJob(spec), 'chip')} on ${count(hosts, 'host')}`],
    ['pricing', `${tpu.pricing}${orPools('pricing')}, by ${tpu.allocationMode}${orPools('allocation_mode')}`],
    [
      'zones',
      tpu.zones.length === 0 ? "the pool's: the file names none (--pool-file checks it)" : tpu.zones.join(', '),
    ],
    ['project', tpu.project ?? "the pool's, else the worker's"],
    ['runtime', `${tpu.runtimeVersion}${orPools('version')}`],
    ['modules', modules.length === 0 ? 'none' : modules.join(', ')],
    ['command', commandSummary(command)],
  ];
  return renderTable(rows.map(([key, value]) => [`  ${key}`, value]));
}

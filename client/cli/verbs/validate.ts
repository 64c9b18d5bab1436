import { askedSize, formatSlices, kindOfJob, machineKind } from '../../../domain/machines.js';
import { formatProblems } from '../../../domain/problem.js';
import { count } from '../../../domain/units.js';
import type { ParsedPoolFile } from '../../../quota/files/pool-file.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { printVerdict, type Verdict } from '../file-verdict.js';
import { type GoodJob, readJobFile, readText } from '../job-file.js';
import type { OutputFlag } from '../options.js';
import { commandSummary } from '../render/job-header.js';
import { poolEssentials, timeEssentials } from '../render/operator-files.js';
import { renderTable } from '../render/columns.js';

export interface ValidateFlags extends OutputFlag {
  readonly set?: readonly string[];
  readonly kind?: FileKind;
  readonly poolFile?: string;
}
type FileKind = 'job' | 'pool' | 'quota';

export async function validate(file: string, flags: ValidateFlags): Promise<number> {
  return printVerdict(file, flags.output, () => judge(file, flags));
}

/** @throws CliError with all that is wrong */
async function judge(file: string, flags: ValidateFlags): Promise<Verdict> {
  const kind = flags.kind ?? kindOf(file);
  if (kind !== 'job' && (flags.set || (kind === 'pool' && flags.poolFile !== undefined)))
    throw new CliError(ExitCode.Usage, `${file}: is a ${kind} file; --set and --pool-file are for job files`);
  switch (kind) {
    case 'job':
      return judgeJob(file, flags);
    case 'pool': {
      const { defaults, rules } = await readPoolFile(file);
      const lines = [...poolEssentials(defaults), ...(rules === undefined ? [] : timeEssentials(rules))];
      return { notes: [], lines, json: { pool: defaults, ...(rules && { rules }), warnings: [] } };
    }
    case 'quota': {
      const { judgeFiles } = await import('./quota-files.js');
      return judgeFiles(file, flags.poolFile);
    }
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
  const pool = poolFile === undefined ? {} : { pool: (await readPoolFile(poolFile)).defaults };
  const job = await readJobFile(file, { set, ...pool, isDry: true });
  const { spec, warnings, leftToPool } = job;
  const notes = warnings.map((warning) => `${file}: warning: ${warning}`);
  return { notes, lines: jobEssentials(job), json: { spec, leftToPool, warnings } };
}

async function readPoolFile(file: string): Promise<Extract<ParsedPoolFile, { ok: true }>> {
  const { parsePoolFile } = await import('../../../quota/files/pool-file.js');
  const parsed = parsePoolFile(readText(file, WANTED), file, 'default');
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  return parsed;
}

function jobEssentials({ spec, leftToPool }: GoodJob): readonly string[] {
  const { modules } = spec;
  const { chips, hosts } = askedSize(spec);
  const orPools = (key: string): string => (leftToPool.includes(key) ? " (or the pool's)" : '');
  const rows: (readonly [string, string])[] = [
    ['slice', `${formatSlices(spec)}: ${count(chips, 'chip')} on ${count(hosts, 'host')}`],
    ...machineKind(kindOfJob(spec)).requestFacts(spec, orPools),
    ['modules', modules.length === 0 ? 'none' : modules.join(', ')],
    ['command', commandSummary(spec)],
  ];
  return renderTable(rows.map(([key, value]) => [`  ${key}`, value]));
}

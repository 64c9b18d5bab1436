import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { parseJobFile } from '../../domain/job-file/parse.js';
import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import type { ResolvedJob } from '../../domain/job-file/resolve.js';
import type { JobOverrides } from '../../domain/job-file/set-option.js';
import { YamlSource } from '../../domain/job-file/yaml-source.js';
import { formatProblem, formatProblems, showValue } from '../../domain/problem.js';
import type { Problem } from '../../domain/problem.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { CliError } from './cli-error.js';
import { ExitCode } from './exit-codes.js';

export type GoodJob = Extract<ResolvedJob, { ok: true }> & {
  readonly source: string;
  /** Contents of the local files that the job names, by their path as the job has it. */
  readonly files: Readonly<Record<string, Uint8Array>>;
};

export interface JobFileOptions {
  readonly set: readonly string[];
  readonly overrides?: JobOverrides;
  /** The defaults of the job's pool, where they are known. */
  readonly pool?: PoolDefaults;
}

/** A temporal payload holds 2 MB, and the file travels in one. */
const MAX_FILE_BYTES = 500_000;

/** Reads and checks a job file and the files it names. @throws CliError with every problem; nothing was done then. */
export function readJobFile(file: string, { set, ...known }: JobFileOptions): GoodJob {
  const source = readText(file, 'jobctl submit takes the path of a job file (YAML)');
  const parsed = parseJobFile(source, { file, env: process.env, set, ...known });
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  const path = parsed.spec.venv?.requirementsFile;
  if (path === undefined) return { ...parsed, source, files: {} };
  const content = readNamedFile(resolveFrom(file, path));
  if (content instanceof Uint8Array) return { ...parsed, source, files: { [path]: content } };
  throw new CliError(ExitCode.Usage, formatProblem(placed(file, source, set, parsed.spec, content)));
}

/** @throws CliError where it cannot be read; `wanted` says what is */
export function readText(file: string, wanted: string): string {
  const content = readNamedFile(file);
  if (!(content instanceof Uint8Array)) {
    throw new CliError(ExitCode.Usage, `${file}: ${content}`, wanted);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw new CliError(ExitCode.Usage, `${file}: is not UTF-8 text`, wanted);
  }
}

/** Its content, or what is wrong with it. */
function readNamedFile(path: string): Uint8Array | string {
  try {
    const { size } = statSync(path);
    if (size > MAX_FILE_BYTES) return `has ${size} bytes; ${MAX_FILE_BYTES} are the most`;
    return readFileSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return REASONS[code ?? ''] ?? message;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EISDIR: 'is a directory',
  EACCES: 'cannot be read: permission denied',
};

/** Relative to the job file, as a reader of the file would take it; not to where the shell is. */
function resolveFrom(jobFile: string, path: string): string {
  if (path.startsWith('~/')) return join(homedir(), path.slice(2));
  return isAbsolute(path) ? path : resolve(dirname(jobFile), path);
}

function placed(file: string, source: string, set: readonly string[], spec: JobSpec, reason: string): Problem {
  const value = spec.venv?.requirementsFile;
  const problem: Problem = {
    path: ['venv', 'requirements_file'],
    value,
    message: `${showValue(value)} ${reason}`,
    hint: `looked for at ${resolveFrom(file, value ?? '')}; a relative path starts at the job file's folder`,
  };
  const flag = set.findLast((option) => /^venv(\.requirements_file)?=/.test(option));
  return flag === undefined
    ? { file, ...new YamlSource(source).locate(problem) }
    : { file: `--set ${flag}`, ...problem };
}

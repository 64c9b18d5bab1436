import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { parseJobFile } from '../../domain/job-file/parse.js';
import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import type { ResolvedJob } from '../../domain/job-file/resolve.js';
import type { JobOverrides } from '../../domain/job-file/set-option.js';
import { YamlSource } from '../../domain/job-file/yaml-source.js';
import { localFilesOf } from '../../domain/local-files.js';
import type { LocalFile } from '../../domain/local-files.js';
import { formatPath, formatProblems, showValue } from '../../domain/problem.js';
import type { Problem } from '../../domain/problem.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { CliError } from './cli-error.js';
import { ExitCode } from './exit-codes.js';
import { readLocalFile, readNamedFile } from './local-files.js';

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

/** Reads and checks a job file and the files it names. @throws CliError with every problem; nothing was done then. */
export function readJobFile(file: string, { set, ...known }: JobFileOptions): GoodJob {
  const source = readText(file, 'jobctl submit takes the path of a job file (YAML)');
  const parsed = parseJobFile(source, { file, env: process.env, set, ...known });
  if (!parsed.ok) throw new CliError(ExitCode.Usage, formatProblems(parsed.problems));
  return { ...parsed, source, files: readLocalFiles(file, source, set, parsed.spec) };
}

/** What is right and may yet be a mistake, for the person who submits. */
export function tellWarnings(file: string, warnings: readonly string[]): void {
  for (const warning of warnings) process.stderr.write(`${file}: warning: ${warning}\n`);
}

function readLocalFiles(
  file: string,
  source: string,
  set: readonly string[],
  spec: JobSpec,
): Readonly<Record<string, Uint8Array>> {
  const problems: Problem[] = [];
  const contents = new Map<string, Uint8Array>();
  for (const local of localFilesOf(spec)) {
    const content = readLocalFile(local, resolveFrom(file, local.path));
    if (typeof content === 'string') problems.push(placed({ file, source, set }, unreadable(file, local, content)));
    else contents.set(...content);
  }
  if (problems.length > 0) throw new CliError(ExitCode.Usage, formatProblems(problems));
  return Object.fromEntries(contents);
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

/** Relative to the job file, as a reader of the file would take it; not to where the shell is. */
function resolveFrom(jobFile: string, path: string): string {
  if (path.startsWith('~/')) return join(homedir(), path.slice(2));
  return isAbsolute(path) ? path : resolve(dirname(jobFile), path);
}

function unreadable(file: string, { path, at }: LocalFile, reason: string): Problem {
  return {
    path: at,
    value: path,
    message: `${showValue(path)} ${reason}`,
    hint: `looked for at ${resolveFrom(file, path)}; a relative path starts at the job file's folder`,
  };
}

/** A problem of a job file's content, with its place in the file or the flag that gave the value. */
export function placed(
  { file, source, set }: { readonly file: string; readonly source: string; readonly set: readonly string[] },
  problem: Problem,
): Problem {
  const flag = set.findLast((option) => isAbove(option.slice(0, option.indexOf('=')), formatPath(problem.path)));
  return flag === undefined
    ? { file, ...new YamlSource(source).locate(problem) }
    : { file: `--set ${flag}`, ...problem };
}

/** Whether the key that a flag set is the one of `place`, or a section around it. */
const isAbove = (key: string, place: string): boolean =>
  key === place || (/^[.[]/.test(place.slice(key.length)) && place.startsWith(key));

import { formatProblems } from '../../../domain/problem.js';
import { type CheckedFiles, checkFiles, type PoolFiles } from '../../../quota/files/pool-files.js';
import type { AppliedFiles, PoolFileText } from '../../../client/pool-client.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { readText } from '../../job/job-file.js';

/** Reads the files of a pool that a command names. @throws CliError if one cannot be read; `wanted` says what the verb takes */
export function readFiles(quotaFile: string | undefined, poolFile: string | undefined, wanted: string): AppliedFiles {
  const read = (name: string): PoolFileText => ({ name, text: readText(name, wanted) });
  return {
    ...(quotaFile === undefined ? {} : { quotaFile: read(quotaFile) }),
    ...(poolFile === undefined ? {} : { poolFile: read(poolFile) }),
  };
}

/** Checks the files and returns their content. @throws CliError with every problem, followed by `rest` */
export function goodFiles(
  files: PoolFiles,
  pool?: string,
  ...rest: readonly string[]
): Extract<CheckedFiles, { ok: true }> {
  const checked = checkFiles(files, pool);
  if (checked.ok) return checked;
  throw new CliError(ExitCode.Usage, formatProblems(checked.problems), ...rest);
}

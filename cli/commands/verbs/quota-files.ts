import {
  printVerdict,
  type Verdict,
  gangEssentials,
  poolEssentials,
  quotaEssentials,
  ruleEssentials,
} from '../../terminal/render/operator-files.js';
import type { OutputFlag } from '../../terminal/options.js';
import { gangBounds } from '../../../quota/nominal-quota.js';
import { formatProblems } from '../../../domain/problem.js';
import { formatToml } from '../../../quota/files/quota-fmt.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { readText } from '../../job/job-file.js';
import { printErr } from '../../terminal/print.js';
import { writeWhole } from '../../terminal/file-on-disk.js';
import { type CheckedFiles, checkFiles, type PoolFiles } from '../../../quota/files/pool-files.js';
import type { AppliedFiles, PoolFileText } from '../../../client/pool-client.js';

/** Quota and pool files on this computer, and the verbs that read them. They need no server. */

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

export interface QuotaValidateFlags extends OutputFlag {
  /** Path of the pool file that belongs to the quota file. */
  readonly poolFile?: string;
}

const VALIDATE_USAGE =
  'jobctl quota validate takes the path of a quota file (TOML), and of a pool file with --pool-file';

/** Checks the files and prints a summary of what they grant. @throws CliError listing every problem, if the output is text */
export async function quotaValidate(file: string, { poolFile, output }: QuotaValidateFlags): Promise<number> {
  const named = poolFile === undefined ? file : `${file} with ${poolFile}`;
  return printVerdict(named, output, () => judgeFiles(file, poolFile));
}

/** @throws CliError listing every problem of the files */
export function judgeFiles(file: string, poolFile?: string): Verdict {
  const { config, defaults, warnings } = goodFiles(readFiles(file, poolFile, VALIDATE_USAGE));
  const gangs = gangBounds(config);
  const ofPool = poolFile === undefined ? [] : [...poolEssentials(defaults), ...ruleEssentials(config)];
  return {
    notes: warnings.map((warning) => `warning: ${warning}`),
    lines: [...quotaEssentials(config), ...gangEssentials(gangs), ...ofPool],
    json: { quota: config, gangs, ...(poolFile !== undefined && { pool: defaults }), warnings },
  };
}

export interface QuotaFmtFlags {
  /** Write the result to the file; absent: print it. */
  readonly write?: true;
}

const FMT_USAGE = 'jobctl quota fmt takes the path of a quota file or a pool file (TOML)';

/** Formats a quota or pool file. @throws CliError if the file is not TOML; it is then left unchanged */
export async function quotaFmt(file: string, { write }: QuotaFmtFlags): Promise<number> {
  const text = readText(file, FMT_USAGE);
  const formatted = formatToml(text, file);
  if (!formatted.ok) throw new CliError(ExitCode.Usage, formatProblems(formatted.problems));
  if (write !== true) process.stdout.write(formatted.text);
  else if (formatted.text === text) printErr(`${file}: in its normal spacing already\n`);
  else {
    writeWhole(file, formatted.text);
    printErr(`${file}: written\n`);
  }
  return ExitCode.Done;
}

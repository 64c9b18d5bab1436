import { printVerdict, type Verdict } from '../file-verdict.js';
import type { OutputFlag } from '../options.js';
import { goodFiles, readFiles } from '../quota/operator-files.js';
import { poolEssentials, quotaEssentials, ruleEssentials } from '../render/operator-files.js';

export interface QuotaValidateFlags extends OutputFlag {
  /** Path of the pool file beside it. */
  readonly poolFile?: string;
}

const WANTED = 'jobctl quota validate takes the path of a quota file (TOML), and of a pool file with --pool-file';

/** Says whether the files can be put in force, and what they come to. @throws CliError with all that is wrong, in text */
export async function quotaValidate(file: string, { poolFile, output }: QuotaValidateFlags): Promise<number> {
  const named = poolFile === undefined ? file : `${file} with ${poolFile}`;
  return printVerdict(named, output, () => judgeFiles(file, poolFile));
}

/** @throws CliError with all that is wrong */
export function judgeFiles(file: string, poolFile?: string): Verdict {
  const { config, defaults, warnings } = goodFiles(readFiles(file, poolFile, WANTED));
  const ofPool = poolFile === undefined ? [] : [...poolEssentials(defaults), ...ruleEssentials(config)];
  return {
    notes: warnings.map((warning) => `warning: ${warning}`),
    lines: [...quotaEssentials(config), ...ofPool],
    json: { quota: config, ...(poolFile !== undefined && { pool: defaults }), warnings },
  };
}

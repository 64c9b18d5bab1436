import { writeFileSync } from 'node:fs';
import { formatProblems } from '../../../domain/problem.js';
import { formatToml } from '../../../quota/files/quota-fmt.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { readText } from '../job-file.js';

export interface QuotaFmtFlags {
  /** Into the file itself; absent: the result is printed. */
  readonly write?: true;
}

const WANTED = 'jobctl quota fmt takes the path of a quota file or a pool file (TOML)';

/** Gives a quota or pool file its normal spacing. @throws CliError where it is no TOML; nothing is written then */
export async function quotaFmt(file: string, { write }: QuotaFmtFlags): Promise<number> {
  const text = readText(file, WANTED);
  const formatted = formatToml(text, file);
  if (!formatted.ok) throw new CliError(ExitCode.Usage, formatProblems(formatted.problems));
  if (write !== true) process.stdout.write(formatted.text);
  else if (formatted.text === text) process.stderr.write(`${file}: in its normal spacing already\n`);
  else {
    save(file, formatted.text);
    process.stderr.write(`${file}: written\n`);
  }
  return ExitCode.Done;
}

function save(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CliError(ExitCode.Usage, `${file}: cannot be written: ${(error as Error).message}`);
  }
}

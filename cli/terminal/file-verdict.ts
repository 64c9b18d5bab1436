import { CliError, ExitCode } from './cli-error.js';
import type { OutputFlag } from './options.js';
import { printErr, printOut } from './print.js';

/** The report on a valid file, as lines and as JSON. */
export interface Verdict {
  /** Warnings for stderr; each says so itself and names its place. */
  readonly notes: readonly string[];
  readonly lines: readonly string[];
  readonly json: { readonly warnings: readonly string[]; readonly [key: string]: unknown };
}

/** @param named the file or files, for the first line */
export async function printVerdict(
  named: string,
  output: OutputFlag['output'],
  judgement: () => Verdict | Promise<Verdict>,
): Promise<number> {
  if (output === 'json') return printAsJson(judgement);
  const { notes, lines } = await judgement();
  for (const note of notes) printErr(`${note}\n`);
  printOut(`${named}: ok\n${lines.join('\n')}\n`);
  return ExitCode.Done;
}

/** Problems are the answer here, so they go to stdout too. */
async function printAsJson(judgement: () => Verdict | Promise<Verdict>): Promise<number> {
  try {
    const { json } = await judgement();
    print({ ok: true, ...json });
    return ExitCode.Done;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    print({ ok: false, message: error.message });
    return error.exitCode;
  }
}

const print = (value: object): void => printOut(`${JSON.stringify(value, null, 2)}\n`);

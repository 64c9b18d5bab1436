import { createInterface } from 'node:readline/promises';
import { CliError } from './cli-error.js';
import { ExitCode } from './exit-codes.js';
import type { OutputFlag } from './options.js';
import { visibleLines } from '../../domain/visible-text.js';
import { printErr } from './print.js';

/**
 * A question on the terminal; anything but y or yes is no, the end of the input too.
 * @throws CliError on Ctrl-C; nothing was done then
 */
export async function ask(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await answerTo(question)) ?? '');
}

/**
 * What is answered on the terminal, without the blanks around it; undefined at the end of the input.
 * @throws CliError on Ctrl-C; nothing was done then
 */
export async function answerTo(question: string): Promise<string | undefined> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const over = new AbortController();
  let isInterrupted = false;
  terminal.once('SIGINT', () => {
    isInterrupted = true;
    over.abort();
  });
  terminal.once('close', () => over.abort());
  try {
    const answer = await terminal.question(visibleLines(question), { signal: over.signal });
    return answer.trim();
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error;
    printErr('\n');
    if (isInterrupted) throw new CliError(ExitCode.Interrupted, 'interrupted: nothing was changed');
    return undefined;
  } finally {
    terminal.close();
  }
}

/**
 * Somebody can be asked, or has agreed by --yes.
 * @param why what would be done, or that it is asked
 * @throws CliError where there is no terminal
 */
export function mustBeAskable(
  { yes, output }: OutputFlag & { readonly yes?: true },
  why: string,
  remedy: string,
): void {
  if (yes === true || (output !== 'json' && process.stdin.isTTY)) return;
  throw new CliError(ExitCode.Usage, `${why}, and there is no terminal to ask on`, remedy);
}

/** Nobody agreed. @returns the exit code */
export function nothingChanged(): number {
  printErr('Nothing was changed.\n');
  return ExitCode.Refused;
}

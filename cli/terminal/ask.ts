import { createInterface } from 'node:readline/promises';
import { CliError, ExitCode } from './cli-error.js';
import type { OutputFlag } from './options.js';
import { visibleLines } from '../../domain/outside-text.js';
import { printErr } from './print.js';

/**
 * Asks a question on the terminal. Only `y` and `yes` mean yes; end of input means no.
 * @throws CliError on Ctrl-C; nothing was done then
 */
export async function ask(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await answerTo(question)) ?? '');
}

/**
 * Returns the answer typed on the terminal, trimmed; undefined at end of input.
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
 * Checks that a person can be asked on a terminal, or has agreed by --yes.
 * @param why the action that needs agreement, or the statement that a question is asked
 * @throws CliError if there is no terminal
 */
export function mustBeAskable(
  { yes, output }: OutputFlag & { readonly yes?: true },
  why: string,
  remedy: string,
): void {
  if (yes === true || (output !== 'json' && process.stdin.isTTY)) return;
  throw new CliError(ExitCode.Usage, `${why}, and there is no terminal to ask on`, remedy);
}

/** Prints that nothing was changed, because nobody agreed. @returns the exit code */
export function nothingChanged(): number {
  printErr('Nothing was changed.\n');
  return ExitCode.Refused;
}

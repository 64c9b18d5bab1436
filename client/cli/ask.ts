import { createInterface } from 'node:readline/promises';
import { CliError } from './cli-error.js';
import { ExitCode } from './exit-codes.js';

/**
 * A question on the terminal; anything but y or yes is no, the end of the input too.
 * @throws CliError on Ctrl-C; nothing was done then
 */
export async function ask(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const over = new AbortController();
  let isInterrupted = false;
  terminal.once('SIGINT', () => {
    isInterrupted = true;
    over.abort();
  });
  terminal.once('close', () => over.abort());
  try {
    const answer = await terminal.question(question, { signal: over.signal });
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error;
    process.stderr.write('\n');
    if (isInterrupted) throw new CliError(ExitCode.Interrupted, 'interrupted: nothing was changed');
    return false;
  } finally {
    terminal.close();
  }
}

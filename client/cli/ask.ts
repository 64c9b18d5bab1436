import { createInterface } from 'node:readline/promises';

/** A question on the terminal; anything but y or yes is no. */
export async function ask(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(question);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

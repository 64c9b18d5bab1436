import { createProgram } from '../../cli/program.js';

class Reached extends Error {}

/** The verb that a command line reaches, with all its arguments and flags accepted; nothing is run. @throws CommanderError */
export function verbReached(words: readonly string[]): Promise<string> {
  const line = words.join('\0');
  const reached = known.get(line) ?? parse(words);
  known.set(line, reached);
  return reached;
}

/** Tables ask for the same lines a thousand times, and each is read by a program of its own. */
const known = new Map<string, Promise<string>>();

async function parse(words: readonly string[]): Promise<string> {
  const end = words.indexOf('--');
  const program = createProgram({ commandWords: end === -1 ? undefined : words.slice(end + 1), exitCode: 0 }, words);
  program.hook('preAction', (_, command) => {
    throw new Reached(command.name());
  });
  try {
    await program.parseAsync(end === -1 ? [...words] : words.slice(0, end), { from: 'user' });
  } catch (error) {
    if (error instanceof Reached) return error.message;
    throw error;
  }
  throw new Error(`${words.join(' ')}: no verb was reached`);
}

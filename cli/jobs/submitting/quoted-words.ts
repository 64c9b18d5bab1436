import { shellQuote, shellWords, splitShellWords } from '../../../domain/shell-quote.js';
import { showValue } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';

/**
 * Refuses words after `--` that are one string in single quotes, as AXLearn's Bastion requires (`-- python3 -c "'..'"`), because
 * it joins words by blanks. Here each word is quoted, so Python would get a string and do nothing, successfully.
 * @throws CliError with the form that was meant
 */
export function refuseQuotedWords(file: string | undefined, words: readonly string[]): void {
  const quoted = words.find(isQuoted);
  if (quoted === undefined) return;
  const meant = words.map((word) => (isQuoted(word) ? (splitShellWords(word)?.[0] ?? word) : word));
  throw new CliError(
    ExitCode.Usage,
    `--: the word ${shown(quoted)} still has its single quotes after your shell has read it`,
    words.length === 1
      ? 'the hosts would look for a command of that name, blanks included'
      : 'jobctl quotes each word itself, so the program would get the quotes too: Python takes that for a string and does nothing',
    `without them: jobctl submit ${file === undefined ? '..' : shellQuote(file)} -- ${meant.length === 1 ? shellQuote(meant[0] ?? '') : shellWords(meant)}`,
    '--literal-quotes passes the quotes on, if that is what you want',
  );
}

const shown = (word: string): string => showValue(word.slice(1, -1));

/** Returns whether a word is `'..'` with nothing outside of its quotes. */
function isQuoted(word: string): boolean {
  return word.length > 2 && /^'(?:[^']|'\\'')*'$/.test(word);
}

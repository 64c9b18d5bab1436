import { WrongInput } from './errors.js';

/**
 * Quotes text as one word of a POSIX shell. All shell words are made here. The text is put in single quotes, and each single
 * quote in it is closed, escaped and reopened. Newlines and `$` are kept.
 * @throws WrongInput for a NUL byte
 */
export function shellQuote(text: string): string {
  if (text.includes('\0')) throw new WrongInput(`shell word: ${JSON.stringify(text)} holds a NUL byte; remove it`);
  return /^[A-Za-z0-9_/:=.,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Quotes each word and joins them to one command line. */
export function shellWords(words: readonly string[]): string {
  return words.map(shellQuote).join(' ');
}

/** Quotes a path for a shell on a host. `~`, `~/x` and relative paths are in the login user's $HOME. */
export function shellPath(path: string): string {
  if (path.startsWith('/')) return shellQuote(path);
  const relative = path.replace(/^~\/?/, '');
  return relative === '' ? '"$HOME"' : `"$HOME"/${shellQuote(relative)}`;
}

/**
 * Splits text into words as a POSIX shell does, with blanks, single and double quotes and backslashes. Nothing is expanded:
 * `$HOME` stays `$HOME`. Returns undefined if a quote is not closed.
 */
export function splitShellWords(text: string): string[] | undefined {
  const words: string[] = [];
  let rest = text.replace(/^[ \t\n]+/, '');
  while (rest !== '') {
    let word = '';
    while (rest !== '' && !/^[ \t\n]/.test(rest)) {
      const piece = PIECE.exec(rest);
      if (piece === null) return undefined;
      word += unquoted(piece[0]);
      rest = rest.slice(piece[0].length);
    }
    words.push(word);
    rest = rest.replace(/^[ \t\n]+/, '');
  }
  return words;
}

/** A quoted part, an escaped character, or plain characters. */
const PIECE = /^(?:'[^']*'|"(?:\\[\s\S]|[^"\\])*"|\\[\s\S]|[^\s'"\\]+)/;

/** In double quotes a backslash escapes only `$`, a backtick, `"`, a backslash and a newline. */
function unquoted(piece: string): string {
  if (piece.startsWith("'")) return piece.slice(1, -1);
  if (piece.startsWith('"')) {
    return piece.slice(1, -1).replace(/\\([\s\S])/g, (whole, escaped: string) => {
      if (escaped === '\n') return '';
      return '$`"\\'.includes(escaped) ? escaped : whole;
    });
  }
  if (piece.startsWith('\\')) return piece === '\\\n' ? '' : piece.slice(1);
  return piece;
}

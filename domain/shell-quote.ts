/**
 * The one place where text becomes a word of a POSIX shell: single quotes, with every single quote of the text closed,
 * escaped and opened again. Newlines and `$` stay as they are.
 * @throws RangeError for a NUL byte, which no shell word can hold.
 */
export function shellQuote(text: string): string {
  if (text.includes('\0')) throw new RangeError(`shell word: ${JSON.stringify(text)} holds a NUL byte; remove it`);
  return /^[A-Za-z0-9_/:=.,@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Words, each quoted, joined to one command line. */
export function shellWords(words: readonly string[]): string {
  return words.map(shellQuote).join(' ');
}

/** A path of the login user's on a host, for a shell there: `~`, `~/x` and relative paths are under $HOME. */
export function shellPath(path: string): string {
  if (path.startsWith('/')) return shellQuote(path);
  const relative = path.replace(/^~\/?/, '');
  return relative === '' ? '"$HOME"' : `"$HOME"/${shellQuote(relative)}`;
}

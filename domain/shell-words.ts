/**
 * The words of a text as a POSIX shell splits them: blanks, single and double quotes, backslashes. Nothing is expanded: `$HOME`
 * stays as it is. Undefined where a quote is not closed.
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

/** A quoted part, an escaped character, or what needs neither. */
const PIECE = /^(?:'[^']*'|"(?:\\[\s\S]|[^"\\])*"|\\[\s\S]|[^\s'"\\]+)/;

/** In double quotes a backslash escapes only what has a meaning there. */
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

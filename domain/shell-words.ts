/** `word` as one word of a POSIX shell, quoted only where it must be. */
export function quoteShellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export function quoteShellWords(words: readonly string[]): string {
  return words.map(quoteShellWord).join(' ');
}

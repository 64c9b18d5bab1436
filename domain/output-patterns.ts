/**
 * Returns whether a path of stored outputs matches these patterns or is below a match, by bash's rules for `*`, `?`, `**` and
 * hidden names. A bracket expression matches any one character, which is wider. Linear in path and pattern, which come from
 * outside.
 * @param path with one character for each byte, as bash compares them
 */
export function isNamedOutput(path: string, patterns: readonly string[]): boolean {
  const parts = path.split('/');
  return patterns.some((pattern) => matchesBeginning(parts, piecesOf(bytesText(pattern))));
}

/** Drops the slashes at the end. */
function piecesOf(pattern: string): readonly string[] {
  const pieces = pattern.split('/');
  while (pieces.length > 1 && pieces.at(-1) === '') pieces.pop();
  return pieces;
}

/** Returns whether the pattern matches the path itself or a folder above it. */
function matchesBeginning(parts: readonly string[], pattern: readonly string[]): boolean {
  let places = reach(new Set([0]), pattern);
  for (const [at, part] of parts.entries()) {
    // No pattern names the folder in which all paths begin.
    if (at > 0 && places.has(pattern.length)) return true;
    const next = [...places].flatMap((place) => {
      const piece = pattern[place];
      if (piece === undefined) return [];
      if (piece === '**') return part.startsWith('.') ? [] : [place, place + 1];
      return matchesPart(part, tokensOf(piece)) ? [place + 1] : [];
    });
    places = reach(new Set(next), pattern);
  }
  return places.has(pattern.length);
}

/** `**` also matches no folder at all. */
function reach(places: ReadonlySet<number>, pattern: readonly string[]): ReadonlySet<number> {
  const all = new Set<number>();
  for (const first of places)
    for (let place = first; !all.has(place); place++) {
      all.add(place);
      if (pattern[place] !== '**') break;
    }
  return all;
}

/** A literal character, any single character, or any number of characters. */
type Token = { readonly is: string } | 'one' | 'many';

function tokensOf(piece: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < piece.length;) {
    const char = piece[at] as string;
    const end = char === '[' ? bracketEnd(piece, at) : undefined;
    const escaped = char === '\\' ? piece[at + 1] : undefined;
    tokens.push(end !== undefined || char === '?' ? 'one' : char === '*' ? 'many' : { is: escaped ?? char });
    at = end ?? at + (escaped === undefined ? 1 : 2);
  }
  return tokens;
}

/** Index behind the `]` that ends a bracket expression: not one at its front or in `[:alpha:]`. Undefined if it has no end. */
function bracketEnd(piece: string, from: number): number | undefined {
  if (from >= piece.lastIndexOf(']')) return undefined;
  let at = from + ('!^'.includes(piece[from + 1] ?? ' ') ? 2 : 1);
  if (piece[at] === ']') at += 1;
  for (; at < piece.length; at += 1) {
    const name = piece.startsWith('[:', at) ? /^\w{1,20}:\]/.exec(piece.slice(at + 2, at + 24)) : null;
    if (name !== null) at += 1 + name[0].length;
    else if (piece[at] === ']') return at + 1;
  }
  return undefined;
}

function matchesPart(part: string, tokens: readonly Token[]): boolean {
  const [first] = tokens;
  if (part.startsWith('.') && !(typeof first === 'object' && first.is === '.')) return false;
  let [at, place, star, from] = [0, 0, -1, 0];
  while (at < part.length) {
    const token = tokens[place];
    if (token === 'many') [star, from, place] = [place, at, place + 1];
    else if (token !== undefined && (token === 'one' || token.is === part[at])) [at, place] = [at + 1, place + 1];
    else if (star === -1) return false;
    else [from, at, place] = [from + 1, from + 1, star + 1];
  }
  return tokens.slice(place).every((token) => token === 'many');
}

/** One character for each byte of the text's UTF-8. */
function bytesText(text: string): string {
  let bytes = '';
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return bytes;
}

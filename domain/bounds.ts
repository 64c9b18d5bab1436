/**
 * How large a value from outside may be. Looked at before anything reads on in it, because what reads on may be slower than
 * linear, and nothing may be said of a value that has no end (docs/adr/0095).
 */
export interface Bounds {
  /** Of all texts and keys together. */
  readonly characters: number;
  /** Lists, sections, and what stands in them. */
  readonly values: number;
  /** Lists and sections in one another. */
  readonly levels: number;
  /** Of one key. Absent: as many as of all texts. */
  readonly keyCharacters?: number;
}

/**
 * What of `bounds` a plain JSON value exceeds, as the end of a sentence; undefined if it exceeds nothing. The steps are linear in
 * the bounds, not in the value: it stops at the first that is exceeded, and no depth exhausts its stack.
 */
export function beyond(value: unknown, bounds: Bounds): string | undefined {
  const { characters, values, levels, keyCharacters = characters } = bounds;
  const open: [value: unknown, level: number][] = [[value, 0]];
  let [seen, length] = [0, 0];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [each, level] = next;
    if (typeof each === 'string') length += each.length;
    else if (typeof each === 'object' && each !== null) {
      if (level === levels) return `its objects and lists lie more than ${levels} levels deep in one another`;
      for (const key in each) {
        if (++seen > values) return `it has more than ${values} values`;
        if (!Array.isArray(each)) {
          if (key.length > keyCharacters)
            return `it has a key of ${key.length} characters: ${keyCharacters} are the most`;
          length += key.length;
        }
        open.push([each[key as keyof typeof each], level + 1]);
      }
    }
    if (length > characters) return `its texts and keys have more than ${characters} characters`;
  }
  return undefined;
}

/**
 * Bounds for a value from outside. They are checked before any other code reads the value, because that code may be slower than
 * linear, and a message must not repeat an endless value (docs/adr/0095).
 */
export interface Bounds {
  /** Characters of all texts and keys together. */
  readonly characters: number;
  /** Lists, sections and their elements. */
  readonly values: number;
  /** Levels of nested lists and sections. */
  readonly levels: number;
  /** Characters of one key. Absent: as many as of all texts. */
  readonly keyCharacters?: number;
}

/**
 * Returns the bound that a plain JSON value exceeds, as the end of a sentence, or undefined if it exceeds none. The steps are
 * linear in the bounds, not in the value: the check stops at the first bound exceeded, and no depth exhausts its stack.
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

import { RE2JS } from 're2js';
import { messageOf } from '../domain/error-words.js';

/**
 * The source of user names. `trusted`: users name themselves. `verified`: an issuer names them, and a server has checked the
 * names (docs/adr/0087, docs/adr/0105).
 */
export type NamesMode = 'trusted' | 'verified';

/**
 * The longest pattern, in characters, and the largest compiled pattern, in instructions. A list of names is many patterns, not
 * one.
 */
const MOST_CHARACTERS = 1000;
const MOST_INSTRUCTIONS = 10_000;

/**
 * Says why `pattern` cannot be a pattern of names; undefined if it can. The syntax is RE2: Python's (?i) and (?P<name>..) work.
 * Look-around and backreferences do not, since they need backtracking.
 */
export function patternProblem(pattern: string): string | undefined {
  if (pattern === '') return 'it is empty, and nobody is called so';
  if (pattern.length > MOST_CHARACTERS) return `it has ${pattern.length} characters; ${MOST_CHARACTERS} are the most`;
  try {
    // Matching takes time linear in the user id, times this size. Nested counts make a short pattern large.
    const size = RE2JS.compile(pattern).programSize();
    return size <= MOST_INSTRUCTIONS ? undefined : 'its repeats, multiplied out, are too large';
  } catch (error) {
    return messageOf(error);
  }
}

/** Letters of any script, digits and . _ - + @: a reader takes such text for a name. */
const PLAIN_NAME = /^[\p{L}\p{M}\p{N}._+@-]+$/u;

interface Compiled {
  readonly names: ReadonlySet<string>;
  readonly patterns: readonly RE2JS[];
}

/** Compiled once per reading of a file: 2,000 patterns take 70 ms, and every submitted job is checked. */
const compiled: Readonly<Record<NamesMode, WeakMap<readonly string[], Compiled>>> = {
  trusted: new WeakMap(),
  verified: new WeakMap(),
};

/**
 * Returns whether one of `patterns` matches the whole of `user`, in time linear in its length. Every list of name patterns is
 * matched here. In verified mode a plain name matches itself, byte for byte, and is not a pattern: `j.doe@example.org` would also
 * match `jxdoe@example.org` (docs/adr/0105).
 */
export function isNamedIn(patterns: readonly string[], user: string, mode: NamesMode): boolean {
  const known = compiled[mode].get(patterns) ?? compile(patterns, mode);
  compiled[mode].set(patterns, known);
  return known.names.has(user) || known.patterns.some((pattern) => pattern.matches(user));
}

function compile(patterns: readonly string[], mode: NamesMode): Compiled {
  const isName = (pattern: string): boolean => mode === 'verified' && PLAIN_NAME.test(pattern);
  return {
    names: new Set(patterns.filter(isName)),
    patterns: patterns.filter((pattern) => !isName(pattern)).map((pattern) => RE2JS.compile(pattern)),
  };
}

/**
 * Puts a backslash before each dot that stands for any one character: not in a class, not escaped, not repeated. One pass, since
 * a regular expression for classes would begin anew at every bracket.
 */
function withDotsEscaped(pattern: string): string {
  const out: string[] = [];
  /** Index at which the open class began; -1 outside a class. */
  let open = -1;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    const isLoose = character === '.' && open === -1 && !'*+?{'.includes(pattern.charAt(at + 1) || ' ');
    out.push(isLoose ? String.raw`\.` : character);
    if (character === '\\') out.push(pattern.charAt((at += 1)));
    else if (open === -1 && character === '[') open = at;
    // A bracket right after the beginning of a class belongs to the class.
    else if (character === ']' && !/^\[\^?$/.test(pattern.slice(Math.max(open, at - 2), at))) open = -1;
  }
  return out.join('');
}

export interface LooseName {
  /** Says what else the entry matches, such as `jxdoe@example.org`. */
  readonly message: string;
  /** The spelling that matches only the intended name, as TOML. */
  readonly hint: string;
}

/**
 * Says why an entry matches more than the address that a reader takes it for, or something else; undefined if it does not.
 * @param known names of users, to show which of them are matched by accident
 */
export function looseName(entry: string, known: readonly string[] = []): LooseName | undefined {
  const isPlain = PLAIN_NAME.test(entry);
  const strict = isPlain ? entry.replaceAll(/[.+]/gu, String.raw`\$&`) : withDotsEscaped(entry);
  const [local = ''] = entry.split('@', 1);
  if (isPlain ? !/[.+]/u.test(local) : strict === entry || !entry.includes('@')) return undefined;
  const [loosely, strictly] = [RE2JS.compile(entry), RE2JS.compile(strict)];
  const others = known.filter((name) => loosely.matches(name) && !strictly.matches(name));
  const also = others.length === 0 ? '' : `, here ${others.slice(0, MOST_SHOWN).join(', ')}`;
  const where = isPlain ? ' in trusted mode, and the very name in verified mode' : '';
  const loose =
    isPlain && local.includes('+') ? 'a + repeats what stands before it' : 'a dot without a backslash is any character';
  return { message: `it is a pattern${where}: ${loose}${also}`, hint: `write '${strict}' (in single quotes)` };
}

const MOST_SHOWN = 5;

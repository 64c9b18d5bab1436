import { RE2JS } from 're2js';

/**
 * Who says what users are called. `trusted`: they do. `verified`: an issuer does, whose names a server has checked
 * (docs/adr/0087, docs/adr/0105).
 */
export type NamesMode = 'trusted' | 'verified';

/** Of a pattern, in characters; and of what it is compiled to, in instructions. A list of names is many patterns, not a long one. */
const MOST_CHARACTERS = 1000;
const MOST_INSTRUCTIONS = 10_000;

/**
 * Why `pattern` cannot be a pattern of names, or undefined if it can. RE2 syntax: Python's (?i) and (?P<name>..) work,
 * what needs backtracking (look-around, backreferences) does not.
 */
export function patternProblem(pattern: string): string | undefined {
  if (pattern === '') return 'it is empty, and nobody is called so';
  if (pattern.length > MOST_CHARACTERS) return `it has ${pattern.length} characters; ${MOST_CHARACTERS} are the most`;
  try {
    // Matching is linear in the user id, times this: nested counts make it large without being long.
    const size = RE2JS.compile(pattern).programSize();
    return size <= MOST_INSTRUCTIONS ? undefined : 'its repeats, multiplied out, are too large';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Letters of any script, digits and . _ - + @: whoever reads it takes it for a name. */
const PLAIN_NAME = /^[\p{L}\p{M}\p{N}._+@-]+$/u;

interface Compiled {
  readonly names: ReadonlySet<string>;
  readonly patterns: readonly RE2JS[];
}

/** Compiled once for each reading of a file: 2,000 patterns cost 70 ms, and every job that is submitted asks. */
const compiled: Readonly<Record<NamesMode, WeakMap<readonly string[], Compiled>>> = {
  trusted: new WeakMap(),
  verified: new WeakMap(),
};

/**
 * Whether one of `patterns` matches the whole of `user`, linear in its length. Every list of patterns of names is asked here. In verified mode a plain name is that
 * name, byte for byte, and no pattern: `j.doe@example.org` would also be `jxdoe@example.org` (docs/adr/0105).
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
 * With a backslash before each dot that stands for one character of any kind: not in a class, not escaped, not repeated. In one pass,
 * since an expression for classes would begin anew at every bracket.
 */
function withDotsEscaped(pattern: string): string {
  const out: string[] = [];
  /** Where the class began that has not ended; -1 outside of one. */
  let open = -1;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    const isLoose = character === '.' && open === -1 && !'*+?{'.includes(pattern.charAt(at + 1) || ' ');
    out.push(isLoose ? String.raw`\.` : character);
    if (character === '\\') out.push(pattern.charAt((at += 1)));
    else if (open === -1 && character === '[') open = at;
    // A bracket right behind the beginning is one of the class.
    else if (character === ']' && !/^\[\^?$/.test(pattern.slice(Math.max(open, at - 2), at))) open = -1;
  }
  return out.join('');
}

export interface LooseName {
  /** What is matched beside what is meant, such as `jxdoe@example.org` matches too. */
  readonly message: string;
  /** How to write it, as TOML. */
  readonly hint: string;
}

/**
 * Why an entry says more, or something else, than the address that a reader takes it for; undefined if it does not.
 * @param known names of users: who of them is meant by accident
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

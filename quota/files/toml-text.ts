import { ParseError, parseTOML, type AST } from 'toml-eslint-parser';
import { parse } from 'toml';
import type { Path, Problem } from '../../domain/problem.js';
import type { Mapping } from '../../domain/job-file/plain-tree.js';

interface Place {
  readonly line: number;
  /** Counted from 1. */
  readonly column: number;
}

/**
 * Positions of the values of a TOML text. `toml` decides what a file means and gives no positions. This parser only locates. If
 * it cannot read a text that `toml` can, problems are shown without a place.
 */
export class TomlPositions {
  readonly #keys = new Map<string, Place>();
  readonly #values = new Map<string, Place>();
  /** Place and reason of a text that is not TOML, in this parser's words. */
  readonly syntaxError: (Place & { readonly message: string }) | undefined;

  constructor(text: string) {
    try {
      this.#readTop(parseTOML(text, { tomlVersion: '1.1' }).body[0]);
    } catch (error) {
      // The parser calls itself for each level.
      if (error instanceof RangeError) this.syntaxError = { line: 1, column: 1, message: 'nested too deeply' };
      else if (!(error instanceof ParseError)) throw error;
      else this.syntaxError = { line: error.lineNumber, column: error.column + 1, message: error.message };
    }
  }

  /** Adds the place of the problem's value or key, or of the nearest table above if the value is missing. */
  locate(problem: Problem): Problem {
    for (let depth = problem.path.length; depth > 0; depth--) {
      const key = nameOf(problem.path.slice(0, depth));
      const isExact = depth === problem.path.length;
      const value = isExact && problem.at !== 'key' ? this.#values.get(key) : undefined;
      const place = value ?? this.#keys.get(key);
      if (place !== undefined) return { ...problem, ...place };
    }
    return { ...problem, line: 1, column: 1 };
  }

  #readTop(table: AST.TOMLTopLevelTable): void {
    for (const node of table.body) {
      if (node.type === 'TOMLKeyValue') this.#readPair(node, []);
      else this.#readTable(node);
    }
  }

  #readTable(table: AST.TOMLTable): void {
    const path = table.resolvedKey;
    const place = placeOf(table.key);
    path.forEach((_, depth) => {
      const name = nameOf(path.slice(0, depth + 1));
      if (!this.#keys.has(name)) this.#keys.set(name, place);
    });
    for (const pair of table.body) this.#readPair(pair, path);
  }

  #readPair(pair: AST.TOMLKeyValue, parent: Path): void {
    let path = parent;
    for (const key of pair.key.keys) {
      path = [...path, key.type === 'TOMLBare' ? key.name : key.value];
      const name = nameOf(path);
      if (!this.#keys.has(name)) this.#keys.set(name, placeOf(key));
    }
    this.#readValue(pair.value, path);
  }

  #readValue(value: AST.TOMLContentNode, path: Path): void {
    this.#values.set(nameOf(path), placeOf(value));
    if (value.type === 'TOMLArray') value.elements.forEach((item, index) => this.#readValue(item, [...path, index]));
    if (value.type === 'TOMLInlineTable') value.body.forEach((pair) => this.#readPair(pair, path));
  }
}

const nameOf = (path: Path): string => JSON.stringify(path);

function placeOf(node: AST.TOMLNode): Place {
  return { line: node.loc.start.line, column: node.loc.start.column + 1 };
}

/** Says why a text is refused before it is parsed: it is too long, or a key has too many parts. Undefined: it is not refused. */
export function sizeProblem(text: string, most: number): Pick<Problem, 'message' | 'hint'> | undefined {
  if (text.length > most)
    return {
      message: `the file has ${text.length} characters, and ${most} are the most`,
      hint: 'no pool needs a longer one',
    };
  const keys = text.replace(/"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/g, '""');
  // Both parsers take time that grows with the square of the parts of a key.
  return MANY_PARTS.test(keys) ? { message: 'a key has more than 60 parts (a.b.c)' } : undefined;
}

const MANY_PARTS = /\.(?:[ \t]*[\w"-]+[ \t]*\.){60}/;

type Toml = { readonly ok: true; readonly value: Mapping } | { readonly ok: false; readonly problem: Problem };

/** Parses a text as TOML, or says where it is not TOML. */
export function readToml(text: string, positions: TomlPositions): Toml {
  try {
    return { ok: true, value: parse(text) as Mapping };
  } catch (error) {
    const own = error as TomlError;
    const start = own.location?.start ?? positions.syntaxError ?? own;
    const place = { line: start.line ?? 1, column: start.column ?? 1 };
    const message = positions.syntaxError?.message ?? own.message;
    return { ok: false, problem: { path: [], ...place, message: `not TOML: ${tomlWords(message)}` } };
  }
}

/** An error of `toml` 5, with its position in one of two places or without one. */
interface TomlError extends Partial<TomlPlace> {
  readonly message: string;
  readonly location?: { readonly start: TomlPlace };
}
interface TomlPlace {
  readonly line: number;
  readonly column: number;
}

/** Adds places to the problems and sorts them in file order. */
export function located(problems: readonly Problem[], file: string, positions: TomlPositions): readonly Problem[] {
  const placed = problems.map((problem) => ({ file, ...positions.locate(problem) }));
  return placed.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

/** Our words for syntax errors, by the parser's messages, which are for programmers. */
const WORDS: Readonly<Record<string, string>> = {
  'Unterminated string constant': 'a quote is not closed in this line',
  'Unterminated table-key': 'a bracket of this [table] is not closed',
  'Unterminated array': 'a list is not closed: ] is missing',
  'Unterminated inline table': 'a table in braces is not closed: } is missing',
  'Empty bare keys are not allowed': 'a key is missing before this',
  'Must be a newline': 'something stands behind the end of the value; one key = value on a line, and text in quotes',
  'Expected equal (=) token': 'a line of the file is key = value; = is missing',
  'Unspecified values are invalid': 'a value is missing, or text is not in quotes: key = "value"',
  'Expected comma (,) token': 'a comma is missing',
  'Defining a key multiple times is invalid': 'the key is there twice',
  'Unexpected character': 'a character that TOML does not expect here; text stands in quotes',
  'Unexpected token': 'this does not belong here; a line is key = value, and text stands in quotes',
  'The key, equals sign, and value must be on the same line': 'key, = and value belong on one line',
  'Underscores are allowed between digits': 'an underscore in a number stands between two digits',
  'Unexpected spaces': 'a blank that does not belong here',
  'Three or more quotes are not permitted': 'three quotes in a row inside a text',
  'Unexpected invalid date': 'this is not a date; text stands in quotes',
  'Unexpected invalid time': 'this is not a time; text stands in quotes',
  'Leading zeros are not allowed': 'a number does not begin with 0; text stands in quotes',
  'Trailing comma is not permitted in an inline table': 'a comma before the } of a table in braces',
  'Invalid character in escape sequence': String.raw`a backslash that TOML does not know; write \\ for one, or use single quotes`,
  'nested too deeply': 'nested too deeply',
};

/** @param message of the parser */
const tomlWords = (message: string): string =>
  WORDS[message] ?? 'this is not as TOML wants it; a line is key = value, or [table], and text stands in quotes';

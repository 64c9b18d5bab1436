import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type Pair,
  type YAMLMap,
  type CST,
  Parser,
  visit,
  parseAllDocuments,
  Scalar,
} from 'yaml';
import { ALL_MODULES } from '../modules/registry.js';
import type { Path, Problem } from '../problem.js';
import { mapTree } from './plain-tree.js';
import { IN_ITSELF, INDEPENDENT, TOO_DEEP, TOO_MANY_KEYS, yamlWords, MOST_LEVELS } from './yaml-words.js';

/** Values that keep their text even if YAML reads them as numbers: 3.10 is not 3.1, and 007 is not 7. */
const KEPT_AS_WRITTEN: readonly (readonly string[])[] = [
  ...ALL_MODULES.flatMap(({ name, keptAsWritten = [] }) => keptAsWritten.map((key) => [name, key])),
  ['env', '*'],
  ['tpu', 'labels', '*'],
  ['tpu', 'metadata', '*'],
];

/** Most comparisons of keys. One section with `MOST_VALUES` keys (resolve.ts) needs fewer. */
const MOST_COMPARED = 20_000_000;

/** A job file's text as YAML 1.2 (with merge keys), and the positions of its values. */
export class YamlSource {
  readonly problems: readonly Problem[];
  readonly #document: Document.Parsed;
  readonly #text: string;
  readonly #lines = new LineCounter();
  #compared = 0;
  readonly #pairs = new Map<YAMLMap, ReadonlyMap<string, Pair>>();

  constructor(text: string) {
    this.#text = text;
    const tooDeep = tooDeepAt(text);
    this.#document = parseDocument(tooDeep === undefined ? text : text.slice(0, tooDeep + 1), {
      lineCounter: this.#lines,
      merge: true,
      uniqueKeys: this.#isSameKey,
      prettyErrors: false,
      logLevel: 'error',
    });
    if (tooDeep !== undefined) this.problems = [this.#notYaml(tooDeep, TOO_DEEP)];
    else if (this.#compared > MOST_COMPARED) this.problems = [this.#notYaml(0, TOO_MANY_KEYS)];
    else this.problems = this.#problemsOf(this.#document);
    const inItself = this.problems.length === 0 ? inItselfAt(this.#document) : undefined;
    if (inItself !== undefined) this.problems = [this.#notYaml(inItself, IN_ITSELF)];
  }

  /** Compares two keys for the parser, which compares each with all before it. Beyond the most it calls them equal, to stop. */
  #isSameKey = (one: unknown, other: unknown): boolean =>
    ++this.#compared > MOST_COMPARED || (isScalar(one) && isScalar(other) && one.value === other.value);

  #problemsOf({ errors, warnings }: Document.Parsed): readonly Problem[] {
    const found = [...errors, ...warnings];
    const shown = found.filter(
      ({ code }, at) => at === 0 || (INDEPENDENT.has(code) && INDEPENDENT.has(found[0]?.code ?? code)),
    );
    return shown.map((error) => this.#notYaml(error.pos[0], yamlWords(error)));
  }

  #notYaml(offset: number, words: string): Problem {
    return { ...this.#position(offset), path: [], message: `not YAML: ${words}` };
  }

  /** The documents of another tool's file, as that tool reads them. Empty if one of them is not YAML. */
  foreign(): readonly unknown[] {
    return this.#compared > MOST_COMPARED || tooDeepAt(this.#text) !== undefined ? [] : pythonDocuments(this.#text);
  }

  /** @throws ReferenceError if aliases multiply beyond measure */
  tree(): unknown {
    const tree: unknown = this.#document.toJS();
    return mapTree(tree, (value, path) => this.#asWritten(value, path));
  }

  /** Adds the line and column of the problem's value, or key. */
  locate(problem: Problem): Problem {
    const found = this.#find(problem.path);
    const offset = problem.at === 'key' ? found.key : this.#inside(found, problem.value);
    return offset === undefined ? { ...problem, line: 1, column: 1 } : { ...problem, ...this.#position(offset) };
  }

  #position(offset: number): { line: number; column: number } {
    const { line, col } = this.#lines.linePos(offset);
    return { line, column: col };
  }

  /** Inside a long text, the position of the reference itself. */
  #inside(found: Found, value: unknown): number | undefined {
    const [start, end] = found.node?.range ?? [];
    if (typeof value === 'string' && value.startsWith('${') && start !== undefined && end !== undefined) {
      const at = this.#text.indexOf(value, start);
      if (at !== -1 && at < end) return at;
    }
    return start ?? found.key;
  }

  /** The node at `path` and its key's offset. If the path ends early: the last key on it. */
  #find(path: Path): Found {
    let found: Found = { node: this.#resolve(this.#document.contents), key: this.#document.contents?.range?.[0] };
    for (const segment of path) {
      if (isSeq(found.node)) {
        const item = this.#resolve(found.node.items[Number(segment)]);
        if (item === undefined) return { node: undefined, key: found.key };
        found = { node: item, key: item.range?.[0] };
        continue;
      }
      const pair = isMap(found.node) ? this.#pairOf(found.node, String(segment)) : undefined;
      if (pair === undefined) return { node: undefined, key: found.key };
      const key = isNode(pair.key) ? pair.key.range?.[0] : undefined;
      const node = this.#resolve(pair.value);
      found = { node: isScalar(node) && node.value === null && node.source === '' ? undefined : node, key };
    }
    return found;
  }

  #pairOf(map: YAMLMap, key: string): Pair | undefined {
    // The first one, if a key is there twice.
    const pairs = this.#pairs.get(map) ?? new Map(map.items.map((pair) => [keyOf(pair), pair] as const).toReversed());
    this.#pairs.set(map, pairs);
    return pairs.get(key);
  }

  #resolve(node: unknown): Node | undefined {
    if (isAlias(node)) return node.resolve(this.#document);
    return isNode(node) ? node : undefined;
  }

  #asWritten(value: unknown, path: Path): unknown {
    if (typeof value !== 'number' || !KEPT_AS_WRITTEN.some((pattern) => isMatch(path, pattern))) return value;
    const { node } = this.#find(path);
    return isScalar(node) ? (node.source ?? value) : value;
  }
}

interface Found {
  readonly node: Node | undefined;
  readonly key: number | undefined;
}

const keyOf = (pair: Pair): string => String(isScalar(pair.key) ? pair.key.value : pair.key);

function isMatch(path: Path, pattern: readonly string[]): boolean {
  return (
    path.length === pattern.length &&
    pattern.every((word, depth) => word === path[depth] || (word === '*' && typeof path[depth] === 'string'))
  );
}

/** Limit of levels: far more than any job file has, and far fewer than composing can follow. */
const MOST_COMPOSED = 200;

interface Open {
  readonly token: CST.Token;
  readonly level: number;
  /** Offset of the first token on the path to this one that is too deep. */
  readonly tooDeepAt?: number;
}

/**
 * Returns the offset at which a text is nested so deeply that composing it could exhaust the stack. `yaml` catches that error,
 * but a regular expression that V8 first compiles there ends the whole process. Reading tokens takes no stack.
 */
export function tooDeepAt(text: string): number | undefined {
  const open: Open[] = [...new Parser().parse(text)].map((token) => ({ token, level: 0 }));
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const { token } = each;
    const level = 'items' in token ? each.level + 1 : each.level;
    const at = each.tooDeepAt ?? (level > MOST_LEVELS ? token.offset : undefined);
    if (level > MOST_COMPOSED) return at;
    for (const child of childrenOf(token))
      open.push({ token: child, level, ...(at === undefined ? {} : { tooDeepAt: at }) });
  }
  return undefined;
}

function childrenOf(token: CST.Token): readonly CST.Token[] {
  if (token.type === 'document') return token.value === undefined ? [] : [token.value];
  if (!('items' in token)) return [];
  return token.items.flatMap(({ key, value }) => [key, value].filter((child) => child !== undefined && child !== null));
}

/** The offset of an alias inside of the value that it names, which would have no end. */
export function inItselfAt(document: Document.Parsed): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Alias: (_, alias, path) => {
      const around = path.filter((node) => (isMap(node) || isSeq(node)) && node.anchor === alias.source);
      if (around.length === 0 || !around.some((node) => node === alias.resolve(document))) return undefined;
      offset = alias.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return offset;
}

/** Sections of all tools whose values end up as texts in a program's environment. */
const OF_ENVIRONMENT = new Set(['env', 'envs', 'secrets']);
/** Limit of aliases, more than any file has below its variables. */
const MOST_ALIASES = 500;

/** The documents of another tool's file as PyYAML (YAML 1.1) reads them. Empty if one of them is not YAML. */
function pythonDocuments(text: string): readonly unknown[] {
  const all = parseAllDocuments(text, { merge: true, logLevel: 'error' });
  if (!Array.isArray(all)) return [];
  if (all.some((each) => each.errors.length > 0 || inItselfAt(each) !== undefined)) return [];
  try {
    return all.map((document) => {
      readScalars(document);
      return document.toJS() as unknown;
    });
  } catch {
    return [];
  }
}

function readScalars(document: Document.Parsed): void {
  let aliases = 0;
  visit(document, {
    Alias: (_key, alias, path) => {
      if (!isInEnvironment(path as readonly Node[]) || ++aliases > MOST_ALIASES) return undefined;
      // An anchor outside of the section is read without Python's spelling.
      const copy = alias.resolve(document)?.clone();
      if (isNode(copy) && !isAlias(copy)) delete copy.anchor;
      return isNode(copy) ? copy : undefined;
    },
    Scalar: (_key, scalar, path) => {
      if (scalar.type !== Scalar.PLAIN || scalar.tag !== undefined || scalar.source === undefined) return;
      if (scalar.source === '<<') return;
      const { value, text } = pythonScalar(scalar.source);
      scalar.value = isInEnvironment(path as readonly Node[]) ? (text ?? null) : value;
    },
  });
}

const isInEnvironment = (path: readonly (Node | { readonly key?: unknown })[]): boolean =>
  path.some((each) => 'key' in each && isScalar(each.key) && OF_ENVIRONMENT.has(String(each.key.value)));

/** The patterns by which PyYAML (YAML 1.1) tells the types of plain scalars apart. A scalar that matches none is text. */
const BOOLEAN = /^(?:(yes|Yes|YES|true|True|TRUE|on|On|ON)|no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const NOTHING = /^(?:~|null|Null|NULL|)$/;
const INTEGER = /^([-+]?)(?:0b([01_]+)|0x([\da-fA-F_]+)|0([0-7_]+)|(0|[1-9][\d_]*)|([1-9][\d_]*(?::[0-5]?\d)+))$/;
const FLOAT =
  /^[-+]?(?:\d[\d_]*\.[\d_]*(?:[eE][-+]\d+)?|\.\d[\d_]*(?:[eE][-+]\d+)?|\d[\d_]*(?::[0-5]?\d)+\.[\d_]*|\.(?:inf|Inf|INF|nan|NaN|NAN))$/;
const TIME =
  /^(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.(\d*))?[ \t]*(?:(Z)|([-+])(\d\d?)(?::?(\d\d))?)?$/;

interface PythonScalar {
  readonly value: string | number | boolean | null;
  /** The value as Python's `str` writes it, which a program finds in its environment. Undefined: there is no value. */
  readonly text?: string;
}

/** A plain scalar as tools in Python read it: `1e-5` is a text, `0x1F` is 31, `yes` is True. */
function pythonScalar(source: string): PythonScalar {
  const boolean = BOOLEAN.exec(source);
  if (boolean !== null) return { value: boolean[1] !== undefined, text: boolean[1] === undefined ? 'False' : 'True' };
  if (NOTHING.test(source)) return { value: null };
  const integer = INTEGER.exec(source);
  if (integer !== null) return ofInteger(integer);
  if (FLOAT.test(source)) return ofFloat(source);
  const time = TIME.exec(source);
  return { value: source, text: time === null ? source : ofTime(time) };
}

const plain = (digits: string): string => digits.replaceAll('_', '');

function ofInteger([, sign = '', binary, hex, octal, decimal, sixties]: RegExpExecArray): PythonScalar {
  const prefixed = [
    ['0b', binary],
    ['0x', hex],
    ['0o', octal],
    ['', decimal],
  ] as const;
  const [prefix, digits = '0'] = prefixed.find(([, found]) => found !== undefined) ?? ['', '0'];
  const size = sixties === undefined ? BigInt(`${prefix}${plain(digits) || '0'}`) : BigInt(inSixties(sixties));
  const text = String(sign === '-' ? -size : size);
  // A number that JavaScript would round stays a text.
  return { value: Number.isSafeInteger(Number(text)) ? Number(text) : text, text };
}

function ofFloat(source: string): PythonScalar {
  const [sign, size] = /^[-+]/.test(source) ? [source.slice(0, 1), source.slice(1)] : ['', source];
  if (/inf$/i.test(size)) return { value: source, text: sign === '-' ? '-inf' : 'inf' };
  if (/nan$/i.test(size)) return { value: source, text: 'nan' };
  const value = size.includes(':') ? inSixties(size) : Number(plain(size));
  return { value: sign === '-' ? -value : value, text: `${sign === '-' ? '-' : ''}${shownFloat(value)}` };
}

/** Reads `12:30:00` as 45000. */
const inSixties = (text: string): number =>
  plain(text)
    .split(':')
    .reduce((sum, part) => sum * 60 + Number(part), 0);

/** A positive float as Python writes it: `1e-05`, `0.0001`, `1.0`. */
function shownFloat(value: number): string {
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power < -4 || power >= 16) return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

function ofTime([, year = '', ...parts]: RegExpExecArray): string {
  const [month, day, hour, minute, second] = parts.slice(0, 5).map((part) => part.padStart(2, '0'));
  const [fraction = '', isUtc, sign, hours, minutes = '00'] = parts.slice(5) as (string | undefined)[];
  const shown = /[1-9]/.test(fraction) ? `.${fraction.slice(0, 6).padEnd(6, '0')}` : '';
  const zone =
    isUtc !== undefined ? '+00:00' : hours === undefined ? '' : `${sign}${hours.padStart(2, '0')}:${minutes}`;
  return `${year}-${month}-${day} ${hour}:${minute}:${second}${shown}${zone}`;
}

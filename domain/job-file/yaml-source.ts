import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Document, Node, Pair, YAMLMap } from 'yaml';
import { ALL_MODULES } from '../modules/registry.js';
import type { Path, Problem } from '../problem.js';
import { pythonDocuments } from './foreign/python-yaml.js';
import { mapTree } from './plain-tree.js';
import { inItselfAt, tooDeepAt } from './yaml-depth.js';
import { IN_ITSELF, INDEPENDENT, TOO_DEEP, TOO_MANY_KEYS, yamlWords } from './yaml-words.js';

/** Values that keep their text even if YAML reads them as numbers: 3.10 is not 3.1, and 007 is not 7. */
const KEPT_AS_WRITTEN: readonly (readonly string[])[] = [
  ...ALL_MODULES.flatMap(({ name, keptAsWritten = [] }) => keptAsWritten.map((key) => [name, key])),
  ['env', '*'],
  ['tpu', 'labels', '*'],
  ['tpu', 'metadata', '*'],
];

/** Comparisons of keys: more than `MOST_VALUES` of a job file (resolve.ts) take in one section. */
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

  /** The parser compares each key with all before it. Beyond the most, each is the same, so that it stops at the first. */
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

  /** The documents of another tool's file, as that tool reads them; none if one of them is no YAML. */
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

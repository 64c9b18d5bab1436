import type { Document, Node, Pair } from 'yaml';
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';

/** Keys and list indexes, from the top. */
export type Path = readonly (string | number)[];

export interface Place {
  /** Both 1-based. */
  readonly line: number;
  readonly column: number;
}

export interface SyntaxFault extends Place {
  readonly message: string;
}

/** A text in YAML 1.2, and the positions of its values. */
export class YamlText {
  readonly faults: readonly SyntaxFault[];
  readonly #lines = new LineCounter();
  readonly #document: Document.Parsed;

  constructor(text: string) {
    const options = { lineCounter: this.#lines, merge: true, prettyErrors: false, logLevel: 'error' } as const;
    this.#document = parseDocument(text, options);
    const { errors, warnings } = this.#document;
    this.faults = [...errors, ...warnings].map((error) => ({
      ...this.#placeAt(error.pos[0]),
      message: `not YAML: ${error.message.split('\n')[0]}`,
    }));
  }

  /** @throws ReferenceError if aliases multiply beyond measure */
  tree(): unknown {
    return this.#document.toJS();
  }

  /** Position of the value at `path`, or of its key. If the value is missing: of the nearest one above it. */
  placeOf(path: Path, part: 'key' | 'value' = 'value'): Place {
    let node = this.#resolve(this.#document.contents);
    let offsets = { key: node?.range?.[0] ?? 0, value: node?.range?.[0] ?? 0 };
    for (const segment of path) {
      const [key, value] = this.#child(node, segment);
      if (key === undefined && value === undefined) return this.#placeAt(offsets.key);
      const keyAt = key?.range?.[0] ?? value?.range?.[0] ?? offsets.key;
      offsets = { key: keyAt, value: value?.range?.[0] ?? keyAt };
      node = value;
    }
    return this.#placeAt(offsets[part]);
  }

  #child(node: Node | undefined, segment: string | number): readonly [Node | undefined, Node | undefined] {
    if (isSeq(node)) return [undefined, this.#resolve(node.items[Number(segment)])];
    const pair = isMap(node) ? node.items.find((each) => keyOf(each) === String(segment)) : undefined;
    return pair === undefined ? [undefined, undefined] : [pair.key as Node, this.#resolve(pair.value)];
  }

  #resolve(node: unknown): Node | undefined {
    if (isAlias(node)) return node.resolve(this.#document);
    return isNode(node) ? node : undefined;
  }

  #placeAt(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    return { line, column: col };
  }
}

function keyOf({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key);
}

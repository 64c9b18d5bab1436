import { ALL_MODULES } from '../modules/registry.js';
import type { Path } from '../problem.js';
import { isMapping, mapTree, valueAt } from './plain-tree.js';

/** A value that replaces one of the job file, or adds a key that the file does not have. Plain JSON. */
export interface Assignment {
  readonly path: Path;
  readonly value: unknown;
}

/** Sections that may be a plain text, and the key that the text then means: `bundle: DIR` is `bundle: {dir: DIR}`. */
const SHORT_FOR: ReadonlyMap<string, string> = new Map([
  ['keep', 'when'],
  ...ALL_MODULES.flatMap(({ name, shortFor }) => (shortFor === undefined ? [] : [[name, shortFor] as const])),
]);

/** `blocked`: the first part of the path at which something other than a section or list stands, and its value. */
export type Assigned =
  | { readonly tree: unknown }
  | { readonly blocked: Path; readonly value: unknown; readonly by: Assignment };

/** Returns `tree` with the value put in. Makes missing sections on the path, and turns short forms on it into sections. */
export const assign = (tree: unknown, assignment: Assignment): Assigned => assignAll(tree, [assignment]);

/** Assigns in order. Copies the tree once and writes in place, because a section may have thousands of keys. */
export function assignAll(tree: unknown, assignments: readonly Assignment[]): Assigned {
  let own = copyOf(tree);
  for (const by of assignments) {
    own = withLongForm(own, by.path);
    const blocked = blockingPath(own, by.path);
    if (blocked !== undefined) return { blocked, value: valueAt(own, blocked), by };
    own = put(own, by.path, copyOf(by.value));
  }
  return { tree: own };
}

const copyOf = (tree: unknown): unknown => mapTree(tree, (value) => value);

/** @param tree a copy made in this file; it is written to */
function withLongForm(tree: unknown, [key, below]: Path): unknown {
  const name = SHORT_FOR.get(String(key));
  if (name === undefined || below === undefined || !isMapping(tree)) return tree;
  const short = tree[String(key)];
  if (short === false) return put(tree, [String(key)], {});
  return typeof short === 'string' ? put(tree, [String(key)], { [name]: short }) : tree;
}

/** @param tree a copy made in this file; it is written to, and the new key comes last in its section */
function put(tree: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(tree)) {
    const list = tree as unknown[];
    list[Math.min(Number(key), list.length)] = put(list[Number(key)], rest, value);
    return list;
  }
  const section: Record<string, unknown> = isMapping(tree) ? tree : {};
  const child = put(valueAt(section, [key]), rest, value);
  delete section[String(key)];
  // The key may be `__proto__`, which a plain assignment would treat as the prototype.
  Object.defineProperty(section, key, { value: child, writable: true, enumerable: true, configurable: true });
  return section;
}

function blockingPath(tree: unknown, path: Path): Path | undefined {
  for (let depth = 0; depth < path.length; depth++) {
    const value = valueAt(tree, path.slice(0, depth));
    const isFree = value === undefined || value === null || isMapping(value);
    if (!isFree && !(Array.isArray(value) && typeof path[depth] === 'number')) return path.slice(0, depth);
  }
  return undefined;
}

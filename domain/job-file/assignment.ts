import { ALL_MODULES } from '../modules/registry.js';
import type { Path } from '../problem.js';
import { isMapping, valueAt } from './plain-tree.js';

/** One value that replaces the job file's, or adds a key that the file does not have. Plain JSON. */
export interface Assignment {
  readonly path: Path;
  readonly value: unknown;
}

/** Sections for which a plain text may stand, and the key that it then means: `bundle: DIR` is `bundle: {dir: DIR}`. */
const SHORT_FOR: ReadonlyMap<string, string> = new Map([
  ['keep', 'when'],
  ...ALL_MODULES.flatMap(({ name, shortFor }) => (shortFor === undefined ? [] : [[name, shortFor] as const])),
]);

/**
 * `tree` with the value put in; sections on the way are made, and short forms on the way become sections.
 * @returns `blocked`: the first part of the way that is neither section nor list nor absent
 */
export function assign(
  tree: unknown,
  { path, value }: Assignment,
): { readonly tree: unknown } | { readonly blocked: Path } {
  const opened = withLongForm(tree, path);
  const blocked = blockingPath(opened, path);
  return blocked === undefined ? { tree: put(opened, path, value) } : { blocked };
}

function withLongForm(tree: unknown, [key, below]: Path): unknown {
  const name = SHORT_FOR.get(String(key));
  if (name === undefined || below === undefined || !isMapping(tree)) return tree;
  const short = tree[String(key)];
  if (short === false) return put(tree, [String(key)], {});
  return typeof short === 'string' ? put(tree, [String(key)], { [name]: short }) : tree;
}

function put(tree: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(tree)) {
    const list = [...(tree as unknown[])];
    list[Math.min(Number(key), list.length)] = put(list[Number(key)], rest, value);
    return list;
  }
  const section = isMapping(tree) ? tree : {};
  const child = put(valueAt(section, [key]), rest, value);
  return Object.fromEntries([...Object.entries(section).filter(([name]) => name !== String(key)), [key, child]]);
}

function blockingPath(tree: unknown, path: Path): Path | undefined {
  for (let depth = 0; depth < path.length; depth++) {
    const value = valueAt(tree, path.slice(0, depth));
    const isFree = value === undefined || value === null || isMapping(value);
    if (!isFree && !(Array.isArray(value) && typeof path[depth] === 'number')) return path.slice(0, depth);
  }
  return undefined;
}

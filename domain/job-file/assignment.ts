import type { Path } from '../problem.js';
import { isMapping, valueAt } from './plain-tree.js';

/** One value that takes the place of what a job file says, or stands where it says nothing. Plain JSON. */
export interface Assignment {
  readonly path: Path;
  readonly value: unknown;
}

/** `tree` with the value put in; sections on the way are made. See `blockingPath`. */
export function assign(tree: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(tree)) {
    const list = [...(tree as unknown[])];
    list[Math.min(Number(key), list.length)] = assign(list[Number(key)], rest, value);
    return list;
  }
  const section = isMapping(tree) ? tree : {};
  const child = assign(valueAt(section, [key]), rest, value);
  return Object.fromEntries([...Object.entries(section).filter(([name]) => name !== String(key)), [key, child]]);
}

/** The first part of the way that is neither section nor list nor absent; undefined if the way is free. */
export function blockingPath(tree: unknown, path: Path): Path | undefined {
  for (let depth = 0; depth < path.length; depth++) {
    const value = valueAt(tree, path.slice(0, depth));
    const isFree = value === undefined || value === null || isMapping(value);
    if (!isFree && !(Array.isArray(value) && typeof path[depth] === 'number')) return path.slice(0, depth);
  }
  return undefined;
}

import type { Path } from '../problem.js';

/** A mapping of plain JSON. */
export type Mapping = Readonly<Record<string, unknown>>;

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The path of the first section or list that lies in more than `depth` others, or undefined if there is none. */
export function deeperThan(tree: unknown, depth: number): Path | undefined {
  if (typeof tree !== 'object' || tree === null) return undefined;
  if (depth === 0) return [];
  for (const [key, child] of Object.entries(tree)) {
    const rest = deeperThan(child, depth - 1);
    if (rest !== undefined) return [Array.isArray(tree) ? Number(key) : key, ...rest];
  }
  return undefined;
}

/** Returns whether the tree has more than `most` values, counting sections and lists. The tree must not be deep. */
export function hasMoreThan(tree: unknown, most: number): boolean {
  let left = most;
  const count = (value: unknown): boolean => {
    left -= 1;
    return left < 0 || (typeof value === 'object' && value !== null && Object.values(value).some(count));
  };
  return count(tree);
}

/** The value at a path, or undefined if any part of the path is missing. */
export function valueAt(tree: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, segment) => childOf(value, segment), tree);
}

function childOf(value: unknown, segment: string | number): unknown {
  if (Array.isArray(value)) return value[Number(segment)] as unknown;
  return isMapping(value) && Object.hasOwn(value, segment) ? value[segment] : undefined;
}

/** Returns `tree` with every value that is not a section or list replaced by the result of `replace`. */
export function mapTree(tree: unknown, replace: (value: unknown, path: Path) => unknown, path: Path = []): unknown {
  if (Array.isArray(tree)) return tree.map((item: unknown, index) => mapTree(item, replace, [...path, index]));
  if (!isMapping(tree)) return replace(tree, path);
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, mapTree(value, replace, [...path, key])]));
}

/** Returns `tree` with every string replaced by the result of `replace`. Everything else stays. */
export function mapStrings(tree: unknown, replace: (text: string, path: Path) => unknown): unknown {
  return mapTree(tree, (value, path) => (typeof value === 'string' ? replace(value, path) : value));
}

/**
 * Returns `tree` without the keys at `paths`. If a path leads to an element of a list, the whole list is dropped, because its
 * indexes would shift. Each section is written once, however many of its keys are dropped.
 */
export function withoutAll(tree: unknown, paths: readonly Path[]): unknown {
  if (!isMapping(tree) || paths.length === 0) return tree;
  const below = new Map<string, Path[]>();
  for (const [key, ...rest] of paths) {
    if (typeof key !== 'string') continue;
    const known = below.get(key);
    if (known === undefined) below.set(key, [rest]);
    else known.push(rest);
  }
  return Object.fromEntries(
    Object.entries(tree).flatMap(([name, value]) => {
      const rests = below.get(name);
      if (rests === undefined) return [[name, value]];
      return rests.some(([next]) => typeof next !== 'string') ? [] : [[name, withoutAll(value, rests)]];
    }),
  );
}

/** Every path to a leaf or section, `a.b.c`, in file order. */
export function dottedPaths(tree: unknown, prefix = ''): string[] {
  if (!isMapping(tree)) return [];
  return Object.entries(tree).flatMap(([key, value]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    return [path, ...dottedPaths(value, path)];
  });
}

/** Compares two paths by their position in `tree`. Paths that are not in it come last. */
export function inFileOrder(tree: unknown): (a: Path, b: Path) => number {
  const rankIn = rankOf();
  const ranks = (path: Path): number[] =>
    path.map((segment, depth) => rankIn(valueAt(tree, path.slice(0, depth)), segment));
  return (a, b) => {
    const [ranksA, ranksB] = [ranks(a), ranks(b)];
    for (let depth = 0; depth < Math.min(ranksA.length, ranksB.length); depth++) {
      const [rankA, rankB] = [ranksA[depth] ?? 0, ranksB[depth] ?? 0];
      if (rankA !== rankB) return rankA < rankB ? -1 : 1;
    }
    return a.length - b.length;
  };
}

/** Numbers the keys of each section once, because a file of thousands of wrong keys is sorted by them. */
function rankOf(): (parent: unknown, segment: string | number) => number {
  const known = new Map<Mapping, ReadonlyMap<string, number>>();
  return (parent, segment) => {
    if (typeof segment === 'number') return segment;
    if (!isMapping(parent)) return Infinity;
    const ranks = known.get(parent) ?? new Map(Object.keys(parent).map((key, index) => [key, index]));
    known.set(parent, ranks);
    return ranks.get(segment) ?? Infinity;
  };
}

import { utf8Bytes } from './bounds.js';

/** Longest part of a name and longest name, in bytes of UTF-8: the limits of the relevant file systems. */
const MOST_PART_BYTES = 255;
const MOST_NAME_BYTES = 4096;

/**
 * Checks a file name from a host, a store or a server, such as `out/a.txt`, before it becomes a path on this computer. All such
 * names are checked here (docs/adr/0092). Control characters are legal in a name; print them by `visibleText`.
 * @returns why it is no path below a folder, as text behind the name, or undefined if it is one
 */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'is no name: it is empty';
  if (name.includes('\0')) return 'is no name: it has a NUL byte';
  const parts = name.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..'))
    return 'would be written outside of the folder';
  if (utf8Bytes(name) > MOST_NAME_BYTES) return `is longer than ${MOST_NAME_BYTES} bytes`;
  if (parts.some((part) => utf8Bytes(part) > MOST_PART_BYTES))
    return `has a part that is longer than ${MOST_PART_BYTES} bytes`;
  return undefined;
}

/**
 * Finds names, each of which passed `nameProblem`, that cannot be together in one folder: a name that is there twice, or is
 * below another name. `names` lists only those folders that are empty.
 */
export function treeProblem(names: readonly string[]): string | undefined {
  // In this order, names below a name follow it at once: no character is less than NUL, which no name has.
  const sorted = names.map((name) => name.replaceAll('/', '\0')).toSorted();
  const shown = (name: string): string => quotedName(name.replaceAll('\0', '/'));
  for (const [at, name] of sorted.entries()) {
    const before = sorted[at - 1];
    if (before === name) return `it lists ${shown(name)} twice`;
    if (before !== undefined && name.startsWith(`${before}\0`))
      return `${shown(name)} is below ${shown(before)}, which is no folder`;
  }
  return undefined;
}

/** A name for a message: quoted, and cut if it is too long to read. */
export const quotedName = (name: string): string =>
  JSON.stringify(name.length > MOST_PART_BYTES ? `${name.slice(0, MOST_PART_BYTES)}..` : name);

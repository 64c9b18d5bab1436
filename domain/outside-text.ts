import { utf8Bytes } from './bounds.js';

/** Text from hosts, stores, servers and files of others: made visible before it is shown, checked before it names a file. */

/**
 * Characters that a terminal obeys, or that hide or reverse visible text: control characters (C0 and C1), marks and overrides of
 * direction, text without width, Unicode's tags, half surrogates. Joiners are left out: emoji and scripts need them.
 */
const HIDDEN =
  /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Surrogate}]/gu;

/**
 * Text from outside in a form that may be shown: every hidden character as `\u001b`, as in JSON, so that a JSON text keeps its
 * value. No other function does this (docs/adr/0075, F13).
 */
export const visibleText = (text: string): string => text.replace(HIDDEN, escaped);

/** The same for text of several lines, whose line ends and tabs stay. */
export const visibleLines = (text: string): string =>
  text.replace(HIDDEN, (character) => (character === '\n' || character === '\t' ? character : escaped(character)));

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => hex(character.charCodeAt(at))).join('');

const hex = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;

/** One line of text from outside that may be kept and shown: hidden characters escaped, at most `most` characters. */
export const boundedLine = (text: string, most: number): string =>
  visibleText(text.slice(0, most).replaceAll(/\s+/g, ' ').trim())
    .slice(0, most)
    // A cut may leave half a character, which no message of ours may hold.
    .replace(/[\ud800-\udbff]$/, '');

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

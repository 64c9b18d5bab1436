import { parse } from 'yaml';
import { isMapping } from '../job-file/plain-tree.js';

/**
 * A file beside a list of packages that the list names. Only the list itself goes to the hosts, so pip and conda would not find
 * the file. Absolute paths are a host's own, and URLs and variables may be anything, so they are left out.
 */
export interface NamedFile {
  /** Counted from 1. */
  readonly line: number;
  /** The line of the list. */
  readonly text: string;
  readonly path: string;
}

const OPTION =
  /^(?:-[rcefi]|--(?:requirement|constraint|editable|find-links|(?:extra-)?index-url)(?=[\s=]))(?:\s+|=)?(?<value>"[^"]*"|'[^']*'|\S+)/;
const ARCHIVE = /\.(?:whl|zip|tar\.gz|tar\.bz2|tgz|conda)$/;

/** @param text a requirements file, or the environment.yml of conda */
export function filesNamedIn(text: string, kind: 'requirements' | 'conda'): readonly NamedFile[] {
  return kind === 'conda' ? ofConda(text) : ofPip(text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/));
}

/** @param packages as in a command line of pip, an option and its value in one text */
export const filesNamedBy = (packages: readonly string[]): readonly NamedFile[] => ofPip(packages);

function ofPip(lines: readonly string[]): readonly NamedFile[] {
  return lines.flatMap((line, index) => {
    const text = line.replace(/(?:^|(?<=\s))#.*/, '').trim();
    const path = pathIn(text);
    return path === undefined ? [] : [{ line: index + 1, text, path }];
  });
}

/** pip takes a word with a slash for a folder, and one that ends as an archive does for a file. */
function pathIn(text: string): string | undefined {
  const option = OPTION.exec(text)?.groups?.['value'];
  const written = (option ?? text.split(/;|(?<!\s)\s+--/)[0]?.trim() ?? '').replaceAll(/^["']|["']$/g, '');
  const word = written.replace(/^[\w.-]+\s*(?:\[[^\]]*\]\s*)?@\s*(?=[a-z][\w+]*:)/, '');
  const isFile =
    option !== undefined || /^(?:\.{1,2}(?:\/|\[|$)|file:)/.test(word) || (!/\s/.test(word) && /\//.test(word));
  return isFile || (ARCHIVE.test(word) && !/\s/.test(word)) ? beside(word) : undefined;
}

/** The path of a file beside the list, relative to the list. Undefined if the word names another place. */
function beside(word: string): string | undefined {
  const path = word.replace(/^file:/, '').replace(/(?<=.)\[[\w\s,.-]*\]$/, '');
  return path === '' || /^\/|^~|^[A-Za-z][\w+.-]*:|\$/.test(path) ? undefined : path;
}

/** Reads the packages under `pip:`, and channels that are folders. */
function ofConda(text: string): readonly NamedFile[] {
  const lines = text.split('\n');
  let tree: unknown;
  try {
    tree = parse(text, { logLevel: 'silent' });
  } catch {
    // Conda says better what is wrong with it.
    return [];
  }
  const listed = listIn(tree, 'dependencies').flatMap((each) => listIn(each, 'pip'));
  const channels = listIn(tree, 'channels').filter((each) => typeof each === 'string' && /^(?:\.|file:)/.test(each));
  const named = ofPip([...channels, ...listed].filter((each): each is string => typeof each === 'string'));
  return named.map((one) => ({ ...one, line: lines.findIndex((line) => line.includes(one.text)) + 1 }));
}

function listIn(tree: unknown, key: string): readonly unknown[] {
  const list = isMapping(tree) ? tree[key] : undefined;
  return Array.isArray(list) ? list : [];
}

/** Decodes a text whose mark says which encoding of Unicode it has, as pip does. */
export function decodedText(content: Uint8Array): string {
  const [first, second] = content;
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(content);
}

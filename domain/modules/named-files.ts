import { parse } from 'yaml';
import { isMapping } from '../job-file/plain-tree.js';

/**
 * Finds the files beside a list of packages that the list names. Only the list itself goes to the hosts, so that pip and conda
 * look for them in vain. Absolute paths are those of a host, and URLs and variables may be anything: they are left out.
 */
export interface NamedFile {
  /** Counted from 1. */
  readonly line: number;
  /** The line of the list. */
  readonly text: string;
  readonly path: string;
}

const OPTION =
  /^(?:-[rcef]|--(?:requirement|constraint|editable|find-links)(?=[\s=]))(?:\s+|=)?(?<value>"[^"]*"|'[^']*'|\S+)/;
const ARCHIVE = /\.(?:whl|zip|tar\.gz|tar\.bz2|tgz)$/;

/** @param text a requirements file, or the environment.yml of conda */
export function filesNamedIn(text: string, kind: 'requirements' | 'conda'): readonly NamedFile[] {
  return kind === 'conda' ? ofConda(text) : ofPip(text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/));
}

function ofPip(lines: readonly string[]): readonly NamedFile[] {
  return lines.flatMap((line, index) => {
    const text = line.replace(/(?:^|(?<=\s))#.*/, '').trim();
    const path = pathIn(text);
    return path === undefined ? [] : [{ line: index + 1, text, path }];
  });
}

function pathIn(text: string): string | undefined {
  const option = OPTION.exec(text)?.groups?.['value'];
  const word = (option ?? text.split(/;|(?<!\s)\s+--/)[0]?.trim() ?? '').replaceAll(/^["']|["']$/g, '');
  const isFile = option !== undefined || /^\.{1,2}(?:\/|\[|$)/.test(word) || (ARCHIVE.test(word) && !/\s/.test(word));
  const path = word.replace(/(?<=.)\[[\w\s,.-]*\]$/, '');
  const isElsewhere = /^\/|^~|^[A-Za-z][\w+.-]*:|\$/.test(path) || /^(?:git|hg|svn|bzr)\+/.test(path);
  return isFile && !isElsewhere && path !== '' ? path : undefined;
}

/** The lists under `pip:`. */
function ofConda(text: string): readonly NamedFile[] {
  const lines = text.split('\n');
  let tree: unknown;
  try {
    tree = parse(text, { logLevel: 'silent' });
  } catch {
    // Conda says better what is wrong with it.
    return [];
  }
  const listed = isMapping(tree) && Array.isArray(tree['dependencies']) ? (tree['dependencies'] as unknown[]) : [];
  const packages = listed.flatMap((each) =>
    isMapping(each) && Array.isArray(each['pip']) ? (each['pip'] as unknown[]) : [],
  );
  const texts = packages.filter((each): each is string => typeof each === 'string');
  return ofPip(texts).map((named) => ({ ...named, line: lines.findIndex((line) => line.includes(named.text)) + 1 }));
}

/** Decodes a text whose mark says which encoding of Unicode it has, as pip does. */
export function decodedText(content: Uint8Array): string {
  const [first, second] = content;
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(content);
}

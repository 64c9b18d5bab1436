import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import type { Packing } from '../../../domain/local-files.js';
import { USUAL_EXCLUDES } from '../../../domain/local-files.js';
import { git } from './git.js';
import { NotPackable } from './pack-tree.js';

/** Ignore rules, and the folder that their paths start at. */
export interface Rules {
  readonly base: string;
  readonly rules: Ignore;
}

/** Rules that match like git on file systems that distinguish `Lib` from `lib`. */
const rulesFrom = (patterns: string | readonly string[]): Ignore =>
  ignore({ ignorecase: false }).add(typeof patterns === 'string' ? patterns : [...patterns]);

/** The bundle's own exclusions. Unless `withIgnored`, `.git` is always one of them: its configuration may hold a token. */
export const excludedBy = ({ exclude = USUAL_EXCLUDES, withIgnored }: Packing): Ignore =>
  rulesFrom([...exclude, ...(withIgnored === true ? [] : ['.git'])]);

/** Decides like git: of all rules that match a path, those of the deepest folder win. */
export function isIgnored(place: string, isFolder: boolean, rules: readonly Rules[]): boolean {
  let verdict = false;
  for (const { base, rules: own } of rules) {
    const { ignored, unignored } = own.test(`${relative(base, place).split(sep).join('/')}${isFolder ? '/' : ''}`);
    if (ignored || unignored) verdict = ignored;
  }
  return verdict;
}

/** Rules of the folder's .gitignore; empty if there is none. @throws NotPackable if it cannot be read */
export function rulesOf(folder: string): readonly Rules[] {
  return rulesIn(join(folder, '.gitignore'), folder);
}

function rulesIn(file: string, base: string): readonly Rules[] {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return [];
  try {
    return [{ base, rules: rulesFrom(readFileSync(file, 'utf8')) }];
  } catch (error) {
    throw new NotPackable(`is packed by ${file}, which cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Rules of the user, of the repository, and of this folder's parents up to the top of the repository, weakest first. */
export async function rulesAround(folder: string): Promise<readonly Rules[]> {
  const answer = async (...words: string[]): Promise<string | undefined> =>
    (await git(folder, words))?.replace(/\n$/, '');
  const top = await answer('rev-parse', '--show-toplevel');
  if (top === undefined) return [];
  const [own, everywhere] = await Promise.all([
    answer('rev-parse', '--git-path', 'info/exclude'),
    answer('config', '--path', 'core.excludesFile'),
  ]);
  const usual = join(process.env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'git', 'ignore');
  const above: string[] = [];
  for (let at = folder; at !== top && dirname(at) !== at; at = dirname(at)) above.unshift(dirname(at));
  return [
    ...rulesIn(everywhere ?? usual, top),
    ...(own === undefined ? [] : rulesIn(resolve(folder, own), top)),
    ...above.flatMap(rulesOf),
  ];
}

import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import type { Packing } from '../../../domain/local-files.js';
import { USUAL_EXCLUDES } from '../../../domain/local-files.js';
import { git } from './git.js';
import { NotPackable } from './pack-tree.js';

/** Rules, and the folder whose paths they are about. */
export interface Rules {
  readonly base: string;
  readonly rules: Ignore;
}

/** As git matches on file systems that tell `Lib` from `lib`. */
const rulesFrom = (patterns: string | readonly string[]): Ignore =>
  ignore({ ignorecase: false }).add(typeof patterns === 'string' ? patterns : [...patterns]);

/** What a bundle leaves out by its own word. The repository stays behind whatever that is: its configuration may hold a token. */
export const excludedBy = ({ exclude = USUAL_EXCLUDES, withIgnored }: Packing): Ignore =>
  rulesFrom([...exclude, ...(withIgnored === true ? [] : ['.git'])]);

/** As git does: of all rules that speak of a path, the deepest folder's decide. */
export function isIgnored(place: string, isFolder: boolean, rules: readonly Rules[]): boolean {
  let verdict = false;
  for (const { base, rules: own } of rules) {
    const { ignored, unignored } = own.test(`${relative(base, place).split(sep).join('/')}${isFolder ? '/' : ''}`);
    if (ignored || unignored) verdict = ignored;
  }
  return verdict;
}

/** Of the folder's .gitignore; none where it has none. @throws NotPackable for one that cannot be read */
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

/** The user's own, the repository's, and those of the folders above this one up to its top, the weaker first. */
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

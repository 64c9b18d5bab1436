import { existsSync, readFileSync } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { type BundleSpec, USUAL_EXCLUDES } from '../../../domain/setup-spec.js';
import { git } from './git.js';
import { MAX_ENTRIES, sortedNames } from './tree-entries.js';
import { NotPackable } from './pack-tree.js';

/** What of a folder goes into its bundle. Paths are relative, with `/`. */
export interface BundleEntries {
  /** Files, links and folders, in byte order. */
  readonly paths: readonly string[];
  /** Files and links. */
  readonly count: number;
  /** Of the files. */
  readonly bytes: number;
  /** What stays behind: the highest paths, folders with a `/` at the end. */
  readonly leftOut: readonly string[];
  /** Links that lead to somewhere that is not in the bundle, and where. */
  readonly linksOut: readonly (readonly [path: string, target: string])[];
  /** Bytes below each entry of the folder. */
  readonly bytesOf: ReadonlyMap<string, number>;
}

/**
 * Walks the folder, and does not look into what stays behind: what `exclude` names, and what git would ignore, where the bundle
 * does not say otherwise. What git keeps though it is ignored goes, as everything that is in the repository.
 * @throws NotPackable
 */
export async function bundleEntries(folder: string, bundle: BundleSpec): Promise<BundleEntries> {
  const walk = new Walk(folder, bundle);
  await walk.into('');
  if (bundle.withIgnored !== true) await walk.addTracked();
  return walk.entries();
}

/** Rules, and the folder whose paths they are about. */
interface Rules {
  readonly base: string;
  readonly rules: Ignore;
}

class Walk {
  readonly #folder: string;
  readonly #excluded: Ignore;
  readonly #isGitRead: boolean;
  /** Of the folders around this one, from the top of its repository down. */
  readonly #around: readonly Rules[];
  readonly #paths = new Set<string>();
  readonly #leftOut: string[] = [];
  readonly #linksOut: [string, string][] = [];
  readonly #bytesOf = new Map<string, number>();
  #count = 0;

  constructor(folder: string, { exclude = USUAL_EXCLUDES, withIgnored }: BundleSpec) {
    this.#folder = folder;
    this.#excluded = ignore().add([...exclude]);
    this.#isGitRead = withIgnored !== true;
    this.#around = this.#isGitRead ? rulesAround(folder) : [];
  }

  async into(path: string, rules: readonly Rules[] = this.#around): Promise<void> {
    const own = this.#isGitRead ? [...rules, ...rulesOf(join(this.#folder, path))] : rules;
    for (const { name, isFolder } of await sortedNames(this.#folder, path)) {
      const below = path === '' ? name : `${path}/${name}`;
      const named = isFolder ? `${below}/` : below;
      if (this.#excluded.ignores(named) || isIgnored(join(this.#folder, below), isFolder, own)) {
        this.#leftOut.push(named);
        continue;
      }
      if (this.#paths.size >= MAX_ENTRIES) throw new NotPackable(`has more than ${MAX_ENTRIES} files and folders`);
      if (isFolder) {
        this.#paths.add(below);
        await this.into(below, own);
      } else await this.#add(below);
    }
  }

  /** A file that somebody put into the repository though a .gitignore names it. */
  async addTracked(): Promise<void> {
    const listed = await git(this.#folder, ['ls-files', '-ci', '--exclude-standard', '-z']);
    for (const path of listed?.split('\0') ?? []) {
      if (path === '' || this.#paths.has(path) || this.#excluded.ignores(path)) continue;
      if (!existsSync(join(this.#folder, path))) continue;
      for (let above = dirname(path); above !== '.'; above = dirname(above)) this.#paths.add(above);
      await this.#add(path);
    }
  }

  async #add(path: string): Promise<void> {
    this.#paths.add(path);
    this.#count += 1;
    const place = join(this.#folder, path);
    const found = await lstat(place);
    if (found.isSymbolicLink()) {
      const target = await readlink(place);
      const end = relative(this.#folder, resolve(dirname(place), target));
      if (isAbsolute(target) || end === '..' || end.startsWith(`..${sep}`)) this.#linksOut.push([path, target]);
      return;
    }
    const [top = path] = path.split('/');
    this.#bytesOf.set(top, (this.#bytesOf.get(top) ?? 0) + found.size);
  }

  entries(): BundleEntries {
    return {
      // A folder before what it holds, also where git named what is in it.
      paths: [...this.#paths].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      count: this.#count,
      bytes: [...this.#bytesOf.values()].reduce((sum, bytes) => sum + bytes, 0),
      leftOut: this.#leftOut.toSorted(),
      linksOut: this.#linksOut,
      bytesOf: this.#bytesOf,
    };
  }
}

/** As git does: of all rules that speak of a path, the deepest folder's decide. */
function isIgnored(place: string, isFolder: boolean, rules: readonly Rules[]): boolean {
  let verdict = false;
  for (const { base, rules: own } of rules) {
    const { ignored, unignored } = own.test(`${relative(base, place).split(sep).join('/')}${isFolder ? '/' : ''}`);
    if (ignored || unignored) verdict = ignored;
  }
  return verdict;
}

function rulesOf(folder: string, file = '.gitignore'): readonly Rules[] {
  const place = join(folder, file);
  return existsSync(place) ? [{ base: folder, rules: ignore().add(readFileSync(place, 'utf8')) }] : [];
}

/** Of the folders above this one, up to the top of the repository that it is in. */
function rulesAround(folder: string): readonly Rules[] {
  const above: string[] = [];
  for (let at = folder; !existsSync(join(at, '.git')); at = dirname(at)) {
    if (dirname(at) === at) return [];
    above.unshift(dirname(at));
  }
  const [top = folder] = above;
  return [...rulesOf(top, '.git/info/exclude'), ...above.flatMap((each) => rulesOf(each))];
}

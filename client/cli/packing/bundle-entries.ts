import { lstat, readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Ignore } from 'ignore';
import { compareBytes } from '../../../cloud/store/byte-order.js';
import type { Packing } from '../../../domain/local-files.js';
import { excludedBy, isIgnored, type Rules, rulesAround, rulesOf } from './exclusion.js';
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
 * @param folder its real path: git's rules are those of where it lies
 * @throws NotPackable
 */
export async function bundleEntries(folder: string, bundle: Packing): Promise<BundleEntries> {
  const walk = new Walk(folder, bundle);
  if (bundle.withIgnored === true) await walk.into('');
  else {
    await walk.into('', await rulesAround(folder));
    await walk.addTracked();
  }
  return walk.entries();
}

class Walk {
  readonly #folder: string;
  readonly #excluded: Ignore;
  readonly #paths = new Set<string>();
  readonly #leftOut: string[] = [];
  readonly #linksOut: [string, string][] = [];
  readonly #bytesOf = new Map<string, number>();
  #count = 0;

  constructor(folder: string, bundle: Packing) {
    this.#folder = folder;
    this.#excluded = excludedBy(bundle);
  }

  /** @param rules git's, of the folders around; absent: git is not listened to */
  async into(path: string, rules?: readonly Rules[]): Promise<void> {
    const own = rules && [...rules, ...rulesOf(join(this.#folder, path))];
    for (const { name, isFolder } of await sortedNames(this.#folder, path)) {
      const below = path === '' ? name : `${path}/${name}`;
      const named = isFolder ? `${below}/` : below;
      if (this.#excluded.ignores(named) || isIgnored(join(this.#folder, below), isFolder, own ?? [])) {
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
    const listed = await git(this.#folder, ['ls-files', '-z']);
    for (const path of listed?.split('\0') ?? []) {
      if (path === '' || this.#paths.has(path) || this.#excluded.ignores(path)) continue;
      const above = await this.#foldersAbove(path);
      const found = await lstat(join(this.#folder, path)).catch(() => undefined);
      // Gone, behind a link that took its folder's place, or a submodule, whose folder was walked.
      if (above === undefined || found === undefined || found.isDirectory()) continue;
      for (const folder of above) this.#paths.add(folder);
      await this.#add(path);
    }
  }

  /** Undefined where one of them is none (any more). */
  async #foldersAbove(path: string): Promise<readonly string[] | undefined> {
    const folders: string[] = [];
    for (let above = dirname(path); above !== '.'; above = dirname(above)) {
      const found = await lstat(join(this.#folder, above)).catch(() => undefined);
      if (found?.isDirectory() !== true) return undefined;
      folders.push(above);
    }
    return folders;
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
      paths: [...this.#paths].toSorted(compareBytes),
      count: this.#count,
      bytes: [...this.#bytesOf.values()].reduce((sum, bytes) => sum + bytes, 0),
      leftOut: this.#leftOut.toSorted(),
      linksOut: this.#linksOut,
      bytesOf: this.#bytesOf,
    };
  }
}

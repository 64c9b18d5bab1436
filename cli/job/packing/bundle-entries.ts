import { lstat, readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Ignore } from 'ignore';
import { compareBytes } from '../../../cloud/store/byte-order.js';
import type { Packing } from '../../../domain/local-files.js';
import { excludedBy, isIgnored, type Rules, rulesAround, rulesOf } from './exclusion.js';
import { git } from './git.js';
import { MAX_ENTRIES, sortedNames } from './tree-entries.js';
import { NotPackable } from './pack-tree.js';

/** The content of a folder's bundle. Paths are relative, with `/`. */
export interface BundleEntries {
  /** Files, links and folders, in byte order of their paths. */
  readonly paths: readonly string[];
  /** Number of files and links. */
  readonly count: number;
  /** Bytes of all files. */
  readonly bytes: number;
  /** Excluded paths, only the topmost ones; folders have a `/` at the end. */
  readonly leftOut: readonly string[];
  /** Links to targets outside of the bundle, with their targets. */
  readonly linksOut: readonly (readonly [path: string, target: string])[];
  /** Bytes below each entry of the folder. */
  readonly bytesOf: ReadonlyMap<string, number>;
}

/**
 * Walks the folder but not its excluded parts: those that `exclude` names, and those that git would ignore unless the bundle says
 * otherwise. Files that git tracks although they are ignored are included, like everything in the repository.
 * @param folder its real path, because git's rules depend on it
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

  /** @param rules git's rules from the parent folders; absent: git's rules are ignored */
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

  /** Adds files that the repository tracks although a .gitignore names them. */
  async addTracked(): Promise<void> {
    const listed = await git(this.#folder, ['ls-files', '-z']);
    for (const path of listed?.split('\0') ?? []) {
      if (path === '' || this.#paths.has(path) || this.#excluded.ignores(path)) continue;
      const above = await this.#foldersAbove(path);
      const found = await lstat(join(this.#folder, path)).catch(() => undefined);
      // It is gone, behind a link in place of its folder, or a submodule, whose folder was walked.
      if (above === undefined || found === undefined || found.isDirectory()) continue;
      for (const folder of above) this.#paths.add(folder);
      await this.#add(path);
    }
  }

  /** The parent folders; undefined if one of them is not (or no longer) a folder. */
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
      // A folder comes before its content, even if git listed only the content.
      paths: [...this.#paths].toSorted(compareBytes),
      count: this.#count,
      bytes: [...this.#bytesOf.values()].reduce((sum, bytes) => sum + bytes, 0),
      leftOut: this.#leftOut.toSorted(),
      linksOut: this.#linksOut,
      bytesOf: this.#bytesOf,
    };
  }
}

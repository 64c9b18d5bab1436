import { createHash } from 'node:crypto';
import { lstat, readdir, readlink, rename, symlink, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf, isAbsent, openObject, type StoreFolder } from './folder-files.js';

/** A claim is kept this long, so that even a slow writer that read the generation before finds it claimed. */
const KEPT_MS = 15 * 60_000;
/** Age at which claims of killed processes are removed. */
const LEFT_CLAIM_MS = 86_400_000;
const LEFT_FILE_MS = 2 * LEFT_CLAIM_MS;

/** Identifies one content of one object: no later file has its inode and its time to the microsecond. */
export async function generationAt(path: string): Promise<string | undefined> {
  const file = await openObject(path);
  if (file === undefined) return undefined;
  try {
    return generationOf(await file.stat({ bigint: true }));
  } finally {
    await file.close();
  }
}

export const generationOf = ({ mtimeNs, ino }: { readonly mtimeNs: bigint; readonly ino: bigint }): string =>
  `${mtimeNs}-${ino}`;

/**
 * Replaces one generation of an object for exactly one of several writers, on any computers and even if one is killed meanwhile
 * (docs/adr/0132). One symbolic link decides who succeeds a generation. It can be created once and says where the new content
 * lies. The rest is a rename, which any writer that finds the link can do. It happens once, since the new content has a unique
 * name.
 */
export class FolderClaims {
  readonly #folder: StoreFolder;
  #made: { readonly path: string; readonly at: number }[] = [];

  constructor(folder: StoreFolder) {
    this.#folder = folder;
  }

  /**
   * @param temporary the whole new content, durable after a loss of power; the file is gone if this returns true
   * @returns false if the object is not at this generation or will not stay at it; the temporary file then still belongs to the
   * caller
   */
  async succeed(object: { readonly name: string; readonly path: string }, generation: string, temporary: string) {
    const { name, path } = object;
    if ((await generationAt(path)) !== generation) return false;
    const claim = this.#claimOf(name, generation);
    try {
      await symlink(basename(temporary), claim);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      await this.#finish(claim, path, generation);
      return false;
    }
    this.#made.push({ path: claim, at: Date.now() });
    // Another writer that found the claim may have finished it already. Then this file is gone, and later contents do not matter.
    if ((await generationAt(path)) !== generation && (await isThere(temporary))) {
      await unlink(claim).catch(() => undefined);
      return false;
    }
    await rename(temporary, path).catch(unlessAbsent);
    await this.#removeOld();
    return true;
  }

  /** Finishes the write of a process that was killed between claim and rename. */
  async #finish(claim: string, path: string, generation: string): Promise<void> {
    const temporary = await readlink(claim).catch(unlessAbsent);
    if (temporary === undefined || !/^[\da-f-]{36}$/.test(temporary)) return;
    if ((await generationAt(path)) === generation)
      await rename(join(this.#folder.temporary, temporary), path).catch(unlessAbsent);
  }

  #claimOf(name: string, generation: string): string {
    return join(this.#folder.claims, createHash('sha256').update(`${generation} ${name}`).digest('hex'));
  }

  async #removeOld(): Promise<void> {
    const since = Date.now() - KEPT_MS;
    const old = this.#made.filter(({ at }) => at < since);
    if (old.length === 0) return;
    this.#made = this.#made.filter(({ at }) => at >= since);
    for (const { path } of old) await unlink(path).catch(() => undefined);
  }

  /** Removes the leftovers of killed processes. A claim is removed before the file that it names. */
  async sweep(now: number): Promise<void> {
    await removeOlder(this.#folder.claims, now - LEFT_CLAIM_MS);
    await removeOlder(this.#folder.temporary, now - LEFT_FILE_MS);
  }
}

async function removeOlder(folder: string, than: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await lstat(path).catch(unlessAbsent);
    if (found !== undefined && found.mtimeMs < than) await unlink(path).catch(() => undefined);
  }
}

const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(unlessAbsent)) !== undefined;

function unlessAbsent(error: unknown): undefined {
  if (!isAbsent(error)) throw error;
}

import { createHash } from 'node:crypto';
import { lstat, readdir, readlink, rename, symlink, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf, isAbsent, openObject, type StoreFolder } from './folder-files.js';

/** A claim is left for so long, so that whoever read the generation before finds it taken, however slow they are. */
const KEPT_MS = 15 * 60_000;
/** What a process that was killed left behind. */
const LEFT_CLAIM_MS = 86_400_000;
const LEFT_FILE_MS = 2 * LEFT_CLAIM_MS;

/** Of one content of one object: no later file has its inode and its time to the microsecond. */
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
 * Puts a new content in the place of one generation of an object, for one of all who try: on whichever computer they are, and
 * whoever is killed meanwhile (docs/adr/0132). Who is the successor of a generation is decided by one symbolic link, which can be
 * made once and says where the new content lies. What remains is a rename, which everybody can do who finds the link, and which
 * happens once, since the new content has a name of its own.
 */
export class FolderClaims {
  readonly #folder: StoreFolder;
  #made: { readonly path: string; readonly at: number }[] = [];

  constructor(folder: StoreFolder) {
    this.#folder = folder;
  }

  /**
   * @param temporary the whole new content, kept over a loss of power; it is there no more where this says `written`
   * @returns false: the object is not at this generation, or will not stay at it; the temporary file is the caller's still
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
    // Somebody who found the claim may have finished it already; then this file is gone, and what came after it is not our matter.
    if ((await generationAt(path)) !== generation && (await isThere(temporary))) {
      await unlink(claim).catch(() => undefined);
      return false;
    }
    await rename(temporary, path).catch(unlessAbsent);
    await this.#removeOld();
    return true;
  }

  /** Whose process was killed between claim and rename has written all the same. */
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

  /** What processes that were killed have left. A claim goes before the file that it names. */
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

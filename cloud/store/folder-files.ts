import { constants } from 'node:fs';
import {
  type FileHandle,
  lstat,
  open,
  realpath,
  rmdir,
  writeFile,
  readdir,
  readlink,
  rename,
  symlink,
  unlink,
} from 'node:fs/promises';
import { dirname, join, basename } from 'node:path';
import { randomUUID, createHash } from 'node:crypto';
import { makeFolder as makeWithParents } from '../folders.js';
import { messageOf } from '../../domain/errors.js';
import { answerWithin } from '../abort.js';
import { StoreRefused, StoreUnavailable, compareBytes } from './port.js';

/** A folder inside the store's folder that holds no objects. */
export const OWN_FOLDER = '.jobctl-store';
const MARKER = 'store.json';
/** Limit of one call. If a file server takes longer, the caller tries again. */
const ANSWER_MS = 60_000;

export const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? '');

/** Returns whether nothing exists under this name. */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(error));

const REFUSALS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not',
  EPERM: 'this user may not, or the file system has no links',
  EROFS: 'it is read-only',
  ELOOP: 'it is a symbolic link, and what lies in a store is not',
  ENAMETOOLONG: 'the name is too long for the file system',
  ENOTSUP: 'the file system has no hard links, without which two writers cannot be told apart',
  EISDIR: 'there are objects below this name, so it is a folder',
  ENOTDIR: 'an object has the name of a folder on the way',
};

/** Explains a failed call: `StoreRefused` only if repeating does not help. @param what the action and its object */
export function folderError(error: unknown, what: string): StoreRefused | StoreUnavailable {
  if (error instanceof StoreRefused || error instanceof StoreUnavailable) return error;
  const refusal = REFUSALS[codeOf(error)];
  const said = messageOf(error);
  if (refusal !== undefined) return new StoreRefused(`store: ${what}: ${refusal} (${said})`, { cause: error });
  return new StoreUnavailable(`store: ${what}: ${said}`, { cause: error });
}

/** Gives up a call that a file server does not answer. The call's thread stays busy until it does. */
export const answered = <T>(call: Promise<T>): Promise<T> => answerWithin(ANSWER_MS, () => call);

/** The folder of a store, with a marker file: an empty mount point must not look like a store without objects. */
export class StoreFolder {
  readonly path: string;
  #real: string | undefined;

  constructor(path: string) {
    this.path = path;
  }

  get marker(): string {
    return join(this.path, OWN_FOLDER, MARKER);
  }

  get temporary(): string {
    return join(this.path, OWN_FOLDER, 'new');
  }

  get claims(): string {
    return join(this.path, OWN_FOLDER, 'claims');
  }

  /** Makes the folder a store. Repeating is safe. */
  async make(): Promise<'created' | 'exists'> {
    if (await this.isThere()) return 'exists';
    await makeFolder(this.temporary);
    await makeFolder(this.claims);
    await writeFile(this.marker, `${JSON.stringify({ v: 1, what: 'objects of jobctl' })}\n`);
    await syncFolder(dirname(this.marker));
    return 'created';
  }

  async isThere(): Promise<boolean> {
    return lstat(this.marker).then(
      () => true,
      (error: unknown) => (isAbsent(error) ? false : Promise.reject(error as Error)),
    );
  }

  /** @throws StoreRefused */
  async check(): Promise<void> {
    if (await this.isThere()) return;
    throw new StoreRefused(
      `store: ${this.path} is no folder of a store: it has no ${OWN_FOLDER}/${MARKER}; mount what is to be there, ` +
        "or make it one: 'jobctl setup server'",
    );
  }

  /**
   * Makes sure that no symbolic link on the way leads outside.
   * @param which `nearest`: checks the nearest existing parent; `if there`: a missing folder is no error
   * @returns whether it exists
   * @throws StoreRefused
   */
  async checkInside(folder: string, which: 'itself' | 'nearest' | 'if there' = 'itself'): Promise<boolean> {
    this.#real ??= await realpath(this.path);
    const real = await realpath(folder).catch((error: unknown) => {
      if (which === 'itself' || !isAbsent(error)) throw error;
      return undefined;
    });
    if (real === undefined)
      return which === 'nearest' && folder.length > this.path.length && this.checkInside(dirname(folder), which);
    if (real === this.#real || real.startsWith(`${this.#real}/`)) return true;
    throw new StoreRefused(`store: ${folder} leads out of ${this.path}: a symbolic link is on the way`);
  }

  /** Creates a new empty file, to be written and then linked or renamed to its name. */
  async openTemporary(): Promise<{ readonly path: string; readonly file: FileHandle }> {
    const path = join(this.temporary, randomUUID());
    try {
      return { path, file: await open(path, 'wx') };
    } catch (error) {
      if (isAbsent(error)) await this.check();
      throw error;
    }
  }
}

/** Opens a file that is not a link. @returns undefined if it does not exist or is a folder */
export async function openObject(path: string): Promise<FileHandle | undefined> {
  let file: FileHandle;
  try {
    // Not blocking, in case the file is a pipe.
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  try {
    if ((await file.stat()).isFile()) return file;
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return undefined;
}

/** Makes the folder and its parents, durable after a loss of power. */
export async function makeFolder(path: string): Promise<void> {
  const first = await makeWithParents(path);
  if (first === undefined) return;
  for (let folder = path; folder.length >= first.length; folder = dirname(folder)) await syncFolder(folder);
  await syncFolder(dirname(first));
}

/** Makes the names in a folder durable after a loss of power. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Removes a folder and its parents while they are empty, up to `root`. */
export async function removeEmpty(path: string, root: string): Promise<void> {
  for (let folder = path; folder.length > root.length; folder = dirname(folder))
    if (
      !(await rmdir(folder).then(
        () => true,
        () => false,
      ))
    )
      return;
}

interface Wanted {
  readonly root: string;
  readonly prefix: string;
  readonly startOffset: string;
}

/** Names of the objects of a folder, in byte order. Only files count, and no link is followed. */
export async function* walk(wanted: Wanted): AsyncGenerator<string> {
  const slash = wanted.prefix.lastIndexOf('/');
  yield* below(wanted.prefix.slice(0, slash + 1), wanted);
}

/** @param folder empty, or with a slash at the end */
async function* below(folder: string, wanted: Wanted): AsyncGenerator<string> {
  const { root, prefix, startOffset } = wanted;
  const read = readdir(join(root, folder), { withFileTypes: true }).catch((error: unknown) => {
    if (isAbsent(error)) return [];
    throw error;
  });
  const entries = await answered(read);
  const names = entries
    .filter((entry) => entry.isFile() || (entry.isDirectory() && (folder !== '' || entry.name !== OWN_FOLDER)))
    // A folder sorts by its name with a slash, which is the place of its objects.
    .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .filter((name) => name.startsWith(prefix) || (name.endsWith('/') && prefix.startsWith(name)))
    .filter((name) => startOffset.startsWith(name) || compareBytes(name, startOffset) >= 0)
    .toSorted(compareBytes);
  for (const name of names)
    if (name.endsWith('/')) yield* below(name, wanted);
    else if (compareBytes(name, startOffset) >= 0) yield name;
}

/** Time for which a claim is kept, so that even a slow writer that read the generation before finds it claimed. */
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
 * Lets exactly one of several writers replace a generation of an object, on any computers and even if one is killed meanwhile
 * (docs/adr/0132). A symbolic link decides which writer it is: it can be created once and says where the new content lies. The
 * rest is a rename, which any writer that finds the link can do. It happens once, since the new content has a unique name.
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

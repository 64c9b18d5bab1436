import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { messageOf } from '../../domain/error-words.js';
import { answerWithin } from '../abort.js';
import { StoreRefused, StoreUnavailable } from './port.js';

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
  const first = await mkdir(path, { recursive: true });
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

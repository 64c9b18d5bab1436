import { randomBytes } from 'node:crypto';
import { constants, type FileHandle, lstat, mkdir, open, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder as makeParents } from '../../cloud/folders.js';
import { nameProblem, quotedName } from '../../domain/outside-text.js';
import { fileSource } from './file-on-disk.js';

/** A file to write. */
export interface LaidFile {
  /** Path below the folder, with `/` between its parts. */
  readonly name: string;
  /** Permission bits. */
  readonly mode: number;
  /** Epoch ms. Absent: now. */
  readonly modifiedAt?: number;
  /** Name of the partial file that an interrupted copy leaves, and that the next copy continues. Absent: nothing is left. */
  readonly part?: string;
}

/**
 * A folder on this computer that receives files from elsewhere: their names come from a host or a store, and others may write
 * here too. Nothing is written outside the folder: each name is checked, no link is followed, and each file is written under a
 * temporary name and renamed once it is complete. All code that writes files listed by others uses this class (docs/adr/0092).
 */
export class SafeFolder {
  readonly root: string;
  readonly #laid = new Set<string>();

  /** @param root chosen by the user, so it may be a link */
  constructor(root: string) {
    this.root = root;
  }

  /** Creates a folder and its parents; '' is the root. @throws UnsafePath if something that is no folder is in its place */
  async folder(name: string): Promise<string> {
    if (name !== '') this.#judge(name);
    await makeRoot(this.root);
    const parts = name === '' ? [] : name.split('/');
    // Checked each time, because a folder may have become a link.
    for (let end = 1; end <= parts.length; end++) await makeFolder(join(this.root, ...parts.slice(0, end)));
    return join(this.root, ...parts);
  }

  /**
   * Returns whether a file of this name and content exists. A link of this name is not followed; it is replaced later.
   * @param sha256 called only if the size is equal
   * @throws UnsafePath if a folder has this name
   */
  async holds(name: string, size: number, sha256: () => Promise<string | undefined>): Promise<boolean> {
    const path = await this.#place(name);
    const found = await lstat(path).catch(() => undefined);
    if (found?.isDirectory() === true) throw new UnsafePath(`${path} is a folder, and a file is to be written there`);
    if (found?.isFile() !== true || found.size !== size) return false;
    // An unreadable file may still be replaceable.
    const [ours, theirs] = await Promise.all([fileSource(path).catch(() => undefined), sha256()]);
    if (ours === undefined || ours.sha256 !== theirs) return false;
    this.#laid.add(identity(found));
    return true;
  }

  /** Sets the permission bits of an existing file. False: it belongs to another user; it may still be replaced. */
  async takesMode(name: string, mode: number): Promise<boolean> {
    const file = await open(await this.#place(name), constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
    if (file === undefined) return false;
    try {
      if (((await file.stat()).mode & 0o777) !== mode) await file.chmod(mode);
      return true;
    } catch {
      return false;
    } finally {
      await file.close();
    }
  }

  /** Writes one file completely or not at all. @param fill writes its content @throws UnsafePath; errors of `fill` */
  async lay<T>({ name, mode, modifiedAt, part }: LaidFile, fill: (writing: FileHandle) => Promise<T>): Promise<T> {
    const path = await this.#place(name);
    const draft = join(dirname(path), part ?? `.jobctl-${randomBytes(12).toString('hex')}.part`);
    const ways = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
    const writing = await open(draft, part === undefined ? ways | constants.O_EXCL : ways, 0o600);
    try {
      const { end, id } = await filled(writing, fill, mode, modifiedAt);
      // Writing the content took time, and its folder may have become a link meanwhile.
      await this.#place(name);
      await this.#refuseTwin(name, path);
      await rename(draft, path);
      this.#laid.add(id);
      return end;
    } catch (error) {
      if (part === undefined || error instanceof UselessPart) await rm(draft, { force: true });
      throw error;
    }
  }

  /**
   * Writes a file that only grows, such as a log, completely or not at all. An existing file is replaced only by content that
   * begins with all of it, so nothing is lost that is not in `pieces`.
   * @throws UnsafePath if a file with other content exists, or something that is no file; errors of `pieces`
   */
  async grow(name: string, pieces: AsyncIterable<Buffer>): Promise<'unchanged' | 'done'> {
    const path = await this.#place(name);
    const earlier = await earlierFile(path);
    try {
      await this.lay({ name, mode: 0o644 }, async (writing) => {
        let at = 0;
        for await (const piece of pieces) {
          if (earlier !== undefined && !(await hasAt(earlier, piece, at))) throw otherContent(path);
          await writing.writeFile(piece);
          at += piece.length;
        }
        if (earlier !== undefined && earlier.size > at) throw otherContent(path);
        if (earlier?.size === at) throw new Unneeded();
        await writing.sync();
      });
      return 'done';
    } catch (error) {
      if (error instanceof Unneeded) return 'unchanged';
      throw error;
    } finally {
      await earlier?.file.close();
    }
  }

  /** Creates a symbolic link whose target was checked. @throws UnsafePath if something that is no link has this name */
  async link(name: string, target: string): Promise<void> {
    const path = await this.#place(name);
    const found = await lstat(path).catch(() => undefined);
    if (found !== undefined && !found.isSymbolicLink())
      throw new UnsafePath(`${path} is there and is no symbolic link`);
    if (found !== undefined && (await readlink(path)) === target) return;
    if (found !== undefined) await rm(path);
    await symlink(target, path);
  }

  /** The path of a name, after its parent folders were created and checked. */
  async #place(name: string): Promise<string> {
    this.#judge(name);
    const end = name.lastIndexOf('/');
    return join(await this.folder(end === -1 ? '' : name.slice(0, end)), name.slice(end + 1));
  }

  #judge(name: string): void {
    const problem = nameProblem(name);
    if (problem !== undefined) throw new UnsafePath(`${quotedName(name)} ${problem}`);
  }

  /** Refuses a name that the file system takes for an earlier one, such as `A` for `a`: it would silently replace its file. */
  async #refuseTwin(name: string, path: string): Promise<void> {
    const found = await lstat(path).catch(() => undefined);
    if (found !== undefined && this.#laid.has(identity(found)))
      throw new UnsafePath(`${quotedName(name)} is the same file here as another name of the list`);
  }
}

/** Thrown if a name leads out of the folder, or if an existing object is in the way. */
export class UnsafePath extends Error {
  override readonly name = 'UnsafePath';
}

/** Signals that a partial file can never become the file, whatever is appended: the part is removed. */
export class UselessPart extends Error {
  override readonly name: string = 'UselessPart';
}

/** Signals that the file to write already exists. */
class Unneeded extends Error {}

const otherContent = (path: string): UnsafePath =>
  new UnsafePath(`${path} is there with other content, and is left as it is: move it away, or choose another folder`);

interface EarlierFile {
  readonly file: FileHandle;
  readonly size: number;
}

/** Opens an existing file; undefined if there is none. @throws UnsafePath if it is no file (no link is followed, no pipe read) */
async function earlierFile(path: string): Promise<EarlierFile | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  if (!found.isFile()) throw new UnsafePath(`${path} is there and is no file: move it away, or choose another folder`);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  return { file, size: found.size };
}

/** Returns whether a file has these bytes at `at`, as far as the file reaches. */
async function hasAt({ file, size }: EarlierFile, bytes: Buffer, at: number): Promise<boolean> {
  const wanted = Math.max(0, Math.min(bytes.length, size - at));
  const found = Buffer.alloc(wanted);
  for (let have = 0; have < wanted;) {
    const { bytesRead } = await file.read(found, have, wanted - have, at + have);
    // The file was truncated meanwhile.
    if (bytesRead === 0) return false;
    have += bytesRead;
  }
  return found.equals(bytes.subarray(0, wanted));
}

const identity = ({ dev, ino }: { readonly dev: number; readonly ino: number }): string => `${dev}:${ino}`;

/** Fills the file and closes it in any case. A full disk makes it fail, whether a write or the close reports it. */
async function filled<T>(
  writing: FileHandle,
  fill: (writing: FileHandle) => Promise<T>,
  mode: number,
  modifiedAt: number | undefined,
): Promise<{ readonly end: T; readonly id: string }> {
  try {
    const end = await fill(writing);
    await writing.chmod(mode);
    if (modifiedAt !== undefined) await writing.utimes(modifiedAt / 1000, modifiedAt / 1000);
    return { end, id: identity(await writing.stat()) };
  } finally {
    await writing.close();
  }
}

/** @throws UnsafePath if something that is no folder is in its place */
async function makeRoot(path: string): Promise<void> {
  await makeParents(path).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? new UnsafePath(`${path} is there and is no folder`) : error;
  });
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const found = await lstat(path);
  if (found.isSymbolicLink())
    throw new UnsafePath(
      `${path} is a symbolic link: nothing is written through it; remove it, or choose another folder`,
    );
  if (!found.isDirectory()) throw new UnsafePath(`${path} is there and is no folder`);
}

import { randomBytes } from 'node:crypto';
import { chmod, type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { HostConnection } from '../../../cloud/hosts/port.js';
import { fileSource } from '../file-on-disk.js';
import { type RemoteFile, remoteHash } from './remote-files.js';

/** Brings a file here, whole or not at all, with its mode. `unchanged`: it was here with this content, which was not sent. */
export async function fetchFile(
  connection: HostConnection,
  file: RemoteFile,
  to: string,
  signal: AbortSignal,
): Promise<'unchanged' | 'done'> {
  if ((await isHere(connection, file, to, signal)) && (await takesMode(to, file.mode))) return 'unchanged';
  await mkdir(dirname(to), { recursive: true });
  const draft = join(dirname(to), `.${basename(to)}.${randomBytes(4).toString('hex')}`);
  const writing = await open(draft, 'wx', 0o600);
  try {
    const { mode } = await received(connection, file.path, writing, signal);
    await chmod(draft, mode & 0o777);
    await rename(draft, to);
    return 'done';
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Closes it in any case. A disk that is full fails it, whichever write or the closing finds out. */
async function received(
  connection: HostConnection,
  path: string,
  writing: FileHandle,
  signal: AbortSignal,
): Promise<{ readonly mode: number }> {
  try {
    return await connection.getFile(path, (chunk) => writing.appendFile(chunk), signal);
  } finally {
    await writing.close();
  }
}

/** Hashed on both sides only where the sizes say that it may be the same. */
async function isHere(
  connection: HostConnection,
  { path, size }: RemoteFile,
  to: string,
  signal: AbortSignal,
): Promise<boolean> {
  const here = await stat(to).catch(() => undefined);
  if (here?.isFile() !== true || here.size !== size) return false;
  // What may not be read may still be replaced.
  const [theirs, ours] = await Promise.all([
    remoteHash(connection, path, signal),
    fileSource(to).catch(() => undefined),
  ]);
  return ours !== undefined && theirs === ours.sha256;
}

/** False: it belongs to somebody else, and may still be replaced. */
async function takesMode(path: string, mode: number): Promise<boolean> {
  if (((await stat(path)).mode & 0o777) === mode) return true;
  return chmod(path, mode).then(
    () => true,
    () => false,
  );
}

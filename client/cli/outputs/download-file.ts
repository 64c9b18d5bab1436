import { createHash } from 'node:crypto';
import { constants, type FileHandle, lstat, open, readlink, rename, rm, symlink, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { StoreReader } from '../../../cloud/store/port.js';
import type { OutputFile, OutputLink } from '../../../domain/stored-outputs.js';
import { fileSource } from '../file-on-disk.js';
import { type SafeFolder, UnsafePath } from './safe-folder.js';

/** In memory at a time, of each file under way. */
const CHUNK_BYTES = 4_194_304;

/** What is wrong with a file in the store, or with the place for it here. */
export class DownloadFailed extends Error {
  override readonly name = 'DownloadFailed';
}

/**
 * Brings one file here: whole, with the content that its manifest names, or not at all. What came of it before an interruption is in
 * a part beside it, and is gone on with. @param onBytes hears of each piece, and of what was there already
 */
export async function downloadFile(
  store: StoreReader,
  { object, file, folder }: { readonly object: string; readonly file: OutputFile; readonly folder: SafeFolder },
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<'unchanged' | 'done'> {
  const path = await folder.place(file.path);
  if (await isHere(path, file)) {
    onBytes(file.size);
    return 'unchanged';
  }
  const part = join(dirname(path), partName(file));
  const writing = await openPart(part);
  try {
    await fill(writing, store, object, file, onBytes, signal);
    await writing.chmod(file.mode);
  } catch (error) {
    // Of other content: it would never become whole.
    if (error instanceof DownloadFailed) await rm(part, { force: true });
    throw error;
  } finally {
    await writing.close();
  }
  await utimes(part, file.modifiedAt / 1000, file.modifiedAt / 1000);
  await rename(part, path);
  return 'done';
}

/** @throws UnsafePath if something that is no link is in its place */
export async function downloadLink(
  { path: name, target }: OutputLink,
  folder: SafeFolder,
): Promise<'unchanged' | 'done'> {
  const path = await folder.place(name);
  const found = await lstat(path).catch(() => undefined);
  if (found !== undefined && !found.isSymbolicLink()) throw new UnsafePath(`${path} is there and is no symbolic link`);
  if (found !== undefined && (await readlink(path)) === target) return 'unchanged';
  if (found !== undefined) await rm(path);
  await symlink(target, path);
  return 'done';
}

/** By name and content: a part of another version is never gone on with. */
function partName({ path, sha256 }: OutputFile): string {
  return `.jobctl-${createHash('sha256').update(`${sha256} ${path}`).digest('hex').slice(0, 24)}.part`;
}

async function isHere(path: string, { size, sha256 }: OutputFile): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isDirectory() === true) throw new UnsafePath(`${path} is a folder; a file of this name is stored`);
  // A link is replaced, not followed.
  if (found?.isFile() !== true || found.size !== size) return false;
  return (await fileSource(path).catch(() => undefined))?.sha256 === sha256;
}

const openPart = (path: string): Promise<FileHandle> =>
  open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);

async function fill(
  writing: FileHandle,
  store: StoreReader,
  object: string,
  { path, size, sha256 }: OutputFile,
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const hash = createHash('sha256');
  let at = 0;
  const there = Math.min((await writing.stat()).size, size);
  while (at < there) {
    const { bytesRead, buffer } = await writing.read(Buffer.alloc(Math.min(CHUNK_BYTES, there - at)), 0, undefined, at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
    onBytes(bytesRead);
  }
  while (at < size) {
    signal.throwIfAborted();
    const chunk = await store.read(object, { start: at, end: Math.min(at + CHUNK_BYTES, size) });
    if (chunk === undefined) throw new DownloadFailed(`${path}: its content is not in the store any more (${object})`);
    if (chunk.length === 0) throw new DownloadFailed(`${path}: the store has ${at} bytes of it, not ${size}`);
    await writing.write(chunk, 0, chunk.length, at);
    hash.update(chunk);
    at += chunk.length;
    onBytes(chunk.length);
  }
  await writing.truncate(size);
  await writing.sync();
  if (hash.digest('hex') !== sha256)
    throw new DownloadFailed(`${path}: what is stored is not what its host stored (SHA-256)`);
}

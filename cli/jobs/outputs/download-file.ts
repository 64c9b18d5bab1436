import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { StoreReader } from '../../../cloud/store/port.js';
import type { OutputFile } from '../../../domain/stored-outputs.js';
import { writeAll } from '../../terminal/file-on-disk.js';
import { type SafeFolder, UselessPart } from '../../terminal/safe-folder.js';

/** Bytes in memory at a time, per active file. */
const CHUNK_BYTES = 4_194_304;

/** A problem of a file in the store. */
export class DownloadFailed extends UselessPart {
  override readonly name = 'DownloadFailed';
}

/**
 * Downloads one file with the content that its manifest names, completely or not at all. After an interruption, a partial file
 * next to it holds what was read and is continued.
 * @param onBytes receives the number of bytes of each piece, and of those that were already there
 */
export async function downloadFile(
  store: StoreReader,
  { object, file, folder }: { readonly object: string; readonly file: OutputFile; readonly folder: SafeFolder },
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<'unchanged' | 'done'> {
  const { path: name, mode, modifiedAt } = file;
  if (await folder.holds(name, file.size, async () => file.sha256)) {
    onBytes(file.size);
    return 'unchanged';
  }
  await folder.lay({ name, mode, modifiedAt, part: partName(file) }, (writing) =>
    fill(writing, store, object, file, onBytes, signal),
  );
  return 'done';
}

/** Derives the name from path and content, so that a partial file of another version is never continued. */
function partName({ path, sha256 }: OutputFile): string {
  return `.jobctl-${createHash('sha256').update(`${sha256} ${path}`).digest('hex').slice(0, 24)}.part`;
}

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
    await writeAll(writing, chunk, at);
    hash.update(chunk);
    at += chunk.length;
    onBytes(chunk.length);
  }
  await writing.truncate(size);
  await writing.sync();
  if (hash.digest('hex') !== sha256)
    throw new DownloadFailed(`${path}: what is stored is not what its host stored (SHA-256)`);
}

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { StoreReader } from '../../../cloud/store/port.js';
import type { OutputFile } from '../../../domain/stored-outputs.js';
import { type SafeFolder, UselessPart } from '../safe-folder.js';

/** In memory at a time, of each file under way. */
const CHUNK_BYTES = 4_194_304;

/** What is wrong with a file in the store. */
export class DownloadFailed extends UselessPart {
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

/** By name and content: a part of another version is never gone on with. */
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

import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { FileSource } from '../../../domain/file-source.js';
import { scratchPath } from './scratch-folder.js';

/** The entries of a folder for an archive. */
export interface Tree {
  readonly root: string;
  /** Paths below `root`, with `/`; the archive has them in this order. The content of a folder is not added automatically. */
  readonly entries: readonly string[];
  /** Files that are not in the folder; they follow its entries. */
  readonly texts?: readonly { readonly name: string; readonly text: string }[];
  readonly gzip?: true;
  /** Called with the bytes packed so far, and those of all files. */
  readonly onRead?: (read: number, size: number) => void;
}

/** An archive as a file in TMPDIR (mode 0600). */
export interface PackedTree {
  readonly source: FileSource;
  remove(): Promise<void>;
}

/** The reason why a folder cannot be packed. The message continues a sentence that begins with the folder. */
export class NotPackable extends Error {
  override readonly name = 'NotPackable';
}

/** Most bytes of one file, or of a folder's files together, that are copied to hosts. */
export const MAX_COPIED_BYTES = 50 * 1024 ** 3;
const FILES_AT_ONCE = 4;
const READ_BYTES = 256 * 1024;

/**
 * Packs a tar archive (POSIX, with pax headers if needed) that has the same bytes for the same entries: it omits times, owners
 * and the bits in which umasks differ (write for group and others). Links stay links, and so do files with several names among
 * the entries. @throws NotPackable
 */
export async function packTree(tree: Tree): Promise<PackedTree> {
  const { root, onRead } = tree;
  const bytes = await checkTree(tree);
  const path = scratchPath(tree.gzip ? '.tar.gz' : '.tar');
  const remove = (): Promise<void> => rm(path, { force: true });
  try {
    return { source: await writeArchive(path, tree, (packed) => onRead?.(Math.min(packed, bytes), bytes)), remove };
  } catch (error) {
    await remove();
    throw notPackable(error, root);
  }
}

/**
 * Checks all entries, because tar omits sockets silently and misreads link targets that are not UTF-8.
 * @returns the bytes of its files
 * @throws NotPackable
 */
export async function checkTree({ root, entries }: Pick<Tree, 'root' | 'entries'>): Promise<number> {
  let bytes = 0;
  for (const entry of entries) {
    const path = join(root, entry);
    const found = await lstat(path).catch((error: unknown) => {
      throw notPackable(error, root);
    });
    if (found.isSymbolicLink()) await refuseOddTarget(path, entry);
    else if (!found.isFile() && !found.isDirectory())
      throw new NotPackable(`has ${entry}, which is neither file, folder nor link (a socket, pipe or device)`);
    bytes += found.isFile() ? found.size : 0;
    if (bytes > MAX_COPIED_BYTES) throw new NotPackable(`has more than ${MAX_COPIED_BYTES} bytes, which are the most`);
  }
  return bytes;
}

async function refuseOddTarget(path: string, entry: string): Promise<void> {
  const target = await readlink(path, { encoding: 'buffer' });
  if (!isUtf8(target)) throw new NotPackable(`has the link ${entry}, whose target is not UTF-8: ${shown(target)}`);
}

export const isUtf8 = (name: Buffer): boolean => Buffer.from(name.toString()).equals(name);
/** Shows other characters than ASCII as `\xff`. */
export const shown = (name: Buffer): string =>
  name.toString('latin1').replace(/[^ -~]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);

async function openPack({ root, entries, texts = [], gzip }: Tree): Promise<AsyncIterable<Buffer>> {
  // Loaded here, because most jobs have nothing to pack.
  const { Header, Pack, ReadEntry } = await import('tar');
  const pack = new Pack({
    cwd: root,
    portable: true,
    noMtime: true,
    noDirRecurse: true,
    // Otherwise `c:x` and `\\x` would lose the part that looks like a drive.
    preservePaths: true,
    maxReadSize: READ_BYTES,
    // The library counts a text as started at once: with four texts it would start nothing else (7.5).
    jobs: FILES_AT_ONCE + texts.length,
    ...(gzip && { gzip }),
  });
  // Uses `add`, because the library's `create` reads a name that begins with @ as an archive.
  for (const entry of entries) pack.add(entry);
  for (const { name, text } of texts) {
    const bytes = Buffer.from(text);
    const entry = new ReadEntry(new Header({ path: name, type: 'File', mode: 0o644, size: bytes.length }));
    entry.end(bytes);
    pack.write(entry);
  }
  pack.end();
  return pack as AsyncIterable<Buffer>;
}

async function writeArchive(path: string, tree: Tree, onPacked: (bytes: number) => void): Promise<FileSource> {
  const hash = createHash('sha256');
  let size = 0;
  const hashed = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      hash.update(chunk);
      size += chunk.length;
      onPacked(size);
      yield chunk;
    }
  };
  await pipeline(await openPack(tree), hashed, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  const read: FileSource['read'] = (start) => createReadStream(path, { start }) as AsyncIterable<Buffer>;
  return { size, sha256: hash.digest('hex'), read };
}

function notPackable(error: unknown, root: string): unknown {
  const { code, path = '' } = error as NodeJS.ErrnoException;
  const entry = path.startsWith(root) ? path.slice(root.length).replace(/^\//, '') : path;
  switch (code) {
    case 'ENOSPC':
      return new NotPackable(`cannot be packed: no space left in ${tmpdir()} (TMPDIR names another folder)`);
    case 'EACCES':
    case 'EPERM':
      return new NotPackable(`has ${entry}, which cannot be read: permission denied`);
    case 'ENOENT':
    case 'EOF':
      return new NotPackable(`has ${entry}, which changed while it was packed`);
    default:
      return error;
  }
}

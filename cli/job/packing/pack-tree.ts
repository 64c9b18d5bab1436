import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { lstat, readlink, rm, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { FileSource } from '../../../domain/local-files.js';

/** The entries of a folder for an archive. */
interface Tree {
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
 * and the bits in which umasks differ (write for group and others). Symbolic links stay links, and files with several names
 * among the entries stay hard links.
 * @throws NotPackable
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

const isUtf8 = (name: Buffer): boolean => Buffer.from(name.toString()).equals(name);
/** The name with `\xff` for each byte that is not ASCII. */
const shown = (name: Buffer): string =>
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

export const MAX_ENTRIES = 100_000;
/** Most entries that are counted, to report the folders that have the most. */
const MAX_COUNTED = 1_000_000;
const SHOWN_FOLDERS = 3;

/**
 * All entries below a folder, links not followed: a folder comes before its content, siblings in byte order of their names.
 * @param most limit; more entries are refused
 * @throws NotPackable if there are more, or if a name is not UTF-8
 */
export async function treeEntries(root: string, most = MAX_ENTRIES): Promise<readonly string[]> {
  const entries: string[] = [];
  const counts = new Map<string, number>();
  let total = 0;
  const visit = async (folder: string): Promise<void> => {
    for (const { name, isFolder } of await sortedNames(root, folder)) {
      if (total >= MAX_COUNTED) return;
      const path = folder === '' ? name : `${folder}/${name}`;
      total++;
      if (total <= most) entries.push(path);
      if (folder !== '') countIn(counts, folder);
      if (isFolder) await visit(path);
    }
  };
  await visit('');
  if (total > most) throw new NotPackable(tooMany(total, counts, most));
  return entries;
}

interface Name {
  readonly name: string;
  readonly isFolder: boolean;
}

export async function sortedNames(root: string, folder: string): Promise<readonly Name[]> {
  const found = await readdir(join(root, folder), { withFileTypes: true, encoding: 'buffer' }).catch(
    (error: unknown) => {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new NotPackable(`has the folder ${folder || '.'}, which cannot be read: ${code ?? message}`);
    },
  );
  return found
    .toSorted((a, b) => Buffer.compare(a.name, b.name))
    .map((entry) => {
      if (!isUtf8(entry.name))
        throw new NotPackable(`has a name that is not UTF-8: ${shown(entry.name)} in ${folder || '.'}`);
      return { name: entry.name.toString(), isFolder: entry.isDirectory() };
    });
}

/** Counts by the two topmost folders: `data/train`. */
function countIn(counts: Map<string, number>, folder: string): void {
  const top = folder.split('/', 2).join('/');
  counts.set(top, (counts.get(top) ?? 0) + 1);
}

function tooMany(total: number, counts: ReadonlyMap<string, number>, limit: number): string {
  const largest = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, SHOWN_FOLDERS);
  const most = largest.map(([folder, count]) => `${folder} (${count})`).join(', ');
  const number = total >= MAX_COUNTED ? `${MAX_COUNTED} files and folders or more` : `${total} files and folders`;
  return `has ${number}; ${limit} are the most${most === '' ? '' : `. Most are in ${most}`}`;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let folder: string | undefined;
let isWatched = false;

/**
 * A path in a folder of this process that only its user can enter (mode 0700), in TMPDIR. It is removed at every exit of the
 * process except by SIGKILL.
 */
export function scratchPath(extension: string): string {
  folder ??= makeFolder();
  return join(folder, `${randomBytes(8).toString('hex')}${extension}`);
}

/** Removes archives that are no longer needed: a command that waits for a job for hours must not keep them. */
export function removeScratchFolder(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
}

function makeFolder(): string {
  if (!isWatched) removeAtTheEnd();
  return mkdtempSync(join(tmpdir(), 'jobctl-packed-'));
}

function removeAtTheEnd(): void {
  isWatched = true;
  process.once('exit', removeScratchFolder);
  for (const name of SIGNALS) {
    const onSignal = (): void => {
      // Other listeners decide on the exit and may still need the files: 'exit' removes them then.
      if (process.listenerCount(name) > 1) return;
      removeScratchFolder();
      process.removeListener(name, onSignal);
      process.kill(process.pid, name);
    };
    process.on(name, onSignal);
  }
}

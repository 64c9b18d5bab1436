import {
  lstatSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  createReadStream,
  fchmodSync,
  fstatSync,
} from 'node:fs';
import { type FileHandle, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileErrorWords } from '../../domain/errors.js';
import { sizeText } from '../../domain/units.js';
import { CliError, ExitCode } from './cli-error.js';
import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { makeFolderSync } from '../../cloud/folders.js';
import type { FileSource } from '../../domain/local-files.js';
import { printErr, printOut } from './print.js';

/**
 * Replaces a file completely or not at all: on a full disk the earlier file stays. A link stays a link, and a file keeps its mode.
 * @param mode absent: that of the earlier file, or the usual one
 * @throws CliError
 */
export function writeWhole(file: string, text: string | Uint8Array, mode?: number): void {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    // A device, or a pipe; a folder is refused.
    if (found !== undefined && !found.isFile()) return writeFileSync(file, text);
    const isLink = found !== undefined && lstatSync(file).isSymbolicLink();
    replace(isLink ? realpathSync(file) : file, text, mode ?? (found && found.mode & 0o777));
  } catch (error) {
    throw notWritten(error, file, text);
  }
}

/** Replaces a file that only its owner may read, regardless of its earlier content and mode. @throws CliError */
export function writePrivate(file: string, text: string): void {
  try {
    makeFolderSync(dirname(file), 0o700);
    replace(file, text, 0o600);
  } catch (error) {
    throw notWritten(error, file, text);
  }
}

/** Writes a file that does not exist yet, or nothing. @throws the error of the system; EEXIST if the file exists */
export function writeNew(file: string, text: string, mode: number): void {
  try {
    writeFileSync(file, text, { mode, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') rmSync(file, { force: true });
    throw error;
  }
}

function replace(file: string, text: string | Uint8Array, mode = 0o666): void {
  const draft = `${file}.${process.pid}.new`;
  try {
    writeFileSync(draft, text, { mode });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Writes all bytes at a place of a file. One call of the system writes fewer if the disk fills up, without an error. */
export async function writeAll(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
}

// Errors --------------------------------------------------------------------------------------------------------------

export const notWritten = (error: unknown, file: string, text: string | Uint8Array): CliError =>
  new CliError(
    isFull(error) ? ExitCode.Failed : ExitCode.Usage,
    `${file}: cannot be written: ${writeErrorWords(error, file, Buffer.byteLength(text))}`,
    'nothing was changed',
  );

/** Whether there was no room for a file: on its disk, in its user's quota, or below the limit of this process. */
export const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '');

/** `the disk is full: 40 kB are needed, and 12 kB are free`. @param bytes the file's size, if known */
export function writeErrorWords(error: unknown, file: string, bytes?: number): string {
  const { code } = error as NodeJS.ErrnoException;
  const words = code === 'ENOENT' ? 'its folder does not exist' : fileErrorWords(error);
  if (!isFull(error)) return words;
  const sizes = [
    ...(bytes === undefined ? [] : [`${sizeText(bytes)} are needed`]),
    ...(code === 'ENOSPC' ? freeOn(dirname(file)) : []),
  ];
  return sizes.length === 0 ? words : `${words}: ${sizes.join(', and ')}`;
}

/** Thrown if a file of a copy found no room. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
  constructor(cause: unknown, file: string, bytes: number) {
    super(`${file} on this computer: ${writeErrorWords(cause, file, bytes)}`, { cause });
  }
}

/** Free space for this user's files, in words. Empty if the system does not say. */
export function freeOn(folder: string): readonly string[] {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return [`${sizeText(bavail * bsize)} are free`];
  } catch {
    return [];
  }
}

/** Bytes per read. Long reads are faster for a file that is not in the page cache. */
const READ_BYTES = 1024 * 1024;

/**
 * Hashes the file now; `read` reads those bytes again. The receiver compares the hash, so a change in between is noticed. A file
 * that only grows meanwhile is received as it was.
 * @param onRead receives the bytes hashed so far and the file's size
 */
export async function fileSource(path: string, onRead?: (read: number, size: number) => void): Promise<FileSource> {
  const hash = createHash('sha256');
  const expected = onRead ? (await stat(path)).size : 0;
  let size = 0;
  for await (const chunk of readFrom(path, 0)) {
    hash.update(chunk);
    size += chunk.length;
    onRead?.(size, expected);
  }
  const read: FileSource['read'] = (start) => (start < size ? readFrom(path, start, size - 1) : NOTHING);
  return { size, sha256: hash.digest('hex'), read };
}

const NOTHING: AsyncIterable<Buffer> = { [Symbol.asyncIterator]: async function* () {} };

/** @param end the last byte; absent: the file's */
const readFrom = (path: string, start: number, end = Infinity): AsyncIterable<Buffer> =>
  createReadStream(path, { start, end, highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>;

/** Absolute path for a path in a job file or flag: `~/x` is in the user's home, relative paths start at the current folder. */
export const expandHome = (path: string): string =>
  path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(path);

const OWNER_ALONE = 0o600;

/**
 * Writes a new key to stdout, or to a file that only its owner can read. An existing file is never touched.
 * @throws CliError
 */
export function writeNewKey(line: string, file: string | undefined): void {
  if (file === undefined) {
    // `jobctl codec new-key > key`: the shell created the file readable for everybody.
    if (fstatSync(process.stdout.fd).isFile()) fchmodSync(process.stdout.fd, OWNER_ALONE);
    printOut(`${line}\n`);
    return;
  }
  try {
    writeNew(file, `${line}\n`, OWNER_ALONE);
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const why = isThere
      ? 'is there already, and a key that is lost cannot be had back'
      : writeErrorWords(error, file, line.length);
    const code = isThere ? ExitCode.Refused : isFull(error) ? ExitCode.Failed : ExitCode.Usage;
    throw new CliError(code, `${file}: ${why}`, 'name another file');
  }
  printErr(`${file}: key ${line.split(':')[0]}; keep a copy in another place\n`);
}

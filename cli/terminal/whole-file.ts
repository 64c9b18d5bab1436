import { lstatSync, mkdirSync, realpathSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileErrorWords } from '../../domain/error-words.js';
import { sizeText } from '../../domain/units.js';
import { CliError } from './cli-error.js';
import { ExitCode } from './exit-codes.js';

/**
 * Replaces a file completely or not at all: on a full disk the earlier file stays. A link stays a link, and a file keeps its mode.
 * @param mode absent: that of the earlier file, or the usual one
 * @throws CliError
 */
export function writeWhole(file: string, text: string, mode?: number): void {
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
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
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

function replace(file: string, text: string, mode = 0o666): void {
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

export const notWritten = (error: unknown, file: string, text: string): CliError =>
  new CliError(
    isFull(error) ? ExitCode.Failed : ExitCode.Usage,
    `${file}: cannot be written: ${writeErrorWords(error, file, Buffer.byteLength(text))}`,
    'nothing was changed',
  );

/** Whether there was no room for a file: on its disk, in its user's quota, or below the limit of this process. */
export const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '');

/** `the disk is full: 40 kB are needed, and 12 kB are free`. @param bytes of the file; absent: they are not known */
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

/** A file of a copy found no room. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
  constructor(cause: unknown, file: string, bytes: number) {
    super(`${file} on this computer: ${writeErrorWords(cause, file, bytes)}`, { cause });
  }
}

/** Room for this user's files, or nothing if the system does not say. */
export function freeOn(folder: string): readonly string[] {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return [`${sizeText(bavail * bsize)} are free`];
  } catch {
    return [];
  }
}

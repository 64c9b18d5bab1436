import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { StoreReader } from '../../../cloud/store/port.js';
import type { OutputFile } from '../../../domain/stored-outputs.js';
import { writeAll, freeOn, isFull } from '../../terminal/file-on-disk.js';
import { type SafeFolder, UselessPart } from '../../terminal/safe-folder.js';
import { relative } from 'node:path';
import { fileErrorWords } from '../../../domain/errors.js';
import { count } from '../../../domain/units.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr, printOut } from '../../terminal/print.js';
import { sizeText } from '../../terminal/render/quantities.js';

/** Bytes in memory at a time, per active file. */
const CHUNK_BYTES = 4_194_304;

/** A problem of a file in the store. */
class DownloadFailed extends UselessPart {
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

/** Progress of a download's files. */
export interface Copied {
  copied: number;
  unchanged: number;
  bytes: number;
  readonly errors: string[];
  /** Files that found no room. */
  full?: { readonly first: string; readonly words: string; files: number; bytes: number };
}

export const nothingCopied = (): Copied => ({ copied: 0, unchanged: 0, bytes: 0, errors: [] });

interface Report {
  /** Fields of the JSON form, in addition to the folder and the counts. */
  readonly facts: object;
  /** The noun for one of the files. */
  readonly noun: string;
  /** The files' owner: `of host 0, attempt 1`. */
  readonly what: string;
  /** The folder. */
  readonly root: string;
  readonly notes: readonly string[];
  readonly done: Copied;
  readonly isCut: boolean;
}

/** Prints the result of a download. @returns the exit code */
export function reportCopied(
  { facts, noun, what, root, notes, done: all, isCut }: Report,
  { output }: OutputFlag,
): number {
  const { full, ...counts } = all;
  const done = { ...counts, errors: [...counts.errors, ...(full === undefined ? [] : [fullLine(full, root)])] };
  const code = isCut ? ExitCode.Interrupted : done.errors.length > 0 ? ExitCode.Failed : ExitCode.Done;
  if (output === 'json') {
    printOut(`${JSON.stringify({ ...facts, folder: root, ...done }, null, 2)}\n`);
    return code;
  }
  const here = relative('.', root);
  const place = here === '' ? 'the current folder' : here.startsWith('..') ? root : `${here}/`;
  const same = done.unchanged === 0 ? '' : `, ${done.unchanged} there already`;
  printErr(`${count(done.copied, noun)} (${sizeText(done.bytes)}) ${what}, in ${place}${same}\n`);
  for (const note of notes) printErr(`  ${note}\n`);
  for (const line of errorLines(done.errors)) printErr(`${line}\n`);
  if (isCut) printErr('interrupted; the same command goes on where it was\n');
  return code;
}

/** Each distinct error once: one link in the way may concern hundreds of files. */
export function errorLines(errors: readonly string[]): readonly string[] {
  const files = new Map<string, number>();
  for (const error of errors) files.set(error, (files.get(error) ?? 0) + 1);
  return [...files].map(([error, number]) => (number === 1 ? error : `${error} (${count(number, 'file')})`));
}

/** Counts the error of one file. @param bytes of the file, as far as they are known */
export function noteProblem(done: Copied, error: unknown, path: string, bytes: number): void {
  if (!isFull(error)) return void done.errors.push((error as Error).message);
  done.full ??= { first: path, words: fileErrorWords(error), files: 0, bytes: 0 };
  done.full.files += 1;
  done.full.bytes += bytes;
}

/** One line about all files that found no room. */
function fullLine({ first, words, files, bytes }: NonNullable<Copied['full']>, root: string): string {
  const what =
    files === 1 ? `this file of ${sizeText(bytes)} is` : `this file and ${files - 1} more (${sizeText(bytes)}) are`;
  const free = freeOn(root)
    .map((text) => ` (${text})`)
    .join('');
  return `${first}: ${words}${free}: ${what} not there; free some, or choose another folder; the same command goes on where it was`;
}

import { relative } from 'node:path';
import { fileErrorWords } from '../../../domain/error-words.js';
import { count } from '../../../domain/units.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr, printOut } from '../../terminal/print.js';
import { sizeText } from '../../terminal/render/quantities.js';
import { freeOn, isFull } from '../../terminal/file-on-disk.js';

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

/** Each error once: one link in the way may concern hundreds of files. */
export function errorLines(errors: readonly string[]): readonly string[] {
  const files = new Map<string, number>();
  for (const error of errors) files.set(error, (files.get(error) ?? 0) + 1);
  return [...files].map(([error, number]) => (number === 1 ? error : `${error} (${count(number, 'file')})`));
}

/** Notes the error of one file. @param bytes of the file, or those of it that are known */
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

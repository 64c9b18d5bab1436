import { relative } from 'node:path';
import { count } from '../../../domain/units.js';
import { ExitCode } from '../../terminal/exit-codes.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr, printOut } from '../../terminal/print.js';
import { sizeText } from '../../terminal/render/quantities.js';

/** Progress of a download's files. */
export interface Copied {
  copied: number;
  unchanged: number;
  bytes: number;
  readonly errors: string[];
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
export function reportCopied({ facts, noun, what, root, notes, done, isCut }: Report, { output }: OutputFlag): number {
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
  for (const error of done.errors) printErr(`${error}\n`);
  if (isCut) printErr('interrupted; the same command goes on where it was\n');
  return code;
}

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BAD_FLAGS } from './bad-flags.js';
import type { BadInput } from './bad-input.js';
import { BAD_FILES } from './bad-job-files.js';
import { BAD_QUOTA } from './bad-quota-input.js';
import { BAD_REHEARSALS } from './bad-rehearsal-input.js';
import { FOREIGN_INPUT } from './foreign-input.js';
import { WRONG_FILES } from './wrong-files.js';
import { WRONG_FLAGS } from './wrong-flags.js';
import { WRONG_SCHEDULES } from './wrong-schedules.js';
import { WRONG_WORDS } from './wrong-words.js';
import { WRONG_SETTINGS } from './wrong-settings.js';

/** Every command line that is refused before any server is asked, by what is wrong with it. */
export const ALL_BAD_INPUT: Readonly<Record<string, BadInput>> = {
  ...BAD_FILES,
  ...BAD_FLAGS,
  ...BAD_QUOTA,
  ...BAD_REHEARSALS,
  ...FOREIGN_INPUT,
  ...WRONG_FILES,
  ...WRONG_FLAGS,
  ...WRONG_SCHEDULES,
  ...WRONG_SETTINGS,
  ...WRONG_WORDS,
};

/** Words of the libraries that read files and flags, and of the system: they are for programmers. */
export const LIBRARIES =
  /\b(ENOENT|EACCES|EISDIR|ELOOP|ECONNREFUSED|undefined|NaN|\[object|Unexpected token|Invalid input|expected string|implicit key|flow map|flow sequence|command-argument|at position|Received type)\b|^\s+at \S+ \(/m;

/** Writes the file of a case into `folder`. @returns its command line there, and the message */
export function prepared(
  folder: string,
  { text, args, wants }: BadInput,
): { readonly args: readonly string[]; readonly wants: string } {
  const file = join(folder, 'job.yaml');
  if (text !== undefined) writeFileSync(file, text);
  return {
    args: args.map((word) => (word === 'FILE' ? file : word)),
    wants: wants.replaceAll('DIR/', `${folder}/`).replaceAll('FILE:', `${file}:`),
  };
}

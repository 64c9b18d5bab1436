import type { Problem } from '../problem.js';
import { valueAt, without } from './plain-tree.js';

/**
 * Keys of the design that this version does not do. They are known words, and refused where they ask for something: to
 * take a key and do nothing would break a promise in silence. The text says what happens instead.
 */
export const LATER_KEYS: Readonly<Record<string, string>> = {
  hooks: 'trap SIGTERM in the command',
  atomic: 'slices are asked for one by one, and the job starts when all of them are there',
  'tpu.atomic': 'slices are asked for one by one, and the job starts when all of them are there',
};

/** Values by which a key of LATER_KEYS asks for what is done anyway. */
function asksForNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === 'never') return true;
  return Array.isArray(value) && value.length === 0;
}

/** Takes the keys of later versions out of the tree; those that ask for something are problems. */
export function refuseLaterKeys(tree: unknown): { readonly tree: unknown; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  let rest = tree;
  for (const [key, instead] of Object.entries(LATER_KEYS)) {
    const path = key.split('.');
    const value = valueAt(tree, path);
    if (value === undefined) continue;
    rest = without(rest, path);
    if (!asksForNothing(value)) problems.push({ path, value, at: 'key', ...notBuilt(instead) });
  }
  return { tree: rest, problems };
}

/** Message and hint for a word that is known and not built; `what` where the place alone does not say it. */
export function notBuilt(instead: string, what?: string): { readonly message: string; readonly hint: string } {
  const subject = what === undefined ? '' : `${what} is `;
  return { message: `${subject}not built yet in this version of jobctl`, hint: `until then: ${instead}` };
}

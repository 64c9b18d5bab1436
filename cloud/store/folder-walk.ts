import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes } from './byte-order.js';
import { answered, isAbsent, OWN_FOLDER } from './folder-files.js';

interface Wanted {
  readonly root: string;
  readonly prefix: string;
  readonly startOffset: string;
}

/** Names of the objects of a folder, in byte order. Only files count, and no link is followed. */
export async function* walk(wanted: Wanted): AsyncGenerator<string> {
  const slash = wanted.prefix.lastIndexOf('/');
  yield* below(wanted.prefix.slice(0, slash + 1), wanted);
}

/** @param folder empty, or with a slash at the end */
async function* below(folder: string, wanted: Wanted): AsyncGenerator<string> {
  const { root, prefix, startOffset } = wanted;
  const read = readdir(join(root, folder), { withFileTypes: true }).catch((error: unknown) => {
    if (isAbsent(error)) return [];
    throw error;
  });
  const entries = await answered(read);
  const names = entries
    .filter((entry) => entry.isFile() || (entry.isDirectory() && (folder !== '' || entry.name !== OWN_FOLDER)))
    // A folder sorts by its name with a slash, which is the place of its objects.
    .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .filter((name) => name.startsWith(prefix) || (name.endsWith('/') && prefix.startsWith(name)))
    .filter((name) => startOffset.startsWith(name) || compareBytes(name, startOffset) >= 0)
    .toSorted(compareBytes);
  for (const name of names)
    if (name.endsWith('/')) yield* below(name, wanted);
    else if (compareBytes(name, startOffset) >= 0) yield name;
}

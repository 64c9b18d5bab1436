import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isUtf8, NotPackable, shown } from './pack-tree.js';

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

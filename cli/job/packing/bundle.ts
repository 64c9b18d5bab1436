import { realpath, stat } from 'node:fs/promises';
import type { Packing } from '../../../domain/local-files.js';
import { bundleEntries, type BundleEntries } from './bundle-entries.js';
import { excludedBy } from './exclusion.js';
import { gitFiles } from './git.js';
import { sizeText } from '../../terminal/render/quantities.js';
import { checkTree, NotPackable, packTree, type PackedTree } from './pack-tree.js';

/** Most bytes of a bundle's files. Code has a few; larger data belongs in a bucket. */
const MOST_BYTES = 2 * 1000 ** 3;
/** Number of names shown of a longer list. */
const SHOWN = 5;

export interface PackedBundle {
  /** Undefined: the folder was checked, but not packed. */
  readonly packed: PackedTree | undefined;
  /** A summary of included and excluded files, for the person who submits. */
  readonly says: string;
  readonly warnings: readonly string[];
}

export interface PackingOptions {
  /** True checks the folder without packing it. */
  readonly isDry?: boolean;
  readonly onRead?: (packed: number, size: number) => void;
}

/** Packs a folder as a bundle: tar.gz, with the same bytes for the same files. @throws NotPackable */
export async function packBundle(
  folder: string,
  packing: Packing,
  { isDry, onRead }: PackingOptions = {},
): Promise<PackedBundle> {
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new NotPackable(found === undefined ? 'does not exist' : 'is no folder');
  const root = await realpath(folder);
  const excluded = excludedBy(packing);
  const [entries, texts] = await Promise.all([
    bundleEntries(root, packing),
    gitFiles(root, (path) => excluded.ignores(path)),
  ]);
  refuseUnfit(entries);
  const names = new Set(texts.map(({ name }) => name));
  const tree = { root, entries: entries.paths.filter((path) => !names.has(path)) };
  if (isDry === true) await checkTree(tree);
  const packed = isDry === true ? undefined : await packTree({ ...tree, texts, gzip: true, ...(onRead && { onRead }) });
  return { packed, says: whatItHolds(folder, entries, packed?.source.size), warnings: warningsOf(entries) };
}

function refuseUnfit({ count, bytes, bytesOf, leftOut }: BundleEntries): void {
  if (count === 0) {
    const why = leftOut.length === 0 ? '' : `: ${shownNames(leftOut)} stay behind (bundle.exclude, .gitignore)`;
    throw new NotPackable(`has nothing to be packed${why}`);
  }
  if (bytes <= MOST_BYTES) return;
  const largest = [...bytesOf].toSorted(([, a], [, b]) => b - a).slice(0, 3);
  const most = largest.map(([name, size]) => `${name} (${sizeText(size)})`).join(', ');
  const advice = 'leave data out by bundle.exclude, and give it to the hosts by gcsfuse or files';
  throw new NotPackable(
    `has ${sizeText(bytes)}; a bundle has ${sizeText(MOST_BYTES)} at most. Most is in ${most}: ${advice}`,
  );
}

function whatItHolds(
  folder: string,
  { count, bytes, leftOut }: BundleEntries,
  packedBytes: number | undefined,
): string {
  const behind =
    leftOut.length === 0 ? '' : `; ${shownNames(leftOut)} ${leftOut.length === 1 ? 'stays' : 'stay'} behind`;
  const files = count === 1 ? '1 file' : `${count} files`;
  const packed = packedBytes === undefined ? '' : ` (${sizeText(packedBytes)} packed)`;
  return `bundle: ${files} of ${folder}, ${sizeText(bytes)}${packed}${behind}`;
}

function warningsOf({ linksOut }: BundleEntries): readonly string[] {
  if (linksOut.length === 0) return [];
  const links = linksOut.map(([path, target]) => `${path} -> ${target}`);
  return [`bundle: ${shownNames(links)}: what a link outside of the bundle leads to is not on the hosts`];
}

function shownNames(names: readonly string[]): string {
  const rest = names.length - SHOWN;
  return `${names.slice(0, SHOWN).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

import { realpath, stat, lstat, readlink } from 'node:fs/promises';
import { type Packing, USUAL_EXCLUDES, type FileSource } from '../../../domain/local-files.js';
import { gitFiles, git } from './git.js';
import { sizeText } from '../../terminal/render/quantities.js';
import { checkTree, NotPackable, packTree, type PackedTree, MAX_ENTRIES, sortedNames } from './pack-tree.js';
import type { BundleSpec } from '../../../domain/modules/bundle.js';
import { tellLine } from '../../terminal/print.js';
import { TransferLine } from '../../terminal/render/transfer-line.js';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { compareBytes } from '../../../cloud/store/port.js';
import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';

/** Most bytes of a bundle's files. Code has a few; larger data belongs in a bucket. */
export const MOST_BYTES = 2 * 1000 ** 3;
/** Number of names shown of a longer list. */
const SHOWN = 5;

interface PackedBundle {
  /** Undefined: the folder was checked, but not packed. */
  readonly packed: PackedTree | undefined;
  /** A summary of included and excluded files, for the person who submits. */
  readonly says: string;
  readonly warnings: readonly string[];
}

interface PackingOptions {
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

/**
 * Packs a folder as a bundle, or returns its problem; undefined if it is only checked. Its content is printed to stderr, so that
 * the submitter sees at once if the wrong folder is sent, or only half of it. The archive is removed when the process exits.
 */
export async function packedBundle(
  folder: string,
  bundle: BundleSpec,
  { isDry = false }: Pick<PackingOptions, 'isDry'> = {},
): Promise<FileSource | string | undefined> {
  const packing = new TransferLine('packing');
  const onRead = (sent: number, size: number): void => packing.show({ path: bundle.dir, sent, size });
  try {
    const { packed, says, warnings } = await packBundle(folder, bundle, { isDry, onRead }).finally(() => packing.end());
    for (const line of [says, ...warnings.map((warning) => `warning: ${warning}`)]) tellLine(line);
    return packed?.source;
  } catch (error) {
    if (error instanceof NotPackable) return error.message;
    throw error;
  }
}

/** The content of a folder's bundle. Paths are relative, with `/`. */
interface BundleEntries {
  /** Files, links and folders, in byte order of their paths. */
  readonly paths: readonly string[];
  /** Number of files and links. */
  readonly count: number;
  /** Bytes of all files. */
  readonly bytes: number;
  /** Excluded paths, only the topmost ones; folders have a `/` at the end. */
  readonly leftOut: readonly string[];
  /** Links to targets outside of the bundle, with their targets. */
  readonly linksOut: readonly (readonly [path: string, target: string])[];
  /** Bytes below each entry of the folder. */
  readonly bytesOf: ReadonlyMap<string, number>;
}

/**
 * Walks the folder except its excluded parts: those that `exclude` names, and those that git ignores, unless the bundle includes
 * them. Files that git tracks although they are ignored are included, like everything in the repository.
 * @param folder its real path, because git's rules depend on it
 * @throws NotPackable
 */
export async function bundleEntries(folder: string, bundle: Packing): Promise<BundleEntries> {
  const walk = new Walk(folder, bundle);
  if (bundle.withIgnored === true) await walk.into('');
  else {
    await walk.into('', await rulesAround(folder));
    await walk.addTracked();
  }
  return walk.entries();
}

class Walk {
  readonly #folder: string;
  readonly #excluded: Ignore;
  readonly #paths = new Set<string>();
  readonly #leftOut: string[] = [];
  readonly #linksOut: [string, string][] = [];
  readonly #bytesOf = new Map<string, number>();
  #count = 0;

  constructor(folder: string, bundle: Packing) {
    this.#folder = folder;
    this.#excluded = excludedBy(bundle);
  }

  /** @param rules git's rules from the parent folders; absent: git's rules are ignored */
  async into(path: string, rules?: readonly Rules[]): Promise<void> {
    const own = rules && [...rules, ...rulesOf(join(this.#folder, path))];
    for (const { name, isFolder } of await sortedNames(this.#folder, path)) {
      const below = path === '' ? name : `${path}/${name}`;
      const named = isFolder ? `${below}/` : below;
      if (this.#excluded.ignores(named) || isIgnored(join(this.#folder, below), isFolder, own ?? [])) {
        this.#leftOut.push(named);
        continue;
      }
      if (this.#paths.size >= MAX_ENTRIES) throw new NotPackable(`has more than ${MAX_ENTRIES} files and folders`);
      if (isFolder) {
        this.#paths.add(below);
        await this.into(below, own);
      } else await this.#add(below);
    }
  }

  /** Adds files that the repository tracks although a .gitignore names them. */
  async addTracked(): Promise<void> {
    const listed = await git(this.#folder, ['ls-files', '-z']);
    for (const path of listed?.split('\0') ?? []) {
      if (path === '' || this.#paths.has(path) || this.#excluded.ignores(path)) continue;
      const above = await this.#foldersAbove(path);
      const found = await lstat(join(this.#folder, path)).catch(() => undefined);
      // It is gone, behind a link in place of its folder, or a submodule, whose folder was walked.
      if (above === undefined || found === undefined || found.isDirectory()) continue;
      for (const folder of above) this.#paths.add(folder);
      await this.#add(path);
    }
  }

  /** The parent folders; undefined if one of them is not (or no longer) a folder. */
  async #foldersAbove(path: string): Promise<readonly string[] | undefined> {
    const folders: string[] = [];
    for (let above = dirname(path); above !== '.'; above = dirname(above)) {
      const found = await lstat(join(this.#folder, above)).catch(() => undefined);
      if (found?.isDirectory() !== true) return undefined;
      folders.push(above);
    }
    return folders;
  }

  async #add(path: string): Promise<void> {
    this.#paths.add(path);
    this.#count += 1;
    const place = join(this.#folder, path);
    const found = await lstat(place);
    if (found.isSymbolicLink()) {
      const target = await readlink(place);
      const end = relative(this.#folder, resolve(dirname(place), target));
      if (isAbsolute(target) || end === '..' || end.startsWith(`..${sep}`)) this.#linksOut.push([path, target]);
      return;
    }
    const [top = path] = path.split('/');
    this.#bytesOf.set(top, (this.#bytesOf.get(top) ?? 0) + found.size);
  }

  entries(): BundleEntries {
    return {
      // A folder comes before its content, even if git listed only the content.
      paths: [...this.#paths].toSorted(compareBytes),
      count: this.#count,
      bytes: [...this.#bytesOf.values()].reduce((sum, bytes) => sum + bytes, 0),
      leftOut: this.#leftOut.toSorted(),
      linksOut: this.#linksOut,
      bytesOf: this.#bytesOf,
    };
  }
}

/** Ignore rules, and the folder that their paths start at. */
interface Rules {
  readonly base: string;
  readonly rules: Ignore;
}

/** Rules that match like git on file systems that distinguish `Lib` from `lib`. */
const rulesFrom = (patterns: string | readonly string[]): Ignore =>
  ignore({ ignorecase: false }).add(typeof patterns === 'string' ? patterns : [...patterns]);

/** The bundle's own exclusions. Unless `withIgnored`, `.git` is always one of them: its configuration may hold a token. */
const excludedBy = ({ exclude = USUAL_EXCLUDES, withIgnored }: Packing): Ignore =>
  rulesFrom([...exclude, ...(withIgnored === true ? [] : ['.git'])]);

/** Decides like git: of all rules that match a path, those of the deepest folder win. */
function isIgnored(place: string, isFolder: boolean, rules: readonly Rules[]): boolean {
  let verdict = false;
  for (const { base, rules: own } of rules) {
    const { ignored, unignored } = own.test(`${relative(base, place).split(sep).join('/')}${isFolder ? '/' : ''}`);
    if (ignored || unignored) verdict = ignored;
  }
  return verdict;
}

/** Rules of the folder's .gitignore; empty if there is none. @throws NotPackable if it cannot be read */
function rulesOf(folder: string): readonly Rules[] {
  return rulesIn(join(folder, '.gitignore'), folder);
}

function rulesIn(file: string, base: string): readonly Rules[] {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return [];
  try {
    return [{ base, rules: rulesFrom(readFileSync(file, 'utf8')) }];
  } catch (error) {
    throw new NotPackable(`is packed by ${file}, which cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Rules of the user, of the repository, and of this folder's parents up to the top of the repository, weakest first. */
async function rulesAround(folder: string): Promise<readonly Rules[]> {
  const answer = async (...words: string[]): Promise<string | undefined> =>
    (await git(folder, words))?.replace(/\n$/, '');
  const top = await answer('rev-parse', '--show-toplevel');
  if (top === undefined) return [];
  const [own, everywhere] = await Promise.all([
    answer('rev-parse', '--git-path', 'info/exclude'),
    answer('config', '--path', 'core.excludesFile'),
  ]);
  const usual = join(process.env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'git', 'ignore');
  const above: string[] = [];
  for (let at = folder; at !== top && dirname(at) !== at; at = dirname(at)) above.unshift(dirname(at));
  return [
    ...rulesIn(everywhere ?? usual, top),
    ...(own === undefined ? [] : rulesIn(resolve(folder, own), top)),
    ...above.flatMap(rulesOf),
  ];
}

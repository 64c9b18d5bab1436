import { closeSync, constants, openSync, readSync, type Stats, existsSync, realpathSync, statSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { fileErrorWords } from '../../domain/errors.js';
import { type FileSource, archiveOf, type LocalFile } from '../../domain/local-files.js';
import { decodedText } from '../../domain/modules/named-files.js';
import { fileSource } from '../terminal/file-on-disk.js';
import { checkTree, MAX_COPIED_BYTES, NotPackable, packTree, treeEntries } from './packing/pack-tree.js';
import { homedir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { formatPath, type Path, showValue } from '../../domain/problem.js';
import { ask, mustBeAskable } from '../terminal/ask.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import type { OutputFlag } from '../terminal/options.js';

/** Limit, in bytes, of a file that is read whole (requirements, environment.yml), so that a wrong file name is noticed. */
const MAX_FILE_BYTES = 500_000;

interface ReadingOptions {
  /** True checks files to copy without reading them, which takes minutes for large files. */
  readonly isDry?: boolean;
  /** Called with the bytes read of a file to copy. */
  readonly onRead?: (read: number, size: number) => void;
}

/** The name of a file in the job and its content, or a problem as text. Undefined: no problem, and the file was not read. */
export async function readLocalFile(
  { path, kind }: LocalFile,
  resolved: string,
  options: ReadingOptions = {},
): Promise<[string, Uint8Array | FileSource] | string | undefined> {
  if (kind !== 'copy') {
    const content = readNamedFile(resolved);
    return typeof content === 'string' ? content : [path, asUtf8(content)];
  }
  try {
    const found = await stat(resolved);
    const content = found.isDirectory()
      ? await packFolder(resolved, options)
      : await openFile(resolved, found, options);
    return content && [found.isDirectory() ? archiveOf(path) : path, content];
  } catch (error) {
    return reasonOf(error);
  }
}

/** Converts UTF-16, which Windows writes, to UTF-8: pip reads both, but uv and conda only UTF-8. */
function asUtf8(content: Uint8Array): Uint8Array {
  const isMarked = content[0] === 0xff || content[0] === 0xfe;
  return isMarked ? new TextEncoder().encode(decodedText(content)) : content;
}

/** The file's content, or a problem as text. */
export function readNamedFile(path: string): Uint8Array | string {
  try {
    const file = openSync(path, 'r');
    try {
      return readBounded(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return reasonOf(error);
  }
}

/** Bounds the bytes read, not the file's size: a pipe (`<(make-job)`) has no size, and a device may have no end. */
function readBounded(file: number): Uint8Array | string {
  const content = Buffer.alloc(MAX_FILE_BYTES + 1);
  let length = 0;
  while (length < content.length) {
    const read = readSync(file, content, length, content.length - length, null);
    if (read === 0) return content.subarray(0, length);
    length += read;
  }
  return `has more than ${MAX_FILE_BYTES} bytes, and that is the most`;
}

/** Packs a folder into an archive that is removed when the process exits. */
async function packFolder(folder: string, { isDry, onRead }: ReadingOptions): Promise<FileSource | undefined> {
  const tree = { root: folder, entries: await treeEntries(folder), ...(onRead && { onRead }) };
  if (isDry !== true) return (await packTree(tree)).source;
  await checkTree(tree);
  return undefined;
}

async function openFile(
  path: string,
  found: Stats,
  { isDry, onRead }: ReadingOptions,
): Promise<FileSource | undefined> {
  if (!found.isFile()) throw new NotPackable('is neither a file nor a folder');
  if (found.size > MAX_COPIED_BYTES) throw new NotPackable(tooLarge(found.size, MAX_COPIED_BYTES));
  if (isDry !== true) return fileSource(path, onRead);
  await access(path, constants.R_OK);
  return undefined;
}

const tooLarge = (bytes: number, most: number): string => `has ${bytes} bytes; ${most} are the most`;

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined && !(error instanceof NotPackable)) throw error;
  return REASONS[code ?? ''] ?? (code === undefined ? message : `cannot be read: ${fileErrorWords(error)}`);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EISDIR: 'is a directory',
  EACCES: 'cannot be read: permission denied',
};

/** A path in a job file that would be uploaded, and its place on this computer. */
export interface NamedPath {
  readonly at: Path;
  readonly path: string;
  /** Absolute. */
  readonly place: string;
}

/**
 * The paths outside the job file's folder, or outside the repository that contains it. The file's author chose them, and may be a
 * stranger (docs/adr/0093). Links are resolved. In a home folder the hidden folders (~/.ssh) are outside too.
 */
export function outsideFiles(file: string, named: readonly NamedPath[]): readonly NamedPath[] {
  const root = ownFolder(file);
  return named.flatMap(({ place, ...path }) => {
    const real = existsSync(place) ? realpathSync(place) : place;
    return isWithin(root, real) && !isHidden(root, real) ? [] : [{ ...path, place: real }];
  });
}

export const outsideText = ({ at, path, place }: NamedPath): string =>
  `${formatPath(at)}: ${showValue(path)} is ${place}, which is outside of the job file's folder and would be uploaded`;

/** Asks before files from outside leave this computer. @throws CliError if nobody agrees; nothing was uploaded then */
export async function agreeToOutside(
  outside: readonly NamedPath[],
  { allowOutside, output = 'text' }: Partial<OutputFlag> & { readonly allowOutside?: true | undefined },
): Promise<void> {
  if (outside.length === 0 || allowOutside === true) return;
  const places = outside.map(({ place }) => place).join(', ');
  const remedy = 'if you know the job file and want this: --allow-outside';
  mustBeAskable({ output }, `the job file would upload ${places}`, remedy);
  if (!(await ask(`Upload ${places}? [y/N] `))) throw new CliError(ExitCode.Refused, 'nothing was uploaded', remedy);
}

/** The folder to which a job file belongs. A file from a pipe is the user's own and belongs to the current folder. */
function ownFolder(file: string): string {
  const folder = realpathSync(statSync(file).isFile() ? dirname(file) : '.');
  for (let above = folder; ; above = dirname(above)) {
    // A home folder that is a repository (dotfiles) does not count.
    if (existsSync(join(above, '.git')) && !isWithin(above, realHome())) return above;
    if (above === dirname(above)) return folder;
  }
}

const realHome = (): string => (existsSync(homedir()) ? realpathSync(homedir()) : homedir());

const isWithin = (root: string, path: string): boolean => {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`);
};

/** Whether the path, but not the job file, is below a hidden folder of the home. */
function isHidden(root: string, path: string): boolean {
  const home = realHome();
  return isWithin(root, home) && isWithin(home, path) && relative(home, path).startsWith('.');
}

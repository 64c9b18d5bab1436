import { type HostConnection, HostFileError } from '../../../cloud/hosts/port.js';
import { helperCommand } from '../../../cloud/hosts/login-shell.js';
import { nameProblem, quotedName, treeProblem } from '../../../domain/outside-text.js';
import { shellPath } from '../../../domain/shell-quote.js';
import { basename, dirname, join, posix } from 'node:path';
import { SafeFolder } from '../../terminal/safe-folder.js';
import { isFull, NoRoom } from '../../terminal/file-on-disk.js';

/** One file of a host to copy to this computer. */
interface RemoteFile {
  /** Path on the host. */
  readonly path: string;
  /** Path below the named path: `sub/a.txt`. Empty: the named path is the file itself. */
  readonly below: string;
  /** Size in bytes when it was listed. No more is read. */
  readonly size: number;
  /** Permission bits, without setuid, setgid and sticky. */
  readonly mode: number;
}

/** Most files of one list: a longer list would fill this computer's memory. */
const MOST_FILES = 200_000;
const MOST_LISTING_BYTES = 32 * 1024 * 1024;

/** Returns whether a folder exists on the host. */
export async function isFolder(connection: HostConnection, path: string, signal: AbortSignal): Promise<boolean> {
  const { code } = await connection.exec(helperCommand(`[ -d ${shellPath(path)} ]`), { ...SILENT, signal });
  return code === 0;
}

/**
 * Lists the file at a path, or all files below a folder, links followed. The job's user controls the host and may forge its list,
 * so a list with one wrong entry is refused as a whole.
 * @throws HostFileError also if there is no file
 */
export async function remoteFiles(
  connection: HostConnection,
  path: string,
  signal: AbortSignal,
): Promise<readonly RemoteFile[]> {
  const listing = new BoundedText(MOST_LISTING_BYTES);
  const errors = new BoundedText(MOST_LISTING_BYTES);
  // %P is the path relative to the named path, empty for that path itself.
  const find = `find -L ${shellPath(path)} -type f -printf '%P\\0%s %m\\0'`;
  const { code } = await connection.exec(helperCommand(find), {
    onStdout: (chunk) => listing.add(chunk),
    onStderr: (chunk) => errors.add(chunk),
    signal,
  });
  if (code !== 0) throw new HostFileError(errors.text().trim().slice(-500) || `find ended with code ${code}`);
  return readListing(listing.text(), path);
}

/** @throws HostFileError if `find` cannot have printed the list, or if its names cannot be stored in one folder */
function readListing(listing: string, path: string): readonly RemoteFile[] {
  const words = listing.split('\0');
  if (words.pop() !== '' || words.length % 2 !== 0) throw refused('it is not whole');
  if (words.length > 2 * MOST_FILES)
    throw refused(`it has more than ${MOST_FILES} files; copy a smaller folder, or an archive of it`);
  const files = Array.from({ length: words.length / 2 }, (_, at) =>
    fileOf(words[2 * at] ?? '', words[2 * at + 1] ?? '', path),
  );
  const problem = treeProblem(files.map(({ below }) => below));
  if (problem !== undefined) throw refused(problem);
  if (files.length > 1 && files.some(({ below }) => below === '')) throw refused('it has several files of one path');
  return files.toSorted((a, b) => (a.below < b.below ? -1 : 1));
}

function fileOf(below: string, facts: string, path: string): RemoteFile {
  const problem = below === '' ? undefined : nameProblem(below);
  if (problem !== undefined) throw refused(`${quotedName(below)} ${problem}`);
  if (below.includes('\ufffd')) throw refused(`${quotedName(below)} is not UTF-8; rename it on the host`);
  const [, size, mode] = /^(\d{1,15}) ([0-7]{1,4})$/.exec(facts) ?? [];
  if (size === undefined || mode === undefined)
    throw refused(`${quotedName(below)} has size and mode ${quotedName(facts)}, which are no numbers`);
  const on = below === '' ? path : `${path}/${below}`;
  return { path: on, below, size: Number(size), mode: Number.parseInt(mode, 8) & 0o777 };
}

const refused = (why: string): HostFileError =>
  new HostFileError(`the host's list of files is refused: ${why}. Nothing of it was copied`);

/** Output of a host, up to a size. */
class BoundedText {
  readonly #most: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#most)
      throw refused(`it is longer than ${this.#most / 1024 / 1024} MiB; copy a smaller folder, or an archive of it`);
    this.#chunks.push(chunk);
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

/** SHA-256 of a file's content, in hex; undefined if the host cannot compute it. */
async function remoteHash(connection: HostConnection, path: string, signal: AbortSignal): Promise<string | undefined> {
  const said = new BoundedText(MOST_LISTING_BYTES);
  const { code } = await connection.exec(helperCommand(`sha256sum < ${shellPath(path)}`), {
    ...SILENT,
    onStdout: (chunk) => said.add(chunk),
    signal,
  });
  return code === 0 ? /\b[0-9a-f]{64}\b/.exec(said.text())?.[0] : undefined;
}

const SILENT = { onStdout: () => undefined, onStderr: () => undefined } as const;

/** Destination of the files of one host. */
interface FetchTarget {
  /** Path in the user's words. */
  readonly target: string;
  /** True if the target is the new name of the copy, not a folder to copy into. */
  readonly isNamed: boolean;
  /** The host's folder in the target, if there are several hosts. Empty: there is one host. */
  readonly below: string;
  readonly done: { copied: number; unchanged: number; bytes: number };
}

/**
 * Copies files and folders of a host to this computer, like `cp`, one file after another.
 * @throws HostFileError, UnsafePath: files copied before stay and are counted in `done`
 */
export async function fetchPaths(
  connection: HostConnection,
  paths: readonly string[],
  { target, isNamed, below, done }: FetchTarget,
  signal: AbortSignal,
): Promise<void> {
  const folder = new SafeFolder(target);
  for (const path of paths) {
    const last = posix.basename(path);
    const own = isNamed || ['.', '..', '~'].includes(last) ? '' : last;
    for (const file of await remoteFiles(connection, path, signal)) {
      const name = [below, own, file.below].filter((part) => part !== '').join('/');
      // The host alone says whether a path is a file or a folder; a target that is a file here accepts one file only.
      const place =
        name === '' ? { folder: new SafeFolder(dirname(target)), name: basename(target) } : { folder, name };
      const bytes = await fetchFile(connection, file, place, signal);
      done[bytes === 'unchanged' ? 'unchanged' : 'copied'] += 1;
      done.bytes += bytes === 'unchanged' ? 0 : bytes;
    }
  }
}

/** Destination of one file of a host. */
interface FetchPlace {
  readonly folder: SafeFolder;
  /** Path below `folder`. */
  readonly name: string;
}

/**
 * Copies a file to this computer with its mode, completely or not at all.
 * @returns `unchanged` if the file was here with this content and was not sent, otherwise its bytes
 */
export async function fetchFile(
  connection: HostConnection,
  { path, size, mode }: RemoteFile,
  { folder, name }: FetchPlace,
  signal: AbortSignal,
): Promise<'unchanged' | number> {
  const isHere = await folder.holds(name, size, () => remoteHash(connection, path, signal));
  if (isHere && (await folder.takesMode(name, mode))) return 'unchanged';
  try {
    return await folder.lay({ name, mode }, async (writing) => {
      const received = await connection.getFile(path, (chunk) => writing.appendFile(chunk), { most: size, signal });
      return received.size;
    });
  } catch (error) {
    throw isFull(error) ? new NoRoom(error, join(folder.root, name), size) : error;
  }
}

import { type HostConnection, HostFileError } from '../../../cloud/hosts/port.js';
import { helperCommand } from '../../../cloud/hosts/helper-command.js';
import { nameProblem, quotedName, treeProblem } from '../../../domain/outside-names.js';
import { shellPath } from '../../../domain/shell-quote.js';

/** One file of a host to be copied here. */
export interface RemoteFile {
  /** On the host. */
  readonly path: string;
  /** Below the path that was named: `sub/a.txt`. Empty: that path is the file itself. */
  readonly below: string;
  /** In bytes, when it was listed. No more is taken. */
  readonly size: number;
  /** Permission bits, without setuid, setgid and sticky. */
  readonly mode: number;
}

/** Of one list; a host that names more would fill this computer's memory. */
const MOST_FILES = 200_000;
const MOST_LISTING_BYTES = 32 * 1024 * 1024;

/** Whether a folder is there. */
export async function isFolder(connection: HostConnection, path: string, signal: AbortSignal): Promise<boolean> {
  const { code } = await connection.exec(helperCommand(`[ -d ${shellPath(path)} ]`), { ...SILENT, signal });
  return code === 0;
}

/**
 * The file that is at a path, or all below a folder, links followed. The host belongs to whoever runs the job, so that its list may be
 * forged: it is refused as a whole if one entry is wrong.
 * @throws HostFileError also if there is nothing
 */
export async function remoteFiles(
  connection: HostConnection,
  path: string,
  signal: AbortSignal,
): Promise<readonly RemoteFile[]> {
  const listing = new BoundedText(MOST_LISTING_BYTES);
  const errors = new BoundedText(MOST_LISTING_BYTES);
  // %P is the way from the path that was named, empty for that itself.
  const find = `find -L ${shellPath(path)} -type f -printf '%P\\0%s %m\\0'`;
  const { code } = await connection.exec(helperCommand(find), {
    onStdout: (chunk) => listing.add(chunk),
    onStderr: (chunk) => errors.add(chunk),
    signal,
  });
  if (code !== 0) throw new HostFileError(errors.text().trim().slice(-500) || `find ended with code ${code}`);
  return readListing(listing.text(), path);
}

/** @throws HostFileError for a list that no `find` has printed, and for names that cannot be laid down in one folder */
export function readListing(listing: string, path: string): readonly RemoteFile[] {
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

/** What a host prints, up to a size. */
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

/** Of a file's content, in hex; undefined if the host cannot say. */
export async function remoteHash(
  connection: HostConnection,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const said = new BoundedText(MOST_LISTING_BYTES);
  const { code } = await connection.exec(helperCommand(`sha256sum < ${shellPath(path)}`), {
    ...SILENT,
    onStdout: (chunk) => said.add(chunk),
    signal,
  });
  return code === 0 ? /\b[0-9a-f]{64}\b/.exec(said.text())?.[0] : undefined;
}

const SILENT = { onStdout: () => undefined, onStderr: () => undefined } as const;

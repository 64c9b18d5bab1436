import { posix } from 'node:path';
import { type HostConnection, HostFileError } from '../../../cloud/hosts/port.js';
import { shellQuote } from '../../../domain/shell-quote.js';

/** One file to be fetched. */
export interface RemoteFile {
  /** On the host. */
  readonly path: string;
  /** Below the target: `out/a.txt` of a folder `out`. */
  readonly name: string;
}

/** A word of the host's shell; `~` is the login user's home folder. */
const remoteWord = (path: string): string =>
  path === '.' || path === '~'
    ? '"$HOME"'
    : path.startsWith('~/')
      ? `"$HOME"/${shellQuote(path.slice(2))}`
      : shellQuote(path.startsWith('-') ? `./${path}` : path);

/** Whether a folder is there. */
export async function isFolder(connection: HostConnection, path: string, signal: AbortSignal): Promise<boolean> {
  const { code } = await connection.exec(`[ -d ${remoteWord(path)} ]`, { ...SILENT, signal });
  return code === 0;
}

/**
 * The file that is at a path, or all below a folder, links followed.
 * @throws HostFileError where there is nothing
 */
export async function remoteFiles(
  connection: HostConnection,
  path: string,
  signal: AbortSignal,
): Promise<readonly RemoteFile[]> {
  const listing: Buffer[] = [];
  const errors: Buffer[] = [];
  // %P is the way from the path that was named, empty for that itself.
  const { code } = await connection.exec(`find -L ${remoteWord(path)} -type f -printf '%p\\0%P\\0'`, {
    onStdout: (chunk) => void listing.push(chunk),
    onStderr: (chunk) => void errors.push(chunk),
    signal,
  });
  if (code !== 0) throw new HostFileError(Buffer.concat(errors).toString().trim());
  const words = Buffer.concat(listing).toString().split('\0');
  const own = path === '.' || path === '~' ? '' : posix.basename(path);
  return Array.from({ length: Math.floor(words.length / 2) }, (_, at) => ({
    path: words[2 * at] ?? '',
    name: posix.join(own, words[2 * at + 1] ?? ''),
  })).toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

const SILENT = { onStdout: () => undefined, onStderr: () => undefined } as const;

import { posix } from 'node:path';
import { type HostConnection, HostFileError } from '../../../cloud/hosts/port.js';
import { shellPath } from '../../../domain/shell-quote.js';

/** One file to be fetched. */
export interface RemoteFile {
  /** On the host. */
  readonly path: string;
  /** Below the target: `out/a.txt` of a folder `out`. */
  readonly name: string;
  /** In bytes, when it was listed. */
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
}

/** Whether a folder is there. */
export async function isFolder(connection: HostConnection, path: string, signal: AbortSignal): Promise<boolean> {
  const { code } = await connection.exec(`[ -d ${shellPath(path)} ]`, { ...SILENT, signal });
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
  const { code } = await connection.exec(`find -L ${shellPath(path)} -type f -printf '%p\\0%P\\0%s\\0%m\\0'`, {
    onStdout: (chunk) => void listing.push(chunk),
    onStderr: (chunk) => void errors.push(chunk),
    signal,
  });
  if (code !== 0) throw new HostFileError(Buffer.concat(errors).toString().trim());
  const words = Buffer.concat(listing).toString().split('\0');
  const own = path === '.' || path === '~' ? '' : posix.basename(path);
  return Array.from({ length: Math.floor(words.length / 4) }, (_, at) => ({
    path: words[4 * at] ?? '',
    name: posix.join(own, words[4 * at + 1] ?? ''),
    size: Number(words[4 * at + 2]),
    mode: Number.parseInt(words[4 * at + 3] ?? '', 8) & 0o777,
  })).toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Of a file's content, in hex; undefined where the host cannot say. */
export async function remoteHash(
  connection: HostConnection,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const said: Buffer[] = [];
  const { code } = await connection.exec(`sha256sum < ${shellPath(path)}`, {
    ...SILENT,
    onStdout: (chunk) => void said.push(chunk),
    signal,
  });
  return code === 0 ? /\b[0-9a-f]{64}\b/.exec(Buffer.concat(said).toString())?.[0] : undefined;
}

const SILENT = { onStdout: () => undefined, onStderr: () => undefined } as const;

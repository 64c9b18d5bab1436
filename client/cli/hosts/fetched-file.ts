import { basename, dirname, posix } from 'node:path';
import type { HostConnection } from '../../../cloud/hosts/port.js';
import { SafeFolder } from '../safe-folder.js';
import { type RemoteFile, remoteFiles, remoteHash } from './remote-files.js';

/** Where files of one host go. */
export interface FetchTarget {
  /** As the user named it. */
  readonly target: string;
  /** The target is the name of what is copied, not a folder to copy into. */
  readonly isNamed: boolean;
  /** A folder in the target, of one host among several. Empty: there is one host. */
  readonly below: string;
  readonly done: { copied: number; unchanged: number; bytes: number };
}

/**
 * Copies files and folders of a host here, as `cp` does, one file after the other.
 * @throws HostFileError, UnsafePath: what was copied before stays, and is in `done`
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
      // Whether a path is a file or a folder is the host's word: a target that is a file here takes one file alone.
      const place =
        name === '' ? { folder: new SafeFolder(dirname(target)), name: basename(target) } : { folder, name };
      const bytes = await fetchFile(connection, file, place, signal);
      done[bytes === 'unchanged' ? 'unchanged' : 'copied'] += 1;
      done.bytes += bytes === 'unchanged' ? 0 : bytes;
    }
  }
}

/** Where a file of a host is to be laid down. */
interface FetchPlace {
  readonly folder: SafeFolder;
  /** Below it. */
  readonly name: string;
}

/** Brings a file here, whole or not at all, with its mode. `unchanged`: it was here with this content, which was not sent; else its bytes. */
export async function fetchFile(
  connection: HostConnection,
  { path, size, mode }: RemoteFile,
  { folder, name }: FetchPlace,
  signal: AbortSignal,
): Promise<'unchanged' | number> {
  const isHere = await folder.holds(name, size, () => remoteHash(connection, path, signal));
  if (isHere && (await folder.takesMode(name, mode))) return 'unchanged';
  return folder.lay({ name, mode }, async (writing) => {
    const received = await connection.getFile(path, (chunk) => writing.appendFile(chunk), { most: size, signal });
    return received.size;
  });
}

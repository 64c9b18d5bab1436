import { basename, dirname, join, posix } from 'node:path';
import type { HostConnection } from '../../../cloud/hosts/port.js';
import { SafeFolder } from '../../terminal/safe-folder.js';
import { isFull, NoRoom } from '../../terminal/file-on-disk.js';
import { type RemoteFile, remoteFiles, remoteHash } from './remote-files.js';

/** Destination of the files of one host. */
export interface FetchTarget {
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

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { HostConnection } from '../../../cloud/hosts/port.js';
import { fileSource } from '../file-on-disk.js';
import { type RemoteFile, remoteHash } from './remote-files.js';

/** Brings a file here, whole or not at all, with its mode. `unchanged`: it was here with this content, which was not sent. */
export async function fetchFile(
  connection: HostConnection,
  file: RemoteFile,
  to: string,
  signal: AbortSignal,
): Promise<'unchanged' | 'done'> {
  if (await isHere(connection, file, to, signal)) {
    await chmod(to, file.mode);
    return 'unchanged';
  }
  await mkdir(dirname(to), { recursive: true });
  const draft = join(dirname(to), `.${basename(to)}.${randomBytes(4).toString('hex')}`);
  const writing = createWriteStream(draft, { mode: 0o600 });
  try {
    await once(writing, 'open');
    const { mode } = await connection.getFile(
      file.path,
      async (chunk) => {
        if (!writing.write(chunk)) await once(writing, 'drain');
      },
      signal,
    );
    writing.end();
    await once(writing, 'finish');
    await chmod(draft, mode & 0o777);
    await rename(draft, to);
    return 'done';
  } catch (error) {
    writing.destroy();
    await rm(draft, { force: true });
    throw error;
  }
}

/** Hashed on both sides only where the sizes say that it may be the same. */
async function isHere(
  connection: HostConnection,
  { path, size }: RemoteFile,
  to: string,
  signal: AbortSignal,
): Promise<boolean> {
  const here = await stat(to).catch(() => undefined);
  if (here?.isFile() !== true || here.size !== size) return false;
  const [theirs, ours] = await Promise.all([remoteHash(connection, path, signal), fileSource(to)]);
  return theirs === ours.sha256;
}

import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { SshKey } from '../cloud/hosts/port.js';
import type { JobSpec } from '../domain/job-spec.js';
import type { Installation } from './dependencies.js';
import { invalidJob } from './failures.js';

export interface ConnectingKey extends SshKey {
  /** OpenSSH line. */
  readonly publicKey: string;
}

/**
 * The key pair that connects to a job's hosts: the installation's, or the submitter's own where the job names one. That file
 * is read in place, so it has to be the worker's to read; its content never leaves the worker.
 * @throws InvalidJob naming the file, where it cannot be read.
 */
export async function connectingKey({ sshKey, publicKey }: Installation, ssh: JobSpec['ssh']): Promise<ConnectingKey> {
  if (!ssh) return { ...sshKey, publicKey };
  const privatePath = onThisMachine(ssh.privateKey, 'ssh.private_key');
  const publicPath = onThisMachine(ssh.publicKey ?? `${ssh.privateKey}.pub`, 'ssh.public_key');
  return {
    privateKey: await readKey(privatePath, 'ssh.private_key'),
    publicKey: (await readKey(publicPath, 'ssh.public_key')).trim(),
  };
}

function onThisMachine(path: string, field: string): string {
  if (path.startsWith('~/')) return join(homedir(), path.slice(2));
  if (isAbsolute(path)) return path;
  throw invalidJob(`${field}: '${path}' must be an absolute path, or start with ~/`);
}

async function readKey(path: string, field: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw invalidJob(
      `${field}: '${path}' cannot be read by the worker (${why})\n  the worker reads it in place; leave 'ssh' out to connect with the installation's own key`,
    );
  }
}

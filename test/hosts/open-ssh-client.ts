import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface LoginPlace {
  readonly address: string;
  readonly port: number;
  readonly user: string;
}

export interface LoginTry {
  /** 255: not let in. */
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** One login by the OpenSSH client with this key alone, whatever host it is. */
export async function tryLogin(
  { address, port, user }: LoginPlace,
  privateKey: string,
  command: string,
): Promise<LoginTry> {
  const folder = mkdtempSync(join(tmpdir(), 'open-ssh-client-'));
  const file = join(folder, 'key');
  writeFileSync(file, privateKey, { mode: 0o600 });
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'IdentitiesOnly=yes', 'BatchMode=yes'];
  const words = [...options.flatMap((option) => ['-o', option]), '-F', 'none', '-i', file, '-p', String(port)];
  try {
    return await new Promise((resolve) => {
      execFile('ssh', [...words, '-l', user, address, command], (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, err }),
      );
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

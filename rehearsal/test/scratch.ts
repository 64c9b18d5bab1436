import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeOctet } from './subnet-octets.js';

/** Of this process, until it ends. */
export const { octet: SUBNET_OCTET } = await takeOctet();

export interface Scratch {
  readonly path: string;
  /** Takes the folder away with all that is in it. */
  remove(): void;
}

export function scratchFolder(name: string): Scratch {
  const path = mkdtempSync(join(tmpdir(), `rehearsal-${name}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }) };
}

export interface UserKey {
  readonly privateFile: string;
  /** `ssh-ed25519 AAAA.. comment` */
  readonly publicKey: string;
}

export function makeUserKey(folder: string): UserKey {
  const privateFile = join(folder, 'user-key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'tester', '-f', privateFile]);
  return { privateFile, publicKey: readFileSync(`${privateFile}.pub`, 'utf8').trim() };
}

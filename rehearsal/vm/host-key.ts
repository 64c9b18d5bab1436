import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolderSync } from '../folders.js';
import ssh2 from 'ssh2';

export interface HostKey {
  /** OpenSSH private key text. */
  readonly privateKey: string;
  /** `ssh-ed25519 AAAA..`, without a comment. */
  readonly publicKey: string;
}

/** The host key in `file`, created at the first call. */
export function loadHostKey(file: string): HostKey {
  if (!existsSync(file)) {
    makeFolderSync(dirname(file));
    writeFileSync(`${file}.new`, generateHostKey().privateKey, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  const privateKey = readFileSync(file, 'utf8');
  const publicKey = publicKeyOf(privateKey);
  if (publicKey === undefined) throw new Error(`host key: ${file} holds no private key that ssh2 can read; delete it`);
  return { privateKey, publicKey };
}

// ssh2 1.17 makes an ed25519 key that it cannot parse itself in 15 of 4000 calls (docs/facts.md, "gcloud and the VMs").
function generateHostKey(): HostKey {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const privateKey = ssh2.utils.generateKeyPairSync('ed25519').private;
    const publicKey = publicKeyOf(privateKey);
    if (publicKey !== undefined) return { privateKey, publicKey };
  }
  throw new Error('host key: ssh2 made 20 ed25519 keys in a row that it cannot read');
}

function publicKeyOf(privateKey: string): string | undefined {
  try {
    const parsed = ssh2.utils.parseKey(privateKey);
    if (parsed instanceof Error) return undefined;
    const blob = parsed.getPublicSSH().toString('base64');
    return ssh2.utils.parseKey(`ssh-ed25519 ${blob}`) instanceof Error ? undefined : `ssh-ed25519 ${blob}`;
  } catch {
    return undefined;
  }
}

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ssh2 from 'ssh2';

/** A login key of a stack's own, in files as OpenSSH has them. */
export function writeKeyPair(directory: string): { privateKeyFile: string; publicKeyFile: string } {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'e2e' });
    if (ssh2.utils.parseKey(pair.private) instanceof Error) continue;
    const privateKeyFile = join(directory, 'id_ed25519');
    const publicKeyFile = `${privateKeyFile}.pub`;
    writeFileSync(privateKeyFile, pair.private, { mode: 0o600 });
    writeFileSync(publicKeyFile, `${pair.public}\n`);
    return { privateKeyFile, publicKeyFile };
  }
}

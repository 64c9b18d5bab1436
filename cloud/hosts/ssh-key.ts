import { createHash } from 'node:crypto';
import ssh2 from 'ssh2';
import type { SshKey } from './port.js';

/** `SHA256:..` of a public key's wire form, as `ssh-keygen -l` prints it. */
export function fingerprintOf(publicKey: Buffer): string {
  return `SHA256:${createHash('sha256').update(publicKey).digest('base64').replace(/=+$/, '')}`;
}

/**
 * The public fingerprint of a private key: names it in messages and tells connections of different keys apart.
 * @throws Error where the text is no private key that can be used without a passphrase. The text itself is never shown.
 */
export function keyFingerprint(key: SshKey): string {
  const parsed = ssh2.utils.parseKey(key.privateKey);
  if (parsed instanceof Error) {
    throw new Error(
      `SSH private key: it cannot be read (${parsed.message}); give an OpenSSH or PEM key without a passphrase`,
    );
  }
  // A file can hold several keys, which the types do not say.
  const [first] = [parsed].flat();
  if (!first?.isPrivateKey())
    throw new Error('SSH private key: this is a public key; give the private one of the pair');
  return fingerprintOf(first.getPublicSSH());
}

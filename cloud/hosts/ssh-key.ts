import { createHash } from 'node:crypto';

/** `SHA256:..` of a public key's wire form, as `ssh-keygen -l` prints it. */
export function fingerprintOf(publicKey: Buffer): string {
  return `SHA256:${createHash('sha256').update(publicKey).digest('base64').replace(/=+$/, '')}`;
}

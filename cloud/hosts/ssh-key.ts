import { createHash } from 'node:crypto';

/** `SHA256:..`, the form that `ssh-keygen -l` prints. @param publicKey the key in wire form */
export function fingerprintOf(publicKey: Buffer): string {
  return `SHA256:${createHash('sha256')
    .update(publicKey)
    .digest('base64')
    .replace(/(?<!=)=+$/, '')}`;
}

/** The reading of a text that should be a private key. No field ever contains the key itself. */
export type PrivateKeyReading =
  | {
      readonly kind: 'key';
      /** The OpenSSH line, without a comment. */
      readonly publicKey: string;
      readonly fingerprint: string;
    }
  /** `what` is `a public key`, `a key with a passphrase`, .. */
  | { readonly kind: 'no-key'; readonly isMeantAsKey: boolean; readonly what: string };

/** Reads keys and reports only facts that are safe to show. */
export interface KeyReader {
  privateKey(text: string): PrivateKeyReading;
  /** The fingerprint of an OpenSSH public key line, or undefined for any other text. */
  publicFingerprint(line: string): string | undefined;
}

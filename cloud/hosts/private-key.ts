import ssh2 from 'ssh2';
import { fingerprintOf, type KeyReader, type PrivateKeyReading } from './ssh-key.js';
import type { SshKey } from './port.js';

/** Reads the forms that the fleet accepts: PEM and OpenSSH, without a passphrase. */
export function readPrivateKey(text: string): PrivateKeyReading {
  const isMeantAsKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----|PuTTY-User-Key-File/.test(text);
  const parsed = ssh2.utils.parseKey(text);
  if (parsed instanceof Error) {
    const isLocked = /passphrase|[Ee]ncrypted/.test(parsed.message);
    const what = isLocked
      ? 'a key with a passphrase, which nobody is there to type'
      : 'no private key that can be read';
    return { kind: 'no-key', isMeantAsKey, what };
  }
  // A file can contain several keys, which the types do not show.
  const [first] = [parsed].flat();
  if (!first?.isPrivateKey()) return { kind: 'no-key', isMeantAsKey, what: 'a public key' };
  const wire = first.getPublicSSH();
  return {
    kind: 'key',
    publicKey: `${first.type} ${wire.toString('base64')}`,
    fingerprint: fingerprintOf(wire),
  };
}

/** The fingerprint of an OpenSSH line (`ssh-ed25519 AAAA.. comment`); undefined for other text, above all for a private key. */
export function publicLineFingerprint(line: string): string | undefined {
  const parsed = ssh2.utils.parseKey(line.trim());
  if (parsed instanceof Error) return undefined;
  const [first] = [parsed].flat();
  // A private key contains its public key. If it passed as a public key, it would be sent to Cloud TPU and into histories.
  return first === undefined || first.isPrivateKey() ? undefined : fingerprintOf(first.getPublicSSH());
}

/**
 * The public fingerprint of a private key. It names the key in messages and distinguishes connections with different keys.
 * @throws Error if the text is not a private key without a passphrase. The text itself is never shown.
 */
export function keyFingerprint({ privateKey }: SshKey): string {
  const reading = readPrivateKey(privateKey);
  if (reading.kind === 'key') return reading.fingerprint;
  throw new Error(`SSH private key: it is ${reading.what}; give an OpenSSH or PEM private key without a passphrase`);
}

export const keyReader: KeyReader = { privateKey: readPrivateKey, publicFingerprint: publicLineFingerprint };

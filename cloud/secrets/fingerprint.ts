import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify<string, string, number, Buffer>(scrypt);
const SHOWN_BYTES = 5;

/**
 * For a private SSH key, its public fingerprint as `ssh-keygen -l` shows it. For any other value, 10 hexadecimal digits of a hash
 * that takes about 50 ms, so that a user who may list secrets but not read them cannot guess passwords from it.
 * @param name salts the hash: one value under two names has two fingerprints
 */
export async function secretFingerprint(name: string, value: string): Promise<string> {
  // ssh2 is slow to load, so it is loaded only for text that looks like a private key.
  if (value.includes('PRIVATE KEY-----')) {
    const { readPrivateKey } = await import('../hosts/private-key.js');
    const key = readPrivateKey(value);
    if (key.kind === 'key') return key.fingerprint;
  }
  return (await derive(value, `jobctl secret ${name}`, SHOWN_BYTES)).toString('hex');
}

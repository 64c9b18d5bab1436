import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify<string, string, number, Buffer>(scrypt);
const SHOWN_BYTES = 5;

/**
 * Of a private SSH key: its public fingerprint, as `ssh-keygen -l` shows it. Of anything else 10 hexadecimal digits of a hash
 * that takes some 50 ms: who may list secrets and not read them cannot try out the passwords that people choose.
 * @param name salts the hash: one value under two names has two fingerprints
 */
export async function secretFingerprint(name: string, value: string): Promise<string> {
  // Only what looks like one: ssh2 is a heavy thing to load.
  if (value.includes('PRIVATE KEY-----')) {
    const { readPrivateKey } = await import('../hosts/private-key.js');
    const key = readPrivateKey(value);
    if (key.kind === 'key') return key.fingerprint;
  }
  return (await derive(value, `jobctl secret ${name}`, SHOWN_BYTES)).toString('hex');
}

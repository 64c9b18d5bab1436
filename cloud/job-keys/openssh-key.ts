import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';

/** DER of a PKCS #8 Ed25519 private key up to its 32 bytes of seed (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;
const TYPE = 'ssh-ed25519';
/** Block size without a cipher: the private part is padded to a multiple of it (OpenSSH's PROTOCOL.key). */
const BLOCK_BYTES = 8;
const LINE = 70;

/**
 * Makes the Ed25519 key pair of a seed in OpenSSH's own formats, the only Ed25519 formats that both ssh2 and OpenSSH 9 read. The
 * same seed gives the same text.
 * @param seed 32 bytes
 */
export function ed25519KeyPair(seed: Buffer): { readonly privateKey: string; readonly publicKey: string } {
  if (seed.length !== SEED_BYTES) throw new RangeError(`an Ed25519 seed has ${SEED_BYTES} bytes, not ${seed.length}`);
  const der = Buffer.concat([PKCS8_PREFIX, seed]);
  const { x = '' } = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({
    format: 'jwk',
  });
  const point = Buffer.from(x, 'base64url');
  const wire = Buffer.concat([text(TYPE), text(point)]);
  return { privateKey: privateText(seed, point, wire), publicKey: `${TYPE} ${wire.toString('base64')}` };
}

/** `openssh-key-v1`: no cipher, no KDF, one key. */
function privateText(seed: Buffer, point: Buffer, wire: Buffer): string {
  // Any number, stored twice: equal copies show that the text was decrypted well. A hash of the public key makes it reproducible.
  const check = createHash('sha256').update(wire).digest().subarray(0, 4);
  const pair = [text(TYPE), text(point), text(Buffer.concat([seed, point])), text('')];
  const inner = Buffer.concat([check, check, ...pair]);
  const missing = (BLOCK_BYTES - (inner.length % BLOCK_BYTES)) % BLOCK_BYTES;
  const padding = Buffer.from(Array.from({ length: missing }, (_, at) => at + 1));
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...[text('none'), text('none'), text(''), uint32(1), text(wire), text(Buffer.concat([inner, padding]))],
  ]).toString('base64');
  const lines = body.match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A `string` of RFC 4251: its length, and its bytes. */
function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

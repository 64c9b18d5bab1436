import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** A mistake in the configuration of a signing or verifying key: place and remedy. The message never contains a private key. */
export class TrustKeyError extends Error {
  override readonly name = 'TrustKeyError';
}

const MAKE_ONE = 'make a pair: jobctl serve new-key --file FILE';

/** @param pem PKCS #8 @param place for messages @throws TrustKeyError */
export function readSigningKey(pem: string, place: string): KeyObject {
  return ed25519(() => createPrivateKey(pem), `${place}: holds no private key (PEM)`, place);
}

/** @param pem SPKI; a private key is refused: a worker has no use for it @throws TrustKeyError */
export function readVerifyingKey(pem: string, place: string): KeyObject {
  if (/PRIVATE KEY/.test(pem))
    throw new TrustKeyError(`${place}: holds a private key, and a worker gets the public half alone\n  ${MAKE_ONE}`);
  return ed25519(() => createPublicKey(pem), `${place}: holds no public key (PEM)`, place);
}

function ed25519(read: () => KeyObject, otherwise: string, place: string): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch {
    throw new TrustKeyError(`${otherwise}\n  ${MAKE_ONE}`);
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new TrustKeyError(
    `${place}: is a key of type ${key.asymmetricKeyType ?? 'secret'}, wanted ed25519\n  ${MAKE_ONE}`,
  );
}

/** 86 characters of base64url. */
export const signText = (text: string, key: KeyObject): string =>
  sign(null, Buffer.from(text), key).toString('base64url');

export const isSignedBy = (text: string, signature: string, key: KeyObject): boolean =>
  verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'));

/** 64 hex digits. */
export const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

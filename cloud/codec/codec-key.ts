import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/** A key of the payload codec. Its id is readable in every payload that it encrypted; it says nothing about the key. */
export interface CodecKey {
  readonly id: string;
  /** 256 bits. A KeyObject, so that no log and no JSON can hold the bytes. */
  readonly secret: KeyObject;
}

/** What is wrong with the codec's configuration: where, which value, what to do. Never holds a key. */
export class CodecKeyError extends Error {
  override readonly name = 'CodecKeyError';
}

const KEY_BYTES = 32;
export const CODEC_KEY_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
export const CODEC_KEY_ID_RULE = 'a key id: letters, digits, ., _ and -, 63 at most';
const MAKE_ONE = 'make one: jobctl codec new-key --file FILE';

/**
 * Reads `ID:BASE64`, one line, as `newCodecKey` writes it.
 * @param place where the text is from, for messages; the text itself is a secret and in none of them
 * @throws CodecKeyError
 */
export function parseCodecKey(text: string, place: string): CodecKey {
  const [id = '', base64 = '', ...rest] = text.trim().split(':');
  if (base64 === '' || rest.length > 0 || !CODEC_KEY_ID.test(id)) {
    throw new CodecKeyError(`${place}: holds no codec key: wanted one line, ID:BASE64\n  ${MAKE_ONE}`);
  }
  const bytes = Buffer.from(base64, 'base64');
  // Node.js passes over what is no base64: written back it must be the same, but for the padding.
  const isBase64 = bytes.toString('base64').replace(/=+$/, '') === base64.replace(/=+$/, '');
  if (!isBase64 || bytes.length !== KEY_BYTES) {
    const what = isBase64 ? `${bytes.length} bytes` : 'no base64';
    throw new CodecKeyError(`${place}: key '${id}' is ${what}: wanted ${KEY_BYTES} bytes in base64\n  ${MAKE_ONE}`);
  }
  return { id, secret: createSecretKey(bytes) };
}

/** A new random key as `parseCodecKey` reads it. Without an id: the day and six random hexadecimal digits. */
export function newCodecKey(now: Date, id: string = `${now.toISOString().slice(0, 10)}-${random(3)}`): string {
  if (!CODEC_KEY_ID.test(id)) throw new CodecKeyError(`'${id}' is not ${CODEC_KEY_ID_RULE}`);
  return `${id}:${randomBytes(KEY_BYTES).toString('base64')}`;
}

const random = (bytes: number): string => randomBytes(bytes).toString('hex');

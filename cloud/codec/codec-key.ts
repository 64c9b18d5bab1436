import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/** A key of the payload codec. Its id is readable in every payload that it encrypted, so it must reveal nothing about the key. */
export interface CodecKey {
  readonly id: string;
  /** 256 bits. A KeyObject, so that no log and no JSON can hold the bytes. */
  readonly secret: KeyObject;
}

/** A mistake in the codec's configuration: the place, the value and the remedy. The message never contains a key. */
export class CodecKeyError extends Error {
  override readonly name = 'CodecKeyError';
}

const KEY_BYTES = 32;
export const CODEC_KEY_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
export const CODEC_KEY_ID_RULE = 'a key id: letters, digits, ., _ and -, 63 at most';
const MAKE_ONE = 'make one: jobctl codec new-key --file FILE';

/**
 * Parses one line `ID:BASE64`, the form that `newCodecKey` returns.
 * @param place where the text comes from. Messages name it, and never the text, which is a secret.
 * @throws CodecKeyError
 */
export function parseCodecKey(text: string, place: string): CodecKey {
  const [id = '', base64 = '', ...rest] = text.trim().split(':');
  if (base64 === '' || rest.length > 0 || !CODEC_KEY_ID.test(id)) {
    throw new CodecKeyError(`${place}: holds no codec key: wanted one line, ID:BASE64\n  ${MAKE_ONE}`);
  }
  const bytes = Buffer.from(base64, 'base64');
  // Node.js skips characters that are not base64. So the bytes, encoded again, must equal the text except for padding.
  const isBase64 = bytes.toString('base64').replace(/=+$/, '') === base64.replace(/=+$/, '');
  if (!isBase64 || bytes.length !== KEY_BYTES) {
    const what = isBase64 ? `${bytes.length} bytes` : 'no base64';
    throw new CodecKeyError(`${place}: key '${id}' is ${what}: wanted ${KEY_BYTES} bytes in base64\n  ${MAKE_ONE}`);
  }
  return { id, secret: createSecretKey(bytes) };
}

/** A new random key in the form that `parseCodecKey` reads. The default id is the date and six random hexadecimal digits. */
export function newCodecKey(now: Date, id: string = `${now.toISOString().slice(0, 10)}-${random(3)}`): string {
  if (!CODEC_KEY_ID.test(id)) throw new CodecKeyError(`'${id}' is not ${CODEC_KEY_ID_RULE}`);
  return `${id}:${randomBytes(KEY_BYTES).toString('base64')}`;
}

const random = (bytes: number): string => randomBytes(bytes).toString('hex');

/** References to the keys of the codec: file:///PATH, env:NAME or projects/P/secrets/S/versions/V. */
export interface CodecReferences {
  /** Encrypts every payload that is sent, and decrypts. Absent: payloads are sent plain. */
  readonly key?: string | undefined;
  /** Keys that only decrypt: older keys, and during a rotation the next one. */
  readonly decodeKeys?: readonly string[] | undefined;
}

/** Splits the comma-separated references of a flag or environment variable. */
export function splitReferences(text: string): string[] {
  return text.split(',').flatMap((each) => each.trim() || []);
}

/** The only property of the JSON object that replaces a payload whose key is missing. */
const MARK = 'jobctl.encryptedWith';

/** The object that replaces a payload whose key is missing, if the codec marks such payloads. */
export const markOf = (keyId: string): Record<string, string> => ({ [MARK]: keyId });

/** The id of the missing key if `value` is such a mark, else undefined. */
export function missingKeyOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !(MARK in value)) return undefined;
  return String(value[MARK]);
}

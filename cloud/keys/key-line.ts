import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/** A key of 256 bits that configuration names by a reference. Its id is public, so the id must reveal nothing about the key. */
export interface NamedKey {
  readonly id: string;
  /** A KeyObject, so that no log and no JSON can hold the bytes. */
  readonly secret: KeyObject;
}

/** A mistake in a reference to a key, or in the key's text: place, value and remedy. The message never contains a key. */
export class KeyFailure extends Error {}

/** The purpose of a key, in the words of messages. */
export interface KeyUse {
  /** `codec key` */
  readonly noun: string;
  /** The value of a variable that holds it. Absent: a key line. */
  readonly holds?: string;
  /** Tells the user how to make such a key. */
  readonly makeOne: string;
  readonly Failure: new (message: string) => KeyFailure;
}

const KEY_BYTES = 32;
const KEY_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const KEY_ID_RULE = 'a key id: letters, digits, ., _ and -, 63 at most';

/**
 * Parses one line `ID:BASE64`, the form that `newKeyLine` returns.
 * @param place the source of the text. Messages name it, and never the text, which is a secret.
 * @throws use.Failure
 */
export function parseKeyLine(text: string, place: string, { noun, makeOne, Failure }: KeyUse): NamedKey {
  const [id = '', base64 = '', ...rest] = text.trim().split(':');
  if (base64 === '' || rest.length > 0 || !KEY_ID.test(id)) {
    throw new Failure(`${place}: holds no ${noun}: wanted one line, ID:BASE64\n  ${makeOne}`);
  }
  const bytes = Buffer.from(base64, 'base64');
  // Node.js skips characters that are not base64. So the bytes, encoded again, must equal the text except for padding.
  const isBase64 = bytes.toString('base64').replace(/(?<!=)=+$/, '') === base64.replace(/(?<!=)=+$/, '');
  if (!isBase64 || bytes.length !== KEY_BYTES) {
    const what = isBase64 ? `${bytes.length} bytes` : 'no base64';
    throw new Failure(`${place}: key '${id}' is ${what}: wanted ${KEY_BYTES} bytes in base64\n  ${makeOne}`);
  }
  return { id, secret: createSecretKey(bytes) };
}

/** A new random key in the form that `parseKeyLine` reads. The default id is the date and six random hexadecimal digits. */
export function newKeyLine(
  now: Date,
  id: string = `${now.toISOString().slice(0, 10)}-${random(3)}`,
  { Failure }: Pick<KeyUse, 'Failure'> = { Failure: KeyFailure },
): string {
  if (!KEY_ID.test(id)) throw new Failure(`'${id}' is not ${KEY_ID_RULE}`);
  return `${id}:${randomBytes(KEY_BYTES).toString('base64')}`;
}

const random = (bytes: number): string => randomBytes(bytes).toString('hex');

/** Splits the comma-separated references of a flag or environment variable. */
export function splitReferences(text: string): string[] {
  return text.split(',').flatMap((each) => each.trim() || []);
}

/** @throws use.Failure if two different keys have one id: a key is known by its id alone */
export function refuseTwins(keys: readonly NamedKey[], references: readonly string[], { Failure }: KeyUse): void {
  keys.forEach(({ id, secret }, index) => {
    const twin = keys.findIndex((other) => other.id === id && !other.secret.equals(secret));
    if (twin > index)
      throw new Failure(
        `${references[index]} and ${references[twin]}: two different keys of the id '${id}'; a key is known by its id alone`,
      );
  });
}

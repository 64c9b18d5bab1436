import { KeyFailure, type KeyUse, type NamedKey, newKeyLine, parseKeyLine } from '../keys/key-reference.js';

export { splitReferences } from '../keys/key-reference.js';

/** A key of the payload codec. Its id stands in plain text in every payload that the key has encrypted. */
export type CodecKey = NamedKey;

/** A mistake in the codec's configuration: the place, the value and the remedy. The message never contains a key. */
export class CodecKeyError extends KeyFailure {
  override readonly name = 'CodecKeyError';
}

export const CODEC_KEY: KeyUse = {
  noun: 'codec key',
  makeOne: 'make one: jobctl codec new-key --file FILE',
  Failure: CodecKeyError,
};

/** Like `parseKeyLine`. @throws CodecKeyError */
export const parseCodecKey = (text: string, place: string): CodecKey => parseKeyLine(text, place, CODEC_KEY);

/** Like `newKeyLine`. @throws CodecKeyError if the id is invalid */
export const newCodecKey = (now: Date, id?: string): string => newKeyLine(now, id, CODEC_KEY);

/** References to the keys of the codec: file:///PATH, env:NAME or projects/P/secrets/S/versions/V. */
export interface CodecReferences {
  /** Encrypts every payload that is sent, and decrypts. Absent: payloads are sent plain. */
  readonly key?: string | undefined;
  /** Keys that only decrypt: older keys, and during a rotation the next one. */
  readonly decodeKeys?: readonly string[] | undefined;
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

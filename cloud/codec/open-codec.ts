import { CodecKeyError } from './codec-key.js';
import type { CodecReferences } from './codec-references.js';
import { type KeyPlaces, loadCodecKey } from './key-reference.js';
import { AesGcmPayloadCodec, type CodecOptions } from './payload-codec.js';

/** The codec of these keys. Without any it still says clearly what it cannot read. @throws CodecKeyError */
export async function openCodec(
  { key, decodeKeys = [] }: CodecReferences,
  options: Pick<CodecOptions, 'onUnknownKey'> & Partial<KeyPlaces>,
): Promise<AesGcmPayloadCodec> {
  const places: KeyPlaces = { environment: process.env, ...options };
  const references = [...(key === undefined ? [] : [key]), ...decodeKeys];
  const keys = await Promise.all(references.map((reference) => loadCodecKey(reference, places)));
  keys.forEach(({ id, secret }, index) => {
    const twin = keys.findIndex((other) => other.id === id && !other.secret.equals(secret));
    if (twin > index)
      throw new CodecKeyError(
        `${references[index]} and ${references[twin]}: two different keys of the id '${id}'; a key is known by its id alone`,
      );
  });
  const encrypting = key === undefined ? undefined : keys[0];
  return new AesGcmPayloadCodec({ key: encrypting, decodeKeys: keys, onUnknownKey: options.onUnknownKey });
}

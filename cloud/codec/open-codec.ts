import { type KeyPlaces, loadKey } from '../keys/key-reference.js';
import { refuseTwins } from '../keys/key-line.js';
import { CODEC_KEY, type CodecKey, type CodecReferences } from './codec-key.js';
import { AesGcmPayloadCodec, type CodecOptions } from './payload-codec.js';

/** Loads the keys and returns their codec. Without keys, the codec still reports which key an encrypted payload needs. @throws CodecKeyError */
export async function openCodec(
  { key, decodeKeys = [] }: CodecReferences,
  options: Pick<CodecOptions, 'onUnknownKey'> & Partial<KeyPlaces>,
): Promise<AesGcmPayloadCodec> {
  const places: KeyPlaces = { environment: process.env, ...options };
  const references = [...(key === undefined ? [] : [key]), ...decodeKeys];
  const keys = await Promise.all(references.map((reference) => loadCodecKey(reference, places)));
  refuseTwins(keys, references, CODEC_KEY);
  const encrypting = key === undefined ? undefined : keys[0];
  return new AesGcmPayloadCodec({ key: encrypting, decodeKeys: keys, onUnknownKey: options.onUnknownKey });
}

/** Like `loadKey`. @throws CodecKeyError */
export const loadCodecKey = (reference: string, places: KeyPlaces): Promise<CodecKey> =>
  loadKey(reference, places, CODEC_KEY);

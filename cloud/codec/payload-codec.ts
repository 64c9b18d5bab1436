import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { type KeyPlaces, loadKey, refuseTwins } from '../keys/key-reference.js';
import { type CodecKey, markOf, CODEC_KEY, type CodecReferences } from './codec-key.js';

/** Value of the metadata `encoding` of an encrypted payload, the same as in Temporal's samples. */
export const ENCRYPTED_ENCODING = 'binary/encrypted';
/** Metadata that holds the id of the key. */
export const KEY_ID_METADATA = 'encryption-key-id';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const { Payload: PayloadMessage, Payloads } = proto.temporal.api.common.v1;

/** A payload is encrypted with a key that this process does not have. */
export class CodecKeyUnknown extends Error {
  override readonly name = 'CodecKeyUnknown';
  readonly keyId: string;

  constructor(keyId: string, known: readonly string[]) {
    const has = known.length === 0 ? 'no codec key is configured' : `the keys here are ${known.join(', ')}`;
    super(`a payload is encrypted with key '${keyId}', and ${has}: give it as codec.decodeKeys (docs/encryption.md)`);
    this.keyId = keyId;
  }
}

/** The authentication tag does not match: the payload was changed, or encrypted with another key of the same id. */
export class PayloadTampered extends Error {
  override readonly name = 'PayloadTampered';
}

export interface CodecOptions {
  /** Encrypts and decrypts. Absent: payloads are sent plain. */
  readonly key?: CodecKey | undefined;
  /** Keys that only decrypt: older keys, and during a rotation the next one. */
  readonly decodeKeys?: readonly CodecKey[];
  /** `mark` is for showing jobs to people. A worker must fail instead of running on data that it cannot read. */
  readonly onUnknownKey: 'fail' | 'mark';
}

/**
 * Temporal's payload codec with AES-256-GCM (docs/adr/0009, docs/encryption.md). It encrypts each payload and its metadata
 * under a random nonce, and authenticates the encoding and the key id. Plain payloads are decoded unchanged, so jobs that
 * started before encryption was switched on continue.
 */
export class AesGcmPayloadCodec implements PayloadCodec {
  readonly #key: CodecKey | undefined;
  readonly #keys: ReadonlyMap<string, CodecKey>;
  readonly #onUnknownKey: CodecOptions['onUnknownKey'];

  constructor({ key, decodeKeys = [], onUnknownKey }: CodecOptions) {
    this.#key = key;
    this.#keys = new Map([...decodeKeys, ...(key ? [key] : [])].map((each) => [each.id, each]));
    this.#onUnknownKey = onUnknownKey;
  }

  get isEncrypting(): boolean {
    return this.#key !== undefined;
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    const key = this.#key;
    return key === undefined ? payloads : payloads.map((payload) => encrypt(payload, key));
  }

  /** @throws PayloadTampered, and CodecKeyUnknown unless `onUnknownKey` is `mark` */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => (isEncrypted(payload) ? this.#decrypt(payload) : payload));
  }

  #decrypt(payload: Payload): Payload {
    const keyId = textOf(payload.metadata?.[KEY_ID_METADATA]);
    const key = this.#keys.get(keyId);
    if (key !== undefined) return decrypt(payload, key);
    if (this.#onUnknownKey === 'mark') return jsonPayload(markOf(keyId));
    throw new CodecKeyUnknown(keyId, [...this.#keys.keys()]);
  }
}

export function isEncrypted({ metadata }: Payload): boolean {
  return textOf(metadata?.['encoding']) === ENCRYPTED_ENCODING;
}

function encrypt(payload: Payload, { id, secret }: CodecKey): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, secret, nonce, { authTagLength: TAG_BYTES }).setAAD(authenticated(id));
  const sealed = [cipher.update(PayloadMessage.encode(payload).finish()), cipher.final()];
  return {
    metadata: { encoding: Buffer.from(ENCRYPTED_ENCODING), [KEY_ID_METADATA]: Buffer.from(id) },
    data: Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]),
  };
}

function decrypt({ data }: Payload, { id, secret }: CodecKey): Payload {
  const bytes = Buffer.from(data ?? []);
  if (bytes.length < NONCE_BYTES + TAG_BYTES) throw tampered(id, `it has ${bytes.length} bytes`);
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, secret, nonce, { authTagLength: TAG_BYTES })
    .setAAD(authenticated(id))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const plain = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
    return PayloadMessage.decode(Buffer.concat(plain));
  } catch {
    throw tampered(id, 'its authentication tag does not match');
  }
}

/** The additional authenticated data: prevents a swap of encoding or key id. Key ids contain no colon. */
function authenticated(keyId: string): Buffer {
  return Buffer.from(`${ENCRYPTED_ENCODING}:${keyId}`);
}

function tampered(keyId: string, why: string): PayloadTampered {
  return new PayloadTampered(
    `a payload of key '${keyId}' cannot be decrypted: ${why}. It was changed since it was written, or was written with another key of that id`,
  );
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return Buffer.from(bytes ?? []).toString('utf8');
}

function jsonPayload(value: unknown): Payload {
  return { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) };
}

/**
 * Parses the body of a codec server's request: `{"payloads": [{"metadata": {"k": BASE64}, "data": BASE64}]}`.
 * @throws Error if the text does not have this form
 */
export function payloadsFromJson(text: string): Payload[] {
  const tree = JSON.parse(text) as { payloads?: unknown } | null;
  if (!Array.isArray(tree?.payloads)) throw new TypeError('payloads is no list');
  return Payloads.fromObject({ payloads: tree.payloads }).payloads;
}

/** The same form, for the response. It omits unset fields, because older readers refuse fields that they do not know. */
export function payloadsToJson(payloads: Payload[]): string {
  const trees = payloads.map((payload) => PayloadMessage.toObject(PayloadMessage.create(payload), { bytes: String }));
  return JSON.stringify({ payloads: trees });
}

/**
 * Loads the keys and returns their codec. Without keys, the codec still reports which key an encrypted payload needs.
 * @throws CodecKeyError
 */
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

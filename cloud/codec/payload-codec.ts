import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { CodecKey } from './codec-key.js';
import { markOf } from './encryption-mark.js';

/** Value of the metadata key `encoding` of an encrypted payload, as in Temporal's own samples. */
export const ENCRYPTED_ENCODING = 'binary/encrypted';
/** Metadata key that names the key. */
export const KEY_ID_METADATA = 'encryption-key-id';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const { Payload: PayloadMessage } = proto.temporal.api.common.v1;

/** An encrypted payload came, and this process does not have the key of that id. */
export class CodecKeyUnknown extends Error {
  override readonly name = 'CodecKeyUnknown';
  readonly keyId: string;

  constructor(keyId: string, known: readonly string[]) {
    const has = known.length === 0 ? 'no codec key is configured' : `the keys here are ${known.join(', ')}`;
    super(`a payload is encrypted with key '${keyId}', and ${has}: give it as codec.decodeKeys (docs/encryption.md)`);
    this.keyId = keyId;
  }
}

/** The bytes are not what the key's holder wrote: changed since, or another key went by the same id. */
export class PayloadTampered extends Error {
  override readonly name = 'PayloadTampered';
}

export interface CodecOptions {
  /** Encrypts; absent: what is sent stays plain. */
  readonly key?: CodecKey | undefined;
  /** Only decrypt: keys of before, or of soon. */
  readonly decodeKeys?: readonly CodecKey[];
  /** `mark`: for people who look; a worker must not go on with what it cannot read. */
  readonly onUnknownKey: 'fail' | 'mark';
}

/**
 * Temporal's payload codec with AES-256-GCM (docs/adr/0009, docs/encryption.md): each payload is encrypted whole, its own
 * metadata too, under a random nonce; encoding and key id are authenticated beside it. What comes plain stays as it is, so
 * that jobs begun before encryption was on go on.
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

  /** @throws CodecKeyUnknown unless it marks; PayloadTampered */
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

/** The additional data under the tag: neither encoding nor key id can be exchanged. Key ids hold no colon. */
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

import {
  createPrivateKey,
  createPublicKey,
  createSign,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto';

/** The public keys in the form that a Temporal server reads (RFC 7517). */
export interface KeySet {
  readonly keys: readonly object[];
}

/** Signs API keys. The server's claim mapper finds the public key by `id`. */
export interface SigningKey {
  readonly id: string;
  readonly key: KeyObject;
}

export interface ApiKeyClaims {
  /** Shown in the server's log. */
  readonly subject: string;
  /** `NAMESPACE:ROLE` with read, write or admin; `temporal-system:admin` for everything. */
  readonly permissions: readonly string[];
  /** Epoch ms. */
  readonly expiresAt: number;
}

/** ES256, the smaller of the two algorithms that the server takes. */
export const newSigningKey = (): SigningKey => ({
  id: randomUUID(),
  key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
});

export const keySetOf = (keys: readonly SigningKey[]): KeySet => ({
  keys: keys.map(({ id, key }) => {
    const publicKey = createPublicKey(key).export({ format: 'jwk' });
    return { ...publicKey, kid: id, use: 'sig', alg: 'ES256' };
  }),
});

/** A JWT in the form that the server's default claim mapper reads (docs.temporal.io, "Authorization plugin", 2026-11). */
export function signApiKey({ id, key }: SigningKey, { subject, permissions, expiresAt }: ApiKeyClaims): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const head = part({ alg: 'ES256', typ: 'JWT', kid: id });
  const body = part({ sub: subject, permissions, exp: Math.floor(expiresAt / 1_000) });
  const signed = createSign('SHA256').update(`${head}.${body}`);
  return `${head}.${body}.${signed.sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url')}`;
}

/** The end of an API key that is a JWT, in epoch ms; its signature is not verified. Undefined for other API keys. */
export function endOfApiKey(apiKey: string): number | undefined {
  try {
    const body = Buffer.from(apiKey.split('.')[1] ?? '', 'base64url').toString('utf8');
    const { exp } = JSON.parse(body) as { readonly exp?: unknown };
    return typeof exp === 'number' ? exp * 1_000 : undefined;
  } catch {
    return undefined;
  }
}

/** The private keys as text. */
export const formatSigningKeys = (keys: readonly SigningKey[]): string =>
  `${JSON.stringify({ keys: keys.map(({ id, key }) => ({ ...key.export({ format: 'jwk' }), kid: id })) }, null, 2)}\n`;

/** @throws Error if `formatSigningKeys` did not make the text */
export function parseSigningKeys(text: string): readonly SigningKey[] {
  const { keys } = JSON.parse(text) as { readonly keys: readonly (JsonWebKey & { readonly kid: string })[] };
  return keys.map(({ kid, ...jwk }) => ({ id: kid, key: createPrivateKey({ format: 'jwk', key: jwk }) }));
}

type JsonWebKey = Extract<
  Parameters<typeof createPrivateKey>[0],
  { readonly format?: unknown; readonly key: unknown }
>['key'] &
  object;

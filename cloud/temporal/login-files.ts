import { readFileSync } from 'node:fs';
import {
  createPrivateKey,
  createPublicKey,
  createSign,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto';

/** The files that hold the login for a Temporal server. */
export interface LoginFiles {
  /** PEM file of the authority of the server's certificate. Absent: the authorities that this computer trusts. */
  readonly tlsCaFile?: string | undefined;
  /** The name in that certificate, if it is not the host. */
  readonly tlsServerName?: string | undefined;
  readonly apiKeyFile?: string | undefined;
  /** For use without certificate files. Absent: TLS if there is an API key. */
  readonly tls?: boolean | undefined;
}

/** The form that Temporal's clients take, native ones too. */
export interface TemporalLogin {
  readonly tls?: boolean | { readonly serverRootCACertificate?: Buffer; readonly serverNameOverride?: string };
  readonly apiKey?: string;
}

/** Reads the files at each call, because a restarted server has new ones. @throws Error from the file system */
export function readLogin({ tlsCaFile, tlsServerName, apiKeyFile, tls }: LoginFiles): TemporalLogin {
  const files = {
    ...(tlsCaFile !== undefined && { serverRootCACertificate: readFileSync(tlsCaFile) }),
    ...(tlsServerName !== undefined && { serverNameOverride: tlsServerName }),
  };
  return {
    ...(Object.keys(files).length > 0 ? { tls: files } : tls !== undefined && { tls }),
    ...(apiKeyFile !== undefined && { apiKey: readFileSync(apiKeyFile, 'utf8').trim() }),
  };
}

const DAY_MS = 86_400_000;
const LOOK_MS = 10_000;
/** An API key that ends within this time causes one warning a day. */
const WARNED_MS = 14 * DAY_MS;

interface ApiKeyFileOptions {
  /** Called with the new key if the file's content has changed. */
  readonly onChange?: (apiKey: string) => void;
  readonly warn: (text: string) => void;
}

/** An API key in a file that is read again while the process runs, so that a renewed key takes effect without a restart. */
export class ApiKeyFile {
  readonly #path: string;
  readonly #options: ApiKeyFileOptions;
  readonly #timer: NodeJS.Timeout;
  #current: string;
  #warnedAt = 0;

  private constructor(path: string, options: ApiKeyFileOptions) {
    this.#path = path;
    this.#options = options;
    this.#current = read(path);
    this.#warnOfEnd();
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** @throws Error from the file system */
  static follow(path: string, options: ApiKeyFileOptions): ApiKeyFile {
    return new ApiKeyFile(path, options);
  }

  get current(): string {
    return this.#current;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** If the file cannot be read for a moment, the known key stays in use. */
  #look(): void {
    try {
      const found = read(this.#path);
      if (found !== '' && found !== this.#current) {
        this.#current = found;
        this.#warnedAt = 0;
        this.#options.onChange?.(found);
      }
    } catch (error) {
      this.#warnDaily(`the API key cannot be read again: ${(error as Error).message}`);
    }
    this.#warnOfEnd();
  }

  #warnOfEnd(): void {
    const end = endOfApiKey(this.#current);
    if (end === undefined || end - Date.now() > WARNED_MS) return;
    this.#warnDaily(
      `the API key in ${this.#path} ends at ${new Date(end).toISOString()}: put a new one there (jobctl setup api-keys)`,
    );
  }

  #warnDaily(text: string): void {
    if (Date.now() - this.#warnedAt < DAY_MS) return;
    this.#warnedAt = Date.now();
    this.#options.warn(text);
  }
}

const read = (path: string): string => readFileSync(path, 'utf8').trim();

/** The public keys in the form that a Temporal server reads (RFC 7517). */
export interface KeySet {
  readonly keys: readonly object[];
}

/** Signs API keys. The server's claim mapper finds the public key by `id`. */
export interface SigningKey {
  readonly id: string;
  readonly key: KeyObject;
}

interface ApiKeyClaims {
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
function endOfApiKey(apiKey: string): number | undefined {
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

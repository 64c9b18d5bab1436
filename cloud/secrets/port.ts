import type { EpochMs } from '../../domain/units.js';

/** What may be known of a secret by whoever may not know its value. */
export interface StoredSecret {
  readonly name: string;
  /** Tells whether two values are the same, and nothing else of them (fingerprint.ts). */
  readonly fingerprint: string;
  /** When this value was put. */
  readonly putAt: EpochMs;
}

/**
 * Where an installation keeps secrets: the worker reads them, `jobctl secret` writes them. A value never leaves `read` but
 * to the host that needs it. Rejects with `SecretsRefused` (rights, a store that is not there) or `SecretsUnavailable` (repeat).
 */
export interface SecretStore {
  /** For people: `folder /home/me/.local/state/jobctl/secrets`. */
  readonly place: string;
  /** The value as it was put, byte for byte; undefined: there is no such secret. */
  read(name: string): Promise<string | undefined>;
  /** By name. */
  list(): Promise<readonly StoredSecret[]>;
  /** Replaces what was there. The same value again changes nothing. */
  put(name: string, value: string): Promise<StoredSecret & { readonly isChanged: boolean }>;
  /** False: it was not there. */
  remove(name: string): Promise<boolean>;
}

export class SecretsRefused extends Error {
  override readonly name = 'SecretsRefused';
}
export class SecretsUnavailable extends Error {
  override readonly name = 'SecretsUnavailable';
}

/** The most that Secret Manager keeps of one. */
export const MOST_SECRET_BYTES = 65_536;

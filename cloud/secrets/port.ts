import type { EpochMs } from '../../domain/units.js';

/** The facts about a secret that a user may see without a right to its value. */
export interface StoredSecret {
  readonly name: string;
  /** Two equal fingerprints mean two equal values; they reveal nothing else (`secretFingerprint`). */
  readonly fingerprint: string;
  /** The time of the last `put` that stored this value. */
  readonly putAt: EpochMs;
}

/**
 * Keeps the secrets of an installation: the worker reads them, `jobctl secret` writes them. A value that `read` returns goes only
 * to the host that needs it. Rejects with `SecretsRefused` (no rights, or no such store) or `SecretsUnavailable` (repeat).
 */
export interface SecretStore {
  /** For people: `folder /home/me/.local/state/jobctl/secrets`. */
  readonly place: string;
  /** The value byte for byte as it was put, or undefined if there is no such secret. */
  read(name: string): Promise<string | undefined>;
  /** Sorted by name. */
  list(): Promise<readonly StoredSecret[]>;
  /** Replaces the old value. Putting the same value again changes nothing. */
  put(name: string, value: string): Promise<StoredSecret & { readonly isChanged: boolean }>;
  /** Returns false if there was no such secret. */
  remove(name: string): Promise<boolean>;
}

export class SecretsRefused extends Error {
  override readonly name = 'SecretsRefused';
}
export class SecretsUnavailable extends Error {
  override readonly name = 'SecretsUnavailable';
}

/** Secret Manager's limit for one value. */
export const MOST_SECRET_BYTES = 65_536;

import { dirname, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KeyFailure, type KeyUse, refuseTwins } from '../keys/key-line.js';
import { type KeyPlaces, loadKey, pathOfReference } from '../keys/key-reference.js';
import { jobKeysOf } from './job-keys.js';
import type { JobKeys } from './port.js';

/** A mistake in the configuration of job keys: the place, the value and the remedy. The message never contains a secret. */
export class JobKeySecretError extends KeyFailure {
  override readonly name = 'JobKeySecretError';
}

export const JOB_KEY_SECRET: KeyUse = {
  noun: 'job-key secret',
  makeOne: 'make one: jobctl setup job-keys --file FILE',
  Failure: JobKeySecretError,
};

/** References to the secrets that job keys are made from: file:///PATH, env:NAME or projects/P/secrets/S/versions/V. */
export interface JobKeyReferences {
  /** Makes the keys of new jobs. Absent: new jobs get the installation's key. */
  readonly current?: string | undefined;
  /** Older secrets, for jobs that were accepted with them, and during a rotation the next one. */
  readonly former?: readonly string[] | undefined;
}

/** @throws JobKeySecretError */
export async function openJobKeys(
  { current, former = [] }: JobKeyReferences,
  places: KeyPlaces = { environment: process.env },
): Promise<JobKeys> {
  const references = [...(current === undefined ? [] : [current]), ...former];
  const secrets = await Promise.all(references.map((reference) => loadKey(reference, places, JOB_KEY_SECRET)));
  refuseTwins(secrets, references, JOB_KEY_SECRET);
  return current === undefined
    ? jobKeysOf({ former: secrets })
    : jobKeysOf({ current: secrets[0], former: secrets.slice(1) });
}

/**
 * A job can name every secret of the installation's secret store and print it, so that store is no place for a job-key secret.
 * @throws JobKeySecretError naming the reference
 */
export function refuseStoredSecrets({ current, former = [] }: JobKeyReferences, secretStore: string | undefined): void {
  for (const reference of [...(current === undefined ? [] : [current]), ...former]) {
    if (!isInSecretStore(reference, secretStore)) continue;
    throw new JobKeySecretError(
      `${reference}: is in the secret store, and jobs can read every secret of that\n` +
        '  keep it elsewhere: in a file outside of that folder, or under a name of Secret Manager without jobctl-',
    );
  }
}

/** Returns whether a reference leads into the secret store of the installation, which jobs can read. */
export function isInSecretStore(reference: string, secretStore: string | undefined): boolean {
  if (!reference.startsWith('file:')) return /^projects\/[^/]+\/secrets\/jobctl-/.test(reference);
  if (secretStore?.startsWith('file:') !== true) return false;
  const folder = resolve(fileURLToPath(secretStore));
  return `${dirname(resolve(pathOfReference(reference, JOB_KEY_SECRET)))}${sep}`.startsWith(`${folder}${sep}`);
}

import { hkdfSync } from 'node:crypto';
import type { NamedKey } from '../keys/key-line.js';
import { ed25519KeyPair } from './openssh-key.js';
import type { JobKey, JobKeys, KeyedJob } from './port.js';

/** Separates these keys from those of any later scheme. */
const PURPOSE = 'jobctl job key 1';
const SEED_BYTES = 32;

/**
 * Derives the key of a job. Its Ed25519 seed is HKDF-SHA256 (RFC 5869) of the secret without a salt; the info is `PURPOSE`, the
 * job's id and its first run id, with a NUL byte between each two. So the key is the same on every worker and after an adoption,
 * a reclaim, a retry or a reset, and need not be stored.
 */
export function deriveJobKey({ id: secretId, secret }: NamedKey, { id, run }: KeyedJob): JobKey {
  if (id === '' || run === '' || `${id}${run}`.includes('\0'))
    throw new RangeError(`the key of a job is made of its id and its first run id, got '${id}' and '${run}'`);
  const seed = Buffer.from(hkdfSync('sha256', secret, '', [PURPOSE, id, run].join('\0'), SEED_BYTES));
  return { ...ed25519KeyPair(seed), secretId };
}

/** @param secrets `current` makes the keys of new jobs, if any; `former` secrets are for jobs that were accepted with them */
export function jobKeysOf(secrets: {
  readonly current?: NamedKey | undefined;
  readonly former: readonly NamedKey[];
}): JobKeys {
  const { current, former } = secrets;
  const all = [...(current === undefined ? [] : [current]), ...former];
  return {
    secretIds: all.map(({ id }) => id),
    newest: (job) => current && deriveJobKey(current, job),
    find: (job, publicKey) => {
      const wanted = keyOfLine(publicKey);
      return all.map((secret) => deriveJobKey(secret, job)).find((key) => key.publicKey === wanted);
    },
  };
}

/** The type and the key of an OpenSSH line, without its comment. */
const keyOfLine = (line: string): string => line.trim().split(/\s+/).slice(0, 2).join(' ');

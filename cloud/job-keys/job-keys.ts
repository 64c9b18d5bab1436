import { hkdfSync } from 'node:crypto';
import type { NamedKey } from '../keys/key-line.js';
import { ed25519KeyPair } from './openssh-key.js';
import type { JobKey, JobKeys, KeyedJob } from './port.js';

/** Keeps keys of another form apart, should there ever be one. */
const PURPOSE = 'jobctl job key 1';
const SEED_BYTES = 32;

/**
 * The key of a job: an Ed25519 seed that is HKDF-SHA256 (RFC 5869) of the secret, without a salt, for `PURPOSE`, the job's id and
 * its first run id with a NUL byte between each two. So it is the same after an adoption, a reclaim, a retry and a reset, on
 * every worker, and nobody keeps it.
 */
export function deriveJobKey({ id: secretId, secret }: NamedKey, { id, run }: KeyedJob): JobKey {
  if (id === '' || run === '' || `${id}${run}`.includes('\0'))
    throw new RangeError(`the key of a job is made of its id and its first run id, got '${id}' and '${run}'`);
  const seed = Buffer.from(hkdfSync('sha256', secret, '', [PURPOSE, id, run].join('\0'), SEED_BYTES));
  return { ...ed25519KeyPair(seed), secretId };
}

/** @param secrets the one that new jobs get their keys from, if any, and those that only jobs from before need */
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

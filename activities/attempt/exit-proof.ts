import { createHmac } from 'node:crypto';
import type { HostTarget } from '../../cloud/hosts/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import type { Installation } from '../dependencies.js';
import { runIdOf } from './attempt-hosts.js';

/** Separates this use of a job's key from its other uses. */
const PURPOSE = 'jobctl exit record 1';

/** The proof that the record of a host must bear. Undefined: the job has no job key. */
export type ExitProofOf = (target: Pick<HostTarget, 'uid' | 'index'>) => string | undefined;

/**
 * Proofs that the exit records of an attempt's hosts must bear: HMAC-SHA256, by the job's own private key, of `PURPOSE`, run id,
 * node id and host with a NUL byte between each two; 64 hexadecimal digits. The host gets its proof with its run. Hosts of other
 * jobs may write into the same bucket, even under the record's name, but cannot make the proof (docs/adr/0091). The job's key is
 * made here, once for all hosts: it takes milliseconds.
 */
export function exitProofs(
  { jobKeys }: Pick<Installation, 'jobKeys'>,
  input: Pick<AttemptInput, 'job' | 'attempt' | 'settings'>,
): ExitProofOf {
  const key = jobKeys.find(input.job, input.settings.publicKey);
  if (key === undefined) return () => undefined;
  const run = runIdOf(input);
  return ({ uid, index }) =>
    createHmac('sha256', key.privateKey).update([PURPOSE, run, uid, index].join('\0')).digest('hex');
}

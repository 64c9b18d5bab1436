import type { JobSpec } from '../domain/job-spec.js';
import { namesOf } from '../domain/local-files.js';
import type { KeyPair } from '../domain/modules/module.js';
import { filesNotGiven } from '../domain/modules/set-up.js';
import type { SshIdentity } from '../domain/modules/ssh.js';
import { formatPath } from '../domain/problem.js';
import type { JobInput } from '../contract/job.js';
import { namedKeyPair, refuseInstallationKey, refuseOtherKey } from './connecting-key.js';
import type { Installation } from './dependencies.js';
import { invalidJob } from './failures.js';

/**
 * Checks that the set-up has all that it needs from the submitter: keys that this worker can read, and the content of every file
 * that the job names. Runs when the job is accepted, before it asks for slices.
 * @param input hashes of the submitted files, and fingerprints of keys that are files of the submitter
 * @throws InvalidJob naming the first one that is missing
 */
export async function checkSetUpInputs(
  installation: Installation,
  spec: JobSpec,
  input: Pick<JobInput, 'files' | 'identityKeys'>,
): Promise<void> {
  await submittersKeys(installation, spec, input.identityKeys);
  // A service's `null` counts as absent.
  const files = input.files ?? {};
  const [missing] = filesNotGiven(spec, files);
  if (missing === undefined) return;
  throw invalidJob(
    `${formatPath(missing.at)}: the content of '${missing.path}' was not given\n` +
      `  jobctl submit uploads it; a service gives it as files: {'${namesOf(missing)[0]}': ..} to JobClient.submit`,
  );
}

/**
 * The key pairs of the job's identities, in their order.
 * @param claimed fingerprints of the submitter's files, by path: a different file under that path on this worker is refused
 * @throws InvalidJob for a key that cannot be read, whose fingerprint differs, or that is the installation's own
 */
export async function submittersKeys(
  installation: Installation,
  spec: Pick<JobSpec, 'identities'>,
  claimed: JobInput['identityKeys'],
): Promise<readonly KeyPair[]> {
  const { identities = [] } = spec;
  const keys = await Promise.all(
    identities.map((identity) =>
      namedKeyPair(installation, identity, [fieldOf(identity, 'private_key'), fieldOf(identity, 'public_key')]),
    ),
  );
  identities.forEach((identity, index) => {
    const named = { field: fieldOf(identity, 'private_key'), path: identity.privateKey };
    if (keys[index] === undefined) return;
    refuseInstallationKey(installation, named, keys[index]);
    refuseOtherKey(installation, named, keys[index], claimed?.[identity.privateKey]);
  });
  return keys;
}

/** The key of the job file that names one half of the pair. */
const fieldOf = ({ isBetweenHosts }: SshIdentity, key: 'private_key' | 'public_key'): string =>
  `${isBetweenHosts ? 'ssh.tpu_' : 'ssh.identities: '}${key}`;

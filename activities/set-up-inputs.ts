import type { JobSpec } from '../domain/job-spec.js';
import { filesNotGiven, namesOf } from '../domain/local-files.js';
import { formatPath } from '../domain/problem.js';
import type { JobInput } from '../workflows/messages.js';
import { refuseOtherKey } from './connecting-key.js';
import type { Installation } from './dependencies.js';
import { invalidJob } from './failures.js';
import { fieldOf, identityKeys, type KeyPair } from './modules/index.js';

/**
 * What the set-up will need of the submitter is here: keys that this worker can read, and the content of every file that the job
 * names. Looked at when the job is accepted, before any slice is asked for.
 * @param input what was submitted: hashes of files, and fingerprints of keys that are files there
 * @throws InvalidJob naming the first that is not
 */
export async function checkSetUpInputs(
  installation: Installation,
  spec: JobSpec,
  input: Pick<JobInput, 'files' | 'identityKeys'>,
): Promise<void> {
  await submittersKeys(installation, spec, input.identityKeys);
  // `null` of a service counts as absent.
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
 * @param claimed fingerprints of the submitter's files, by path: another file under that path here is not brought to anybody
 * @throws InvalidJob for one that cannot be read, or is another
 */
export async function submittersKeys(
  installation: Installation,
  spec: Pick<JobSpec, 'identities'>,
  claimed: JobInput['identityKeys'],
): Promise<readonly KeyPair[]> {
  const keys = await identityKeys(installation, spec);
  spec.identities?.forEach((identity, index) => {
    const named = { field: fieldOf(identity, 'private_key'), path: identity.privateKey };
    if (keys[index]) refuseOtherKey(installation, named, keys[index], claimed?.[identity.privateKey]);
  });
  return keys;
}

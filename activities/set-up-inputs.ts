import type { JobSpec } from '../domain/job-spec.js';
import { filesNotGiven, namesOf } from '../domain/local-files.js';
import { formatPath } from '../domain/problem.js';
import type { Installation } from './dependencies.js';
import { invalidJob } from './failures.js';
import { identityKeys } from './modules/index.js';

/**
 * What the set-up will need of the submitter is here: keys that this worker can read, and the content of every file that the job
 * names. Looked at when the job is accepted, before any slice is asked for.
 * @param files paths as the job has them -> SHA-256
 * @throws InvalidJob naming the first that is not
 */
export async function checkSetUpInputs(
  installation: Installation,
  spec: JobSpec,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  await identityKeys(installation, spec);
  const [missing] = filesNotGiven(spec, files);
  if (missing === undefined) return;
  throw invalidJob(
    `${formatPath(missing.at)}: the content of '${missing.path}' was not given\n` +
      `  jobctl submit uploads it; a service gives it as files: {'${namesOf(missing)[0]}': ..} to JobClient.submit`,
  );
}

import { withDigest } from '../../../domain/build/build.js';
import type { Assignment } from '../../../domain/job-file/assignment.js';
import { resolveJob } from '../../../domain/job-file/resolve.js';
import { formatProblems } from '../../../domain/problem.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import { type GoodJob, localPlaceOf } from '../job-file.js';
import type { GitLeave } from './git-rules.js';

/**
 * The job with the image that its `build` makes: the digest is in its file, and what it runs. A job without `build`, or with a
 * digest, is as it was.
 * @param file as the user gave it, or `BY_FLAGS`
 * @throws CliError if there is no image
 */
export async function builtJob<Job extends GoodJob>(job: Job, file: string, leave: GitLeave): Promise<Job> {
  const { build, raw } = job;
  if (build === undefined || build.digest !== undefined) return job;
  const { builtDigest } = await import('./build-image.js');
  const digest = await builtDigest(build, localPlaceOf(file, build.context, raw).place, leave);
  const built = resolveJob(withDigest(raw, digest));
  if (!built.ok) throw new CliError(ExitCode.Usage, formatProblems(built.problems));
  return { ...job, raw: built.raw, spec: built.spec, build: { ...build, digest } };
}

/** The image of an open job is built already: its other words would change nothing. @throws CliError for `--set build.target=..` without a file */
export function refuseOtherBuild(set: readonly Assignment[]): void {
  const key = set.find(({ path: [section, below] }) => section === 'build' && below !== 'digest');
  if (key === undefined) return;
  throw new CliError(
    ExitCode.Usage,
    `--set ${key.path.join('.')}: the image is not built again by itself`,
    'give the job file that it is built by (--file FILE), or the digest of a pushed image (--set build.digest=sha256:..)',
  );
}

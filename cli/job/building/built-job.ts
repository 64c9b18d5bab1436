import { withCommit, withDigest } from '../../../domain/build/build.js';
import type { BuildSpec } from '../../../domain/build/spec.js';
import type { Assignment } from '../../../domain/job-file/edit.js';
import { resolveJob } from '../../../domain/job-file/resolve.js';
import { kindOfJob, machineKind } from '../../../domain/machines.js';
import { reachFacts } from '../../../domain/slice.js';
import { formatProblems } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type GoodJob, localPlaceOf } from '../job-file.js';
import { tellLine } from '../../terminal/print.js';
import type { BuildPlace, GitLeave } from './sources.js';

/** A user's wishes for building an image. */
export interface BuildWish extends GitLeave {
  /** Absent: in the cluster if the job's machines are pods of it, otherwise on this computer. */
  readonly build?: BuildPlace;
}

/**
 * Returns the job with the image of its `build`: its file then has the image's digest, or the commit for a cluster to build. A
 * job without `build`, or with a digest, is returned unchanged.
 * @param file path as given by the user, or `BY_FLAGS`
 * @throws CliError if there is no image, or a cluster cannot fetch its sources
 */
export async function builtJob<Job extends GoodJob>(job: Job, file: string, wish: BuildWish): Promise<Job> {
  const { build, raw } = job;
  if (build === undefined || build.digest !== undefined) return job;
  const place = wish.build ?? usualPlace(job);
  if (build.remote.commit !== undefined) {
    if (place === 'remote') return job;
    throw new CliError(
      ExitCode.Usage,
      '--build local: build.commit is what a cluster builds',
      'leave build.commit out: a build here takes the commit that is checked out',
    );
  }
  const { place: folder } = localPlaceOf(file, build.context, raw);
  if (place === 'remote') return withRaw(job, withCommit(raw, await askedCommit(build, folder, wish)));
  const { builtImage } = await import('./build-image.js');
  const { digest, commit } = await builtImage(build, folder, wish);
  return withRaw(job, withDigest(raw, digest, commit));
}

/** The default build place. A submitter knows of a configured cluster only if the job runs in it. */
export const usualPlace = ({ spec, build }: Pick<GoodJob, 'spec' | 'build'>): BuildPlace =>
  build?.remote.commit !== undefined || reachFacts(machineKind(kindOfJob(spec)).reach).areContainers
    ? 'remote'
    : 'local';

async function askedCommit(build: BuildSpec, folder: string, leave: GitLeave) {
  const { remoteCommit } = await import('./build-image.js');
  const at = await remoteCommit(build, folder, leave);
  tellLine(`build: ${build.image} of commit ${at.commit.slice(0, 12)} is built in the cluster, from ${at.repository}`);
  return at;
}

function withRaw<Job extends GoodJob>(job: Job, raw: unknown): Job {
  const built = resolveJob(raw, { ...(job.array && { mayBeArray: true }) });
  if (!built.ok) throw new CliError(ExitCode.Usage, formatProblems(built.problems));
  return { ...job, raw: built.raw, spec: built.spec, ...(built.build && { build: built.build }) };
}

/**
 * Refuses changes to `build` of an open job: its image is already built, so they would have no effect.
 * @throws CliError for `--set build.target=..` without a file
 */
export function refuseOtherBuild(set: readonly Assignment[]): void {
  const key = set.find(({ path: [section, below] }) => section === 'build' && below !== 'digest');
  if (key === undefined) return;
  throw new CliError(
    ExitCode.Usage,
    `--set ${key.path.join('.')}: the image is not built again by itself`,
    'give the job file that it is built by (--file FILE), or the digest of a pushed image (--set build.digest=sha256:..)',
  );
}

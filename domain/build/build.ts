import { given, textValues } from '../job-file/fields.js';
import type { Mapping } from '../job-file/plain-tree.js';
import type { Report } from '../job-file/report.js';
import type { JobFile } from '../job-file/sections.js';
import type { JobSpec } from '../job-spec.js';
import { refuseUnfetched, resolveRemote, type BuildForm, type BuildSpec } from './spec.js';

const DEFAULT_PLATFORM = 'linux/amd64';
const DEFAULT_DOCKERFILE = 'Dockerfile';

/** A repository: host and path, as in `docker.image` without tag and digest (github.com/distribution/reference, reference.go). */
const REPOSITORY =
  /^(?:[A-Za-z0-9][\w.-]*(?::\d+)?\/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/;
const TAG_OR_DIGEST = /(?::\w[\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/;
const PLATFORM = /^[a-z0-9]+\/[a-z0-9_]+(?:\/[a-z0-9]+)?$/;
export const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** Stands for a repository that is missing or wrong, so that the problem is reported once, at its own key. */
const NO_IMAGE = 'missing';
const ARGUMENT = /^[A-Za-z_]\w*$/;

/**
 * Reports every problem. `NO_IMAGE` stands for a repository that is missing or wrong.
 * @returns undefined if there is no section
 */
export function resolveBuild(form: BuildForm | null | undefined, report: Report): BuildSpec | undefined {
  if (!form) return undefined;
  const image = given(form.image);
  if (image === undefined) report.missing(['build', 'image'], 'where the image is pushed, such as ghcr.io/team/train');
  else checkRepository('image', image, report);
  const pullImage = given(form.pull_image);
  if (pullImage !== undefined) checkRepository('pull_image', pullImage, report);
  const pulled = pullImage ?? image ?? NO_IMAGE;
  const platform = given(form.platform) ?? DEFAULT_PLATFORM;
  if (!PLATFORM.test(platform))
    report.wrong(['build', 'platform'], platform, 'no platform', 'one of them, such as linux/amd64 or linux/arm64');
  const digest = given(form.digest);
  if (digest !== undefined && !DIGEST.test(digest))
    report.wrong(['build', 'digest'], digest, 'no digest', 'sha256: and 64 hex digits, or leave it out');
  const args = textValues(form.args);
  for (const name of Object.keys(args))
    if (!ARGUMENT.test(name))
      report.wrong(['build', 'args', name], name, 'no build argument', 'letters, digits and _; no digit first');
  const target = given(form.target);
  return {
    image: image ?? NO_IMAGE,
    context: given(form.context) ?? '.',
    dockerfile: given(form.dockerfile) ?? DEFAULT_DOCKERFILE,
    ...(target === undefined ? {} : { target }),
    args,
    platform,
    pullImage: REPOSITORY.test(pulled) ? pulled : NO_IMAGE,
    remote: resolveRemote(form, report),
    ...(digest !== undefined && DIGEST.test(digest) ? { digest } : {}),
  };
}

function checkRepository(key: 'image' | 'pull_image', value: string, report: Report): void {
  if (REPOSITORY.test(value)) return;
  const bare = value.replace(/^[a-z]+:\/\//, '').replace(TAG_OR_DIGEST, '');
  const hint = REPOSITORY.test(bare)
    ? `write ${bare}: a tag is made of the commit, and the job runs the digest`
    : 'host/path in small letters, such as ghcr.io/team/train';
  report.wrong(['build', key], value, 'no repository', hint);
}

/** The image that hosts pull: by the digest that was built, or the repository alone as long as there is no digest. */
export const imageOf = ({ pullImage, digest }: BuildSpec): string =>
  digest === undefined ? pullImage : `${pullImage}@${digest}`;

/**
 * Puts the image of `build` into the job file at the place that its machines read: the section of its pods, else `docker`.
 * @param podSections the names of sections whose machines are pods
 */
export function withImage(form: JobFile, build: BuildSpec, podSections: readonly string[], report: Report): JobFile {
  const sections: Mapping = form;
  const name = podSections.find((each) => given(sections[each]) !== undefined) ?? 'docker';
  const section = sections[name] as Mapping | null | undefined;
  const other = given(section?.['image']);
  if (other !== undefined)
    report.problem([name, 'image'], other, 'is given beside build, which makes the image', 'keep one of the two');
  return { ...form, [name]: { ...section, image: imageOf(build) } };
}

/** Reports a build without a digest, unless a cluster can build its commit. For workflows, and services that start them. */
export function refuseUnbuilt(build: BuildSpec, report: Report): void {
  if (build.digest !== undefined) return;
  if (build.remote.commit !== undefined) return refuseUnfetched(build, report);
  const hint =
    'jobctl submit builds the image and adds its digest; a service names a pushed image in place of build, its digest here, or build.repository and build.commit for a build in the cluster';
  report.missing(['build', 'digest'], hint);
}

/** Reports a build whose image is not used: VMs run the command in an image only with the module docker. */
export function refuseUnused({ modules }: { readonly modules: readonly string[] }, report: Report): void {
  if (modules.includes('docker')) return;
  const hint = 'name docker in setup.modules (or job.env_type), or leave build out';
  report.problem(['build'], undefined, 'the image would not be used: the job does not have the module docker', hint);
}

/**
 * Returns the job file with the digest of its built image, otherwise unchanged.
 * @param raw a job file with a section `build`
 * @param commit the image's commit, if it is known and the file does not name it
 */
export function withDigest(raw: unknown, digest: string, commit?: string): unknown {
  const file = raw as Mapping;
  return { ...file, build: { ...(file['build'] as Mapping), ...(commit !== undefined && { commit }), digest } };
}

/** An image as hosts pull it, and its commit if that is known: `ghcr.io/team/train@sha256:.. of commit 3f2a9c1d0b7e`. */
export const builtText = (build: BuildSpec): string =>
  `${imageOf(build)}${build.remote.commit === undefined ? '' : ` of commit ${build.remote.commit.slice(0, 12)}`}`;

/**
 * Returns the job file with the commit from which a cluster builds its image.
 * @param at `context`: a folder of the repository
 */
export function withCommit(
  raw: unknown,
  at: { readonly repository: string; readonly commit: string; readonly context: string },
): unknown {
  const file = raw as Mapping;
  return { ...file, build: { ...(file['build'] as Mapping), ...at } };
}

/**
 * Replaces an image without a digest, as `withImage` left it in the spec, by the built one.
 * @param podSections see `withImage`
 */
export function pinned(spec: JobSpec, build: BuildSpec, podSections: readonly string[]): JobSpec {
  const sections = spec as unknown as Mapping;
  const name = podSections.find((each) => sections[each] !== undefined) ?? 'docker';
  return { ...spec, [name]: { ...(sections[name] as Mapping), image: imageOf(build) } };
}

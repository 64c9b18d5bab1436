import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolderSync } from '../../../cloud/folders.js';
import { DIGEST } from '../../../domain/build/build.js';
import { type BuildSpec, isByKey, whyUnfetchable } from '../../../domain/build/spec.js';
import { fileErrorWords } from '../../../domain/errors.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { xdgFolder } from '../../terminal/home.js';
import { tellLine } from '../../terminal/print.js';
import { type Builder, BUILDER_NAMES, type BuilderName, builderNamed, type BuildFailure } from './builders.js';
import { type BuildCommit, buildCommit, type GitLeave, remotesOf, remotesWith, buildSources } from './sources.js';
import { showValue } from '../../../domain/problem.js';
import { askGit, git } from '../packing/git.js';

/** An image that was built on this computer. */
export interface BuiltImage {
  readonly digest: string;
  /** The commit that it was built from, as in `BuildCommit`. Absent: the folder differs from its commit, or has none. */
  readonly commit?: string;
}

/**
 * Builds and pushes a job's image on this computer, unless this computer built one from the same commit and settings before and
 * its registry still has it. A tag alone does not count: anybody can predict it, and anybody with push rights may have pushed it
 * (docs/adr/0107).
 * @param context place of the build context
 * @throws CliError if the tree or its commit may not be built, no program can build, or the build or its push failed
 */
export async function builtImage(build: BuildSpec, context: string, leave: GitLeave): Promise<BuiltImage> {
  const at = await buildCommit(context, leave);
  const made = at.commit === undefined || at.isDirty ? {} : { commit: at.commit };
  return { digest: await digestOf(build, context, at), ...made };
}

async function digestOf(build: BuildSpec, context: string, at: BuildCommit): Promise<string> {
  const builder = await chosenBuilder();
  const sources = await buildSources(build, context, at);
  const reference = `${build.image}:${sources.tag}`;
  const own = sources.isReusable ? ownDigest(reference) : undefined;
  const known = own === undefined ? undefined : await builder.pushed(`${build.image}@${own}`);
  if (known !== undefined && known.digest === own) {
    tellLine(`build: ${reference} is there already: ${known.digest}`);
    refuseOtherPlatform(build, known.platform);
    return known.digest;
  }
  tellLine(`build: ${reference}, by ${builder.name}`);
  const labels = at.commit === undefined ? {} : { [REVISION]: `${at.commit}${at.isDirty ? '-dirty' : ''}` };
  const made = await builder.build({ build, ...sources, reference, labels });
  if ('end' in made) throw failureOf(made, build);
  refuseOtherPlatform(build, made.platform);
  if (sources.isReusable) keepOwnDigest(reference, made.digest);
  tellLine(`build: pushed ${build.image}@${made.digest}`);
  return made.digest;
}

/** Record of the image pushed from here under this reference: a file in the XDG state folder, which only its user can enter. */
const recordOf = (reference: string): string => {
  const name = createHash('sha256').update(reference).digest('hex');
  return join(xdgFolder(process.env, 'XDG_STATE_HOME', '.local/state'), 'jobctl-images', name);
};

function ownDigest(reference: string): string | undefined {
  try {
    const digest = readFileSync(recordOf(reference), 'utf8').trim();
    return DIGEST.test(digest) ? digest : undefined;
  } catch {
    return undefined;
  }
}

/** Stores the digest of a pushed image. If it cannot be stored, the next submit builds again. */
function keepOwnDigest(reference: string, digest: string): void {
  const file = recordOf(reference);
  try {
    makeFolderSync(dirname(file), 0o700);
    writeFileSync(`${file}.${process.pid}`, `${digest}\n`, { mode: 0o600 });
    renameSync(`${file}.${process.pid}`, file);
  } catch (error) {
    tellLine(`build: ${file} cannot be kept, so the next submit builds again: ${fileErrorWords(error)}`);
  }
}

/** Annotation with the commit (github.com/opencontainers/image-spec, annotations.md). */
const REVISION = 'org.opencontainers.image.revision';

/** The builder that `JOBCTL_BUILDER` names, or else the first usable one. */
async function chosenBuilder(): Promise<Builder> {
  const wanted = process.env['JOBCTL_BUILDER'] ?? '';
  const names = wanted === '' ? BUILDER_NAMES : BUILDER_NAMES.filter((name) => name === wanted);
  if (names.length === 0)
    throw new CliError(
      ExitCode.Usage,
      `JOBCTL_BUILDER: '${wanted}' is no program that jobctl builds with`,
      `one of ${BUILDER_NAMES.join(', ')}; without it the first that can be used`,
    );
  const reasons: [BuilderName, string][] = [];
  for (const name of names) {
    const builder = builderNamed(name);
    const why = await builder.unfit();
    if (why === undefined) return builder;
    reasons.push([name, why]);
  }
  throw new CliError(
    ExitCode.Usage,
    'build: no program on this computer can build the image',
    ...reasons.map(([name, why]) => `${name}: ${why}`),
    'install docker with buildx, podman or buildah, or name a pushed image in place of build',
  );
}

function failureOf({ step, command, end }: BuildFailure, { image }: BuildSpec): CliError {
  const what = step === 'push' ? `the image was not pushed to ${image}` : 'the image was not built';
  const how = end.code === 0 ? 'ended, and told no digest' : `ended with ${end.code ?? 'a signal'}`;
  return new CliError(ExitCode.Failed, `build: ${what}: \`${command}\` ${how}`, ...end.tail);
}

/** Compares OS and architecture only: no builder reports a variant such as `v8` of `linux/arm64/v8`. */
function refuseOtherPlatform({ platform, image }: BuildSpec, made: string): void {
  if (platform.split('/').slice(0, 2).join('/') === made) return;
  throw new CliError(
    ExitCode.Failed,
    `build: the image in ${image} is for ${made}, and build.platform is ${platform}`,
    'its base image may have no other; take one that has, or name the platform in build.platform',
  );
}

/** The sources that a cluster fetches and builds, as in `build` of the submitted job file. */
interface RemoteCommit {
  readonly repository: string;
  readonly commit: string;
  /** A folder in the repository. */
  readonly context: string;
}

const HERE = 'or build on this computer: --build local';

/**
 * Returns the commit that is checked out, and the repository from which a cluster fetches it. A cluster cannot build changes
 * since the commit. A user who allows an unpushed commit knows that a remote has it; otherwise the build reports that it cannot
 * be fetched.
 * @param folder place of the context
 * @throws CliError with the remedy
 */
export async function remoteCommit(build: BuildSpec, folder: string, leave: GitLeave): Promise<RemoteCommit> {
  refuseDirty(leave);
  const { commit = '' } = await buildCommit(folder, leave, 'remote');
  const prefix = (await answer(folder, ['rev-parse', '--show-prefix'])).replace(/\/$/, '');
  await refuseMissingDockerfile(build, folder, commit, prefix);
  const repository = build.remote.repository ?? (await remoteUrl(folder, commit));
  refuseUnfetchable(repository, build);
  return { repository, commit, context: prefix === '' ? '.' : prefix };
}

function refuseDirty({ allowDirty }: GitLeave): void {
  if (allowDirty !== true) return;
  throw new CliError(
    ExitCode.Usage,
    '--allow-dirty: the image is built in the cluster, from a commit that it fetches from a remote',
    `commit, push and leave the flag out, ${HERE} --allow-dirty`,
  );
}

async function refuseMissingDockerfile(
  { dockerfile }: BuildSpec,
  folder: string,
  commit: string,
  prefix: string,
): Promise<void> {
  const isOutside = dockerfile.startsWith('/') || dockerfile.split('/').includes('..');
  if (isOutside)
    throw refused(
      `build.dockerfile: ${showValue(dockerfile)} is not in build.context, and a cluster fetches the context alone`,
      `name a build.context that holds it, ${HERE}`,
    );
  const path = [prefix, dockerfile].filter((part) => part !== '').join('/');
  const found = await askGit(folder, ['cat-file', '-e', `${commit}:${path}`]);
  if ('failure' in found)
    throw refused(
      `build.dockerfile: ${showValue(dockerfile)} is not in commit ${commit.slice(0, 12)}`,
      'git ignores it: commit it with `git add --force`',
    );
}

/** URL of the remote that the branch follows, else of origin, else of the first that has the commit, without a password. */
async function remoteUrl(folder: string, commit: string): Promise<string> {
  const known = await remotesWith(folder, commit);
  const names = known.length > 0 ? known : await remotesOf(folder);
  const upstream = (await git(folder, ['rev-parse', '--abbrev-ref', '--symbolic-full-name', '@{upstream}']))?.trim();
  const followed = names.find((name) => upstream?.startsWith(`${name}/`) === true);
  const name = followed ?? names.find((each) => each === 'origin') ?? names[0] ?? 'origin';
  return withoutLogin((await answer(folder, ['remote', 'get-url', name])).trim());
}

const withoutLogin = (url: string): string => url.replace(/^(https?:\/\/)[^/@]*@/, '$1');

function refuseUnfetchable(url: string, { remote }: BuildSpec): void {
  const why = whyUnfetchable(url);
  if (why !== undefined)
    throw refused(
      // A URL with a login is not repeated.
      `the remote's URL${why.includes('login') ? '' : ` ${showValue(url)}`} is ${why}`,
      `name one that the cluster reaches in build.repository, ${HERE}`,
    );
  if (isByKey(url) && remote.gitSecret === undefined)
    throw refused(
      `the cluster has no key for ${showValue(url)}`,
      'name a Secret of the namespace with its ssh-privatekey in build.git_secret, or an https:// URL in build.repository,',
      HERE,
    );
}

async function answer(folder: string, words: readonly string[]): Promise<string> {
  const said = await askGit(folder, words);
  if ('text' in said) return said.text.replace(/\n$/, '');
  throw refused(`git ${words[0]} failed`, ...said.failure.split('\n'));
}

const refused = (what: string, ...rest: readonly string[]): CliError =>
  new CliError(ExitCode.Usage, what.startsWith('build') ? what : `build: ${what}`, ...rest);

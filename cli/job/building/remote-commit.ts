import type { BuildSpec } from '../../../domain/build/spec.js';
import { isByKey, whyUnfetchable } from '../../../domain/build/remote.js';
import { showValue } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { askGit, git } from '../packing/git.js';
import { buildCommit, type GitLeave, remotesOf, remotesWith } from './git-rules.js';

/** The sources that a cluster fetches and builds, as in `build` of the submitted job file. */
export interface RemoteCommit {
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

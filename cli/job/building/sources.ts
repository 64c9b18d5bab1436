import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, statSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { userInfo } from 'node:os';
import { makeFolderSync } from '../../../cloud/folders.js';
import { inputsTag } from '../../../cloud/builds/port.js';
import type { BuildSpec } from '../../../domain/build/spec.js';
import { type Problem, showValue } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { askGit, git, ownFilters } from '../packing/git.js';
import { scratchPath } from '../packing/pack-tree.js';
import { quotedName } from '../../../domain/outside-text.js';
import { count } from '../../../domain/units.js';

/** The input of a builder, and the tag of its image. */
export interface BuildSources {
  readonly context: string;
  readonly dockerfile: string;
  readonly tag: string;
  /** True if the tag is derived from all inputs, so that an image pushed from here under it is the same image. */
  readonly isReusable: boolean;
}

/** Problems of the context or the Dockerfile, without a look into the repository. @param context place of the context */
export function placeProblems(build: BuildSpec, context: string): readonly Problem[] {
  const hint = `looked for at ${context}; a relative path starts at the job file's folder`;
  if (statSync(context, { throwIfNoEntry: false })?.isDirectory() !== true) {
    const message = `${showValue(build.context)} is no folder`;
    return [{ path: ['build', 'context'], value: build.context, message, hint }];
  }
  const place = resolve(context, build.dockerfile);
  if (statSync(place, { throwIfNoEntry: false })?.isFile() === true) return [];
  const message = `${showValue(build.dockerfile)} is no file`;
  const where = `looked for at ${place}; build.dockerfile starts at build.context`;
  return [{ path: ['build', 'dockerfile'], value: build.dockerfile, message, hint: where }];
}

/**
 * Takes the files of a clean tree from its commit, so that ignored files are not in the image, and those of a dirty tree from the
 * folder.
 */
export async function buildSources(build: BuildSpec, context: string, at: BuildCommit): Promise<BuildSources> {
  const { commit, isDirty } = at;
  if (commit === undefined || isDirty)
    return { context, dockerfile: resolve(context, build.dockerfile), tag: dirtyTag(), isReusable: false };
  const top = await mustAnswer(context, ['rev-parse', '--show-toplevel']);
  const inside = await mustAnswer(context, ['rev-parse', '--show-prefix']);
  const copy = await exportCommit(top, inside, build);
  const dockerfile = resolve(join(copy, inside), build.dockerfile);
  if (!existsSync(dockerfile))
    throw new CliError(
      ExitCode.Usage,
      `build.dockerfile: ${showValue(build.dockerfile)} is not in commit ${commit.slice(0, 12)}`,
      'git ignores it: commit it with `git add --force`',
    );
  return {
    context: join(copy, inside),
    dockerfile,
    tag: inputsTag({ ...build, commit, context: inside }),
    isReusable: true,
  };
}

function dirtyTag(): string {
  const user = userInfo().username.replaceAll(/[^\w.-]/g, '-');
  return `dirty-${user}-${randomBytes(4).toString('hex')}`;
}

/**
 * Exports the files of the index, which equals the commit because the tree is clean. `git archive` would omit files that
 * .gitattributes names.
 */
async function exportCommit(top: string, inside: string, { dockerfile }: BuildSpec): Promise<string> {
  // A Dockerfile above the context requires the whole repository.
  const paths = dockerfile.startsWith('..') || inside === '' ? [] : ['--', inside];
  const staged = await mustAnswer(top, ['ls-files', '--stage', '-z', ...paths], false);
  const files = staged.split('\0').filter(Boolean);
  const submodule = files.find((line) => line.startsWith('160000 '));
  if (submodule !== undefined)
    throw new CliError(
      ExitCode.Usage,
      `build: submodule ${submodule.slice(submodule.indexOf('\t') + 1)} is in the context, and a commit holds none of its files`,
      'name a context that has no submodule in build.context',
    );
  const copy = scratchPath('');
  mkdirSync(copy);
  const names = files.map((line) => `${line.slice(line.indexOf('\t') + 1)}\0`).join('');
  await mustAnswer(top, ['checkout-index', '-z', '--stdin', `--prefix=${copy}/`], false, names);
  // An empty context has no file whose folder would be created.
  makeFolderSync(join(copy, inside));
  return copy;
}

async function mustAnswer(folder: string, words: readonly string[], isTrimmed = true, input?: string): Promise<string> {
  const answer = await askGit(folder, words, input);
  if ('text' in answer) return isTrimmed ? answer.text.replace(/\n$/, '') : answer.text;
  throw new CliError(ExitCode.Usage, `build: git ${words[0]} failed`, ...answer.failure.split('\n'));
}

export const BUILD_PLACES = ['local', 'remote'] as const;
/** The build place: this computer or a cluster. */
export type BuildPlace = (typeof BUILD_PLACES)[number];

/** The checks that a user waives. */
export interface GitLeave {
  readonly allowDirty?: true;
  readonly allowUnpushed?: true;
}

/** The commit that is checked out in a folder. */
export interface BuildCommit {
  /** 40 or 64 hex digits. Absent: there is no repository, or it has no commit yet. */
  readonly commit?: string;
  /** True if files differ from the commit, so that the commit does not describe the build. */
  readonly isDirty: boolean;
}

/** Number of changed files that a message shows. */
const SHOWN = 5;

/**
 * Returns the commit that an image is built from. It checks that the folder's repository is clean, untracked files included, and
 * that a remote has the commit as far as this repository knows (docs/adr/0072).
 * @throws CliError with git's own answer and the remedy, unless the user waives the check
 */
export async function buildCommit(
  folder: string,
  { allowDirty, allowUnpushed }: GitLeave,
  place: BuildPlace = 'local',
): Promise<BuildCommit> {
  const head = await askGit(folder, ['rev-parse', '--verify', '--end-of-options', 'HEAD^{commit}']);
  if ('failure' in head) {
    if (allowDirty === true) return { isDirty: true };
    throw refused(
      `${folder} has no commit`,
      ...head.failure.split('\n'),
      'an image is built from a commit, so that its code can be found again; --allow-dirty builds the folder as it is',
    );
  }
  const commit = head.text.trim();
  const [changed, remotes] = await Promise.all([changedFiles(folder), remoteBranches(folder, commit)]);
  const flags = FLAGS[place];
  const refusals = [
    ...(changed.length === 0 || allowDirty === true ? [] : dirtyLines(changed, flags)),
    ...(remotes.length > 0 || allowUnpushed === true ? [] : await unpushedLines(folder, commit, flags)),
  ];
  if (refusals.length > 0) throw refused(`${folder} cannot be built as it is`, ...refusals);
  return { commit, isDirty: changed.length > 0 };
}

interface LeaveFlags {
  readonly dirty: string;
  readonly unpushed: string;
}
/** The flags that waive the checks. A cluster can only build what it can fetch. */
const FLAGS: Readonly<Record<BuildPlace, LeaveFlags>> = {
  local: { dirty: '--allow-dirty', unpushed: '--allow-unpushed' },
  remote: {
    dirty: '--build local --allow-dirty',
    unpushed: '--build local --allow-unpushed (here --allow-unpushed alone, if it is there)',
  },
};

const refused = (what: string, ...rest: readonly string[]): CliError =>
  new CliError(ExitCode.Usage, `build: ${what}`, ...rest);

/**
 * Refuses filters of the repository. Without them git may report unchanged files as changed, and the image would have filtered
 * files in their stored form.
 */
async function refuseOwnFilters(folder: string): Promise<void> {
  const own = await ownFilters(folder);
  if ('failure' in own) throw refused('git does not tell its settings', ...own.failure.split('\n'));
  const [name] = own.names;
  if (name === undefined) return;
  throw refused(
    `the .git/config of ${folder} has git run programs on files (filter.${quotedName(name)}), and jobctl runs no program of a repository`,
    "if you trust it, make each line of `git config --local --get-regexp '^filter'` your own, such as",
    'git config --global filter.NAME.clean "$(git config --local filter.NAME.clean)"',
  );
}

/** Changed files of the whole repository: a commit covers everything, although COPY reads only from the context. */
async function changedFiles(folder: string): Promise<readonly string[]> {
  await refuseOwnFilters(folder);
  const status = await gitAnswer(folder, ['status', '--porcelain', '--untracked-files=normal', '--', ':/']);
  const changed = status.split('\n').filter(Boolean);
  return changed.length > 0 ? changed : changedSubmodules(folder);
}

/** Submodules are checked one by one, with the same care: git of the parent repository would use their settings unchecked. */
async function changedSubmodules(folder: string): Promise<readonly string[]> {
  const top = realpathSync((await gitAnswer(folder, ['rev-parse', '--show-toplevel'])).replace(/\n$/, ''));
  const staged = await gitAnswer(top, ['ls-files', '--stage', '-z']);
  const links = staged.split('\0').filter((line) => line.startsWith('160000 '));
  const changed: string[] = [];
  for (const path of links.map((line) => line.slice(line.indexOf('\t') + 1))) {
    const place = join(top, path);
    // A submodule that is not checked out has no `.git`, and git would answer for the repository around it. A link may loop
    // forever.
    if (existsSync(join(place, '.git')) && realpathSync(place) === place && (await changedFiles(place)).length > 0)
      changed.push(` M ${path}`);
  }
  return changed;
}

async function gitAnswer(folder: string, words: readonly string[]): Promise<string> {
  const answer = await askGit(folder, words);
  if ('text' in answer) return answer.text;
  throw refused('git does not tell what has changed', ...answer.failure.split('\n'));
}

function dirtyLines(changed: readonly string[], { dirty }: LeaveFlags): readonly string[] {
  const rest = changed.length - SHOWN;
  return [
    `git status shows ${count(changed.length, 'file')} that the commit does not have as they are:`,
    ...changed.slice(0, SHOWN).map((line) => `  ${line}`),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
    `commit them, add them to .gitignore, or build the folder as it is with ${dirty}`,
  ];
}

async function remoteBranches(folder: string, commit: string): Promise<readonly string[]> {
  const found = await git(folder, ['branch', '--remotes', '--contains', commit, '--format=%(refname:short)']);
  return found?.split('\n').filter(Boolean) ?? [];
}

async function unpushedLines(folder: string, commit: string, { unpushed }: LeaveFlags): Promise<readonly string[]> {
  const remotes = await git(folder, ['remote']);
  const short = commit.slice(0, 12);
  return remotes === undefined || remotes.trim() === ''
    ? [`the repository has no remote that could have commit ${short}`, `add one and push, or pass ${unpushed}`]
    : [
        `no branch of a remote has commit ${short}, by \`git branch --remotes --contains ${short}\``,
        `git push (or git fetch, if it was pushed from elsewhere), or pass ${unpushed}`,
      ];
}

export async function remotesOf(folder: string): Promise<readonly string[]> {
  return (await git(folder, ['remote']))?.split('\n').filter(Boolean) ?? [];
}

/** Remotes that have a commit, as far as this repository knows. */
export async function remotesWith(folder: string, commit: string): Promise<readonly string[]> {
  const [names, branches] = await Promise.all([remotesOf(folder), remoteBranches(folder, commit)]);
  return names.filter((name) => branches.some((branch) => branch.startsWith(`${name}/`)));
}

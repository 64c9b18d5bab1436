import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { userInfo } from 'node:os';
import { inputsTag } from '../../../cloud/builds/inputs.js';
import type { BuildSpec } from '../../../domain/build/spec.js';
import { type Problem, showValue } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { askGit } from '../packing/git.js';
import { scratchPath } from '../packing/pack-tree.js';
import type { BuildCommit } from './git-rules.js';

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
 * Exports the files of the index, which equals the commit because the tree is clean. `git archive` would omit files by
 * .gitattributes.
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
  mkdirSync(join(copy, inside), { recursive: true });
  return copy;
}

async function mustAnswer(folder: string, words: readonly string[], isTrimmed = true, input?: string): Promise<string> {
  const answer = await askGit(folder, words, input);
  if ('text' in answer) return isTrimmed ? answer.text.replace(/\n$/, '') : answer.text;
  throw new CliError(ExitCode.Usage, `build: git ${words[0]} failed`, ...answer.failure.split('\n'));
}

import { execFile } from 'node:child_process';

/** For a repository on a slow file system; whoever waits has typed `submit`. */
const LONGEST_MS = 20_000;
/** Bytes: a difference that is longer tells nobody anything. */
const MOST_OUTPUT = 64 * 1024 * 1024;

/** What git prints of the repository that a folder is in; undefined where it is in none, there is no git, or git refuses. */
export function git(folder: string, words: readonly string[]): Promise<string | undefined> {
  // A hook of another repository has its own in the environment.
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...env } = process.env;
  const options = { timeout: LONGEST_MS, maxBuffer: MOST_OUTPUT, env: { ...env, GIT_OPTIONAL_LOCKS: '0' } };
  return new Promise((done) => {
    execFile('git', ['-C', folder, ...words], options, (error, stdout) => done(error === null ? stdout : undefined));
  });
}

/**
 * What tells which code a bundle is, under AXLearn's names (docs/bundles.md): commit, branch, remotes, what differs from
 * the commit, and what git knows of each file. None outside of a repository, or before its first commit.
 */
export async function gitFiles(folder: string): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const commit = await git(folder, ['rev-parse', 'HEAD']);
  if (commit === undefined) return [];
  const [branch, remote, diff, porcelain] = await Promise.all([
    git(folder, ['rev-parse', '--abbrev-ref', 'HEAD']),
    git(folder, ['remote', '-v']),
    git(folder, ['diff', '--relative', '--no-ext-diff', '--no-color', 'HEAD', '--', '.']),
    git(folder, ['status', '--porcelain', '--', '.']),
  ]);
  const texts = { commit, branch, remote: remote && withoutPasswords(remote), diff, porcelain };
  return Object.entries(texts).flatMap(([name, text]) => (text === undefined ? [] : [{ name: `.git.${name}`, text }]));
}

/** A remote's URL may hold a person's token: `https://user:token@host`. */
const withoutPasswords = (remotes: string): string => remotes.replace(/(:\/\/)[^/@\s]*@/g, '$1');

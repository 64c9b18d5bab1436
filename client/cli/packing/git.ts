import { execFile } from 'node:child_process';

/** For a repository on a slow file system; whoever waits has typed `submit`. */
const LONGEST_MS = 20_000;
/** Bytes: a difference that is longer tells nobody anything. */
const MOST_OUTPUT = 64 * 1024 * 1024;

/** What git printed; of a failure its own message, or that there is no git. */
export type GitAnswer = { readonly text: string } | { readonly failure: string };

/** Asks git about the repository that a folder is in. @param input for its stdin */
export function askGit(folder: string, words: readonly string[], input?: string): Promise<GitAnswer> {
  // A hook of another repository has its own in the environment.
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...env } = process.env;
  const options = { timeout: LONGEST_MS, maxBuffer: MOST_OUTPUT, env: { ...env, GIT_OPTIONAL_LOCKS: '0' } };
  return new Promise((done) => {
    const child = execFile('git', ['-C', folder, ...words], options, (error, stdout, stderr) => {
      if (error === null) done({ text: stdout });
      else done({ failure: error.code === 'ENOENT' ? 'git is not installed' : stderr.trim() || error.message });
    });
    if (input === undefined) return;
    // It may end before it has read all.
    child.stdin?.on('error', () => undefined).end(input);
  });
}

/** What git prints of the repository that a folder is in; undefined where it is in none, there is no git, or git refuses. */
export async function git(folder: string, words: readonly string[]): Promise<string | undefined> {
  const answer = await askGit(folder, words);
  return 'text' in answer ? answer.text : undefined;
}

/** Bytes of names on one command line. */
const MOST_NAMES = 500_000;

/**
 * What tells which code a bundle is, under AXLearn's names (docs/bundles.md): commit, branch, remotes, what differs from the
 * commit in files that may go, and what git knows of each file. None outside of a repository, or before its first commit.
 */
export async function gitFiles(
  folder: string,
  isLeftOut: (path: string) => boolean,
): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const commit = await git(folder, ['rev-parse', 'HEAD']);
  if (commit === undefined) return [];
  const [branch, remote, diff, porcelain] = await Promise.all([
    git(folder, ['rev-parse', '--abbrev-ref', 'HEAD']),
    git(folder, ['remote', '-v']),
    difference(folder, isLeftOut),
    git(folder, ['status', '--porcelain', '--', '.']),
  ]);
  const texts = { commit, branch, remote: remote && withoutPasswords(remote), diff, porcelain };
  return Object.entries(texts).flatMap(([name, text]) => (text === undefined ? [] : [{ name: `.git.${name}`, text }]));
}

/** What stays behind stays behind in here too. */
async function difference(folder: string, isLeftOut: (path: string) => boolean): Promise<string | undefined> {
  const how = ['--relative', '--no-renames', '--no-ext-diff', '--no-color'];
  const listed = await git(folder, ['diff', ...how, '--name-only', '-z', 'HEAD', '--', '.']);
  const changed = listed?.split('\0').filter((path) => path !== '' && !isLeftOut(path));
  if (changed === undefined || changed.length === 0) return changed && '';
  if (changed.join(' ').length > MOST_NAMES) return undefined;
  return git(folder, ['--literal-pathspecs', 'diff', ...how, 'HEAD', '--', ...changed]);
}

/** A remote's URL may hold a person's token: `https://user:token@host`, `?private_token=..`. */
const withoutPasswords = (remotes: string): string => remotes.replace(/(:\/\/)[^/\s]*@/g, '$1').replace(/\?\S*/g, '');

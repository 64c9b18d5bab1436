import { execFile } from 'node:child_process';
import { quotedName } from '../../../domain/outside-text.js';

/** Timeout for a repository on a slow file system; the user waits after typing `submit`. */
const LONGEST_MS = 20_000;
/** Most bytes of output: a longer diff is of no use to readers. */
const MOST_OUTPUT = 64 * 1024 * 1024;

/** Output of git; for a failure, git's own message, or that git is not installed. */
export type GitAnswer = { readonly text: string } | { readonly failure: string };

/**
 * Asks git about the repository that contains a folder. The repository may be a stranger's, because `validate` also checks files
 * from others. No program that the repository names is run (docs/adr/0115), and nothing is fetched.
 * @param input for git's stdin
 */
export async function askGit(folder: string, words: readonly string[], input?: string): Promise<GitAnswer> {
  const own = await ownFilters(folder);
  return 'failure' in own ? own : askWithout(own, folder, words, input);
}

/** @param own the repository's own filters */
function askWithout(own: OwnFilters, folder: string, words: readonly string[], input?: string): Promise<GitAnswer> {
  const verb = words.findIndex((word) => !word.startsWith('-'));
  const still = STILL[words[verb] ?? ''] ?? [];
  return runGit(folder, [...own.off, ...words.slice(0, verb + 1), ...still, ...words.slice(verb + 1)], input);
}

/** Settings against a stranger's clone: a folder of it may be a bare repository, whose own settings git would use. */
const CAREFUL = ['safe.bareRepository=explicit', 'core.fsmonitor=false', 'core.hooksPath=/dev/null'];

const NO_SUBMODULES = '--ignore-submodules=dirty';
/** Options by verb. A submodule has separate settings, and git would run a second git for its files. */
const STILL: Readonly<Record<string, readonly string[]>> = {
  status: [NO_SUBMODULES],
  diff: ['--no-ext-diff', '--no-textconv', '--submodule=short', NO_SUBMODULES],
};

function runGit(folder: string, words: readonly string[], input?: string): Promise<GitAnswer> {
  // A hook of another repository sets these variables.
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...env } = process.env;
  // In a partial clone, git would fetch missing objects with the commands that the repository's remote names.
  const quiet = { GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: 'none' };
  const options = { timeout: LONGEST_MS, maxBuffer: MOST_OUTPUT, env: { ...env, ...quiet } };
  const careful = CAREFUL.flatMap((setting) => ['-c', setting]);
  return new Promise((done) => {
    const child = execFile('git', ['-C', folder, ...careful, ...words], options, (error, stdout, stderr) => {
      if (error === null) done({ text: stdout });
      else done({ failure: error.code === 'ENOENT' ? 'git is not installed' : stderr.trim() || error.message });
    });
    if (input === undefined) return;
    // git may exit before it has read all input.
    child.stdin?.on('error', () => undefined).end(input);
  });
}

/** Programs that the repository itself, and not its user, makes git run on files. */
interface OwnFilters {
  readonly names: readonly string[];
  /** Arguments for git that set each filter to the user's own setting, or to nothing. */
  readonly off: readonly string[];
}

const FILTER = /^filter\.(.*)\.(clean|smudge|process|required)$/s;
const MOST_FILTERS = 100;

/** Filters that only the repository's settings define; a filter that its user sets in the same way counts as the user's. */
export async function ownFilters(folder: string): Promise<OwnFilters | { readonly failure: string }> {
  const listed = await runGit(folder, ['config', '--list', '--show-scope', '-z']);
  if ('failure' in listed) return listed;
  const mine = new Map<string, string>();
  const own = new Map<string, string>();
  const parts = listed.text.split('\0');
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, key = '', value = 'true'] = /^([^\n]*)(?:\n(.*))?$/s.exec(parts[at + 1] ?? '') ?? [];
    if (FILTER.test(key)) (parts[at] === 'local' || parts[at] === 'worktree' ? own : mine).set(key, value);
  }
  const foreign = [...own].filter(([key, value]) => mine.get(key) !== value).map(([key]) => key);
  const names = [...new Set(foreign.map((key) => FILTER.exec(key)?.[1] ?? ''))];
  // `-c` ends a name at the first `=`.
  if (foreign.length > MOST_FILTERS || names.some((name) => name.includes('=')))
    return {
      failure: `.git/config has filters that git cannot be told to leave out: ${quotedName(names[0] ?? '')}, ..`,
    };
  const valueOf = (key: string): string => mine.get(key) ?? (key.endsWith('.required') ? 'false' : '');
  const off = foreign.flatMap((key) => ['-c', `${key}=${valueOf(key)}`]);
  return { names, off };
}

/** Output of git for the repository that contains a folder; undefined if there is no repository or no git, or git refuses. */
export async function git(folder: string, words: readonly string[]): Promise<string | undefined> {
  return textOf(await askGit(folder, words));
}

const textOf = (answer: GitAnswer): string | undefined => ('text' in answer ? answer.text : undefined);
/** Like `git`, for several questions to one repository. */
type Ask = (words: readonly string[]) => Promise<string | undefined>;

/** Most bytes of names on one command line. */
const MOST_NAMES = 500_000;

/**
 * Files that identify the code of a bundle, under AXLearn's names (docs/bundles.md): commit, branch, remotes, the diff of
 * included files to the commit, and git's status of each file. Empty outside of a repository, or before its first commit.
 */
export async function gitFiles(
  folder: string,
  isLeftOut: (path: string) => boolean,
): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const own = await ownFilters(folder);
  if ('failure' in own) return [];
  const ask: Ask = async (words) => textOf(await askWithout(own, folder, words));
  const commit = await ask(['rev-parse', 'HEAD']);
  if (commit === undefined) return [];
  const [branch, remote, diff, porcelain] = await Promise.all([
    ask(['rev-parse', '--abbrev-ref', 'HEAD']),
    ask(['remote', '-v']),
    difference(ask, isLeftOut),
    ask(['status', '--porcelain', '--', '.']),
  ]);
  const texts = { commit, branch, remote: remote && withoutPasswords(remote), diff, porcelain };
  return Object.entries(texts).flatMap(([name, text]) => (text === undefined ? [] : [{ name: `.git.${name}`, text }]));
}

/** The diff to the commit, without excluded files. */
async function difference(ask: Ask, isLeftOut: (path: string) => boolean): Promise<string | undefined> {
  const how = ['--relative', '--no-renames', '--no-color'];
  const listed = await ask(['diff', ...how, '--name-only', '-z', 'HEAD', '--', '.']);
  const changed = listed?.split('\0').filter((path) => path !== '' && !isLeftOut(path));
  if (changed === undefined || changed.length === 0) return changed && '';
  if (changed.join(' ').length > MOST_NAMES) return undefined;
  return ask(['--literal-pathspecs', 'diff', ...how, 'HEAD', '--', ...changed]);
}

/** Removes passwords from remotes: a URL may hold a person's token, as in `https://user:token@host`, `?private_token=..`. */
const withoutPasswords = (remotes: string): string => remotes.replace(/(:\/\/)[^/\s]*@/g, '$1').replace(/\?\S*/g, '');

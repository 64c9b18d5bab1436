import { parse } from 'yaml';
import { isMapping } from '../../../domain/job-file/plain-tree.js';
import { shellWords, shellQuote, splitShellWords } from '../../../domain/shell-quote.js';
import { typedCommand } from '../../terminal/print.js';

/** Keys of a job file that have a flag of `jobctl submit`. */
const FLAGS: Readonly<Record<string, string>> = {
  'tpu.accelerator': '--tpu',
  'tpu.zone': '--zone',
  'tpu.pricing': '--pricing',
  slices: '--slices',
  project: '--project',
  user: '--user',
  priority: '--priority',
  'bundle.dir': '--bundle',
};

/**
 * The command line that submits a job without its file, ready to paste.
 * @param tree a job file as plain JSON
 * @param more further words of the line
 */
export function submitLine(tree: Readonly<Record<string, unknown>>, more: readonly string[] = []): string {
  const leaves = leavesOf(tree).filter(([path]) => path !== 'command.run');
  const flags = leaves.flatMap(([path, value]) => {
    const flag = FLAGS[path];
    return flag === undefined ? ['--set', `${path}=${settable(value)}`] : [flag, String(value)];
  });
  const { run } = (tree['command'] ?? {}) as { readonly run?: string };
  const command = run === undefined ? [] : ['--', wordsOf(run)];
  return [typedCommand(), 'submit', shellWords([...flags, ...more]), ...command].filter(Boolean).join(' ');
}

/** Words of a line that needs no shell, else the line as one word, which is a shell line. */
function wordsOf(run: string): string {
  const words = splitShellWords(run);
  return words !== undefined && words.length > 1 && shellWords(words) === run ? run : shellQuote(run);
}

function leavesOf(tree: unknown, path = ''): readonly (readonly [string, unknown])[] {
  if (!isMapping(tree) || (path !== '' && Object.keys(tree).length === 0)) return [[path, tree]];
  return Object.entries(tree).flatMap(([key, value]) => leavesOf(value, path === '' ? key : `${path}.${key}`));
}

/** Writes a value so that `--set` reads it back: a text that YAML would take for something else is quoted. */
function settable(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  try {
    return parse(value) === value ? value : JSON.stringify(value);
  } catch {
    return JSON.stringify(value);
  }
}

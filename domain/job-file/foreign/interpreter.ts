import { baseName } from '../../local-files.js';
import { splitShellWords } from '../../shell-quote.js';

const SHELLS = ['bash', 'sh', 'dash', 'zsh', 'ksh', 'csh', 'tcsh', 'fish'];

/** The words that run a script, by its first line; undefined without such a line. */
export function interpreterOf(script: string): readonly string[] | undefined {
  const line = /^#!([^\n]*)/.exec(script)?.[1];
  const [first = '', ...rest] = splitShellWords(line ?? '') ?? [];
  const words =
    baseName(first) === 'env' ? rest.filter((word) => word !== '-S' && !word.includes('=')) : [first, ...rest];
  const [program = '', ...options] = words;
  return program === '' ? undefined : [baseName(program), ...options];
}

/** A line about an interpreter that a host may lack; none about one that each has. */
export function lackOf([program = '']: readonly string[]): readonly string[] {
  const isThere = ['bash', 'sh', 'dash', 'perl'].includes(program) || isPython([program]);
  return isThere
    ? []
    : [`the hosts need \`${program}\`: an image has it, or script: {run: ..} of a job file installs it`];
}

export const isShell = ([program = '']: readonly string[] = []): boolean => SHELLS.includes(program);
export const isPython = ([program = '']: readonly string[] = []): boolean => /^python[\d.]*$/.test(program);

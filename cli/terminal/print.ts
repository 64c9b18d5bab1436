import { visibleLines } from '../../domain/outside-text.js';
import { OWN_COLOURS } from './render/look.js';
import { homedir } from 'node:os';
import { foldLine, terminalWidth } from './render/columns.js';
import type { Environment } from './home.js';

/**
 * Prints text for people and JSON. Names and messages come from anybody who may start a workflow, so only plain text reaches the
 * terminal. Output of hosts (`logs`, `exec`) is not printed here but shown byte for byte (docs/cli.md).
 */
export const printOut = (text: string): void => void process.stdout.write(visibleLines(text));
export const printErr = (text: string): void => void process.stderr.write(visibleLines(text));

/** For lines that `Look.paint` coloured: keeps these colours. Text from outside must have gone through `oneLine` before. */
export function painted(text: string): string {
  return text
    .split(OWN_COLOURS)
    .map((part, index) => (index % 2 === 0 ? visibleLines(part) : part))
    .join('');
}

export const printPainted = (text: string): void => void process.stdout.write(painted(text));

/** Prints a line for people to stderr. On a terminal it is broken between words. */
export function tellLine(line: string): void {
  printErr(`${foldLine(line, terminalWidth(process.stderr)).join('\n')}\n`);
}

/** Shows a path below the home folder as `~/..`, the short form that its owner uses. */
export function shortPath(path: string): string {
  const home = homedir();
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

/** The way in which jobctl was called, so that a printed command can be pasted: npx and `npm exec` set `npm_command`. */
export const typedCommand = (env: Environment = process.env): string =>
  env['npm_command'] === 'exec' ? 'npx jobctl' : 'jobctl';

/** Matches commands of jobctl in a text; nothing before `knowVerbs`. */
let command = /(?!)/g;

/** Sets the verbs, which program.ts knows and this module does not. */
export function knowVerbs(names: readonly string[]): void {
  command = new RegExp(`(?<![\\w/.@-]|npx )jobctl (?=(?:${names.join('|')}|--help)\\b)`, 'g');
}

/**
 * Rewrites the commands in a text to the way in which jobctl was called: under npx, `jobctl logs x` becomes `npx jobctl logs x`.
 * Call it for every printed hint and for messages of a worker. Errors (main.ts) and help (program.ts) pass through it as a whole.
 * Do not call it for output of hosts or for JSON.
 */
export function asTyped(text: string, env: Environment = process.env): string {
  const typed = typedCommand(env);
  return typed === 'jobctl' ? text : text.replaceAll(command, `${typed} `);
}

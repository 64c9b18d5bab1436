import { homedir } from 'node:os';
import { foldLine, terminalWidth } from './columns.js';
import { printErr } from '../print.js';

/** Prints a line for people to stderr. On a terminal it is broken between words. */
export function tellLine(line: string): void {
  printErr(`${foldLine(line, terminalWidth(process.stderr)).join('\n')}\n`);
}

/** Shows a path below the home folder as `~/..`, the short form that its owner uses. */
export function shortPath(path: string): string {
  const home = homedir();
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

import { homedir } from 'node:os';
import { foldLine, terminalWidth } from './columns.js';
import { printErr } from '../print.js';

/** A line for a person on stderr. On a terminal it is broken between words. */
export function tellLine(line: string): void {
  printErr(`${foldLine(line, terminalWidth(process.stderr)).join('\n')}\n`);
}

/** A path below the home as `~/..`, which is shorter, and how its owner names it. */
export function shortPath(path: string): string {
  const home = homedir();
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

import type { Environment } from './home.js';

/** The way in which jobctl was called, so that a printed command can be pasted: npx and `npm exec` set `npm_command`. */
export const typedCommand = (env: Environment = process.env): string =>
  env['npm_command'] === 'exec' ? 'npx jobctl' : 'jobctl';

/** Finds commands in a text; before `knowVerbs` nothing. */
let command = /(?!)/g;

/** The verbs, told by program.ts: this floor knows none by itself. */
export function knowVerbs(names: readonly string[]): void {
  command = new RegExp(`(?<![\\w/.@-]|npx )jobctl (?=(?:${names.join('|')}|--help)\\b)`, 'g');
}

/**
 * Rewrites the commands in a text to the way in which jobctl was called: `jobctl logs x` becomes `npx jobctl logs x` under npx.
 * Used for every printed hint and for messages of a worker; errors (main.ts) and help (program.ts) pass through it as a whole.
 * Never used for output of hosts or for JSON.
 */
export function asTyped(text: string, env: Environment = process.env): string {
  const typed = typedCommand(env);
  return typed === 'jobctl' ? text : text.replaceAll(command, `${typed} `);
}

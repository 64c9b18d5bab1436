import type { Environment } from './home.js';

/** The way in which jobctl was called, so that a printed command can be pasted: npx and `npm exec` set `npm_command`. */
export const typedCommand = (env: Environment = process.env): string =>
  env['npm_command'] === 'exec' ? 'npx jobctl' : 'jobctl';

/** The verbs of `jobctl --help`; test/architecture/hints.test.ts holds them equal. */
export const VERBS = [
  ...[
    'init',
    'submit',
    'build',
    'launch',
    'validate',
    'list',
    'top',
    'capacity',
    'status',
    'why',
    'logs',
    'wait',
    'export',
    'cancel',
  ],
  ...['stop', 'resume', 'restart', 'requeue', 'delete', 'ssh', 'exec', 'stacks', 'cp', 'port-forward'],
  ...['download', 'outputs', 'import', 'context', 'login', 'logout', 'whoami', 'secret', 'quota', 'machines', 'setup'],
  ...[
    'access',
    'doctor',
    'contract',
    'audit',
    'codec',
    'worker',
    'serve',
    'version',
    'completion',
    'dev',
    'rehearsal',
    'rehearse',
    'help',
  ],
] as const;

const COMMAND = new RegExp(`(?<![\\w/.@-]|npx )jobctl (?=(?:${VERBS.join('|')}|--help)\\b)`, 'g');

/**
 * Rewrites the commands in a text to the way in which jobctl was called: `jobctl logs x` becomes `npx jobctl logs x` under npx.
 * Used for every printed hint and for messages of a worker; errors (main.ts) and help (program.ts) pass through it as a whole.
 * Never used for output of hosts or for JSON.
 */
export function asTyped(text: string, env: Environment = process.env): string {
  const typed = typedCommand(env);
  return typed === 'jobctl' ? text : text.replaceAll(COMMAND, `${typed} `);
}

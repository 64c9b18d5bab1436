import type { Environment } from './dev/home.js';

/** How jobctl was called, so that a printed command can be pasted: npx and `npm exec` set `npm_command`. */
export const typedCommand = (env: Environment = process.env): string =>
  env['npm_command'] === 'exec' ? 'npx jobctl' : 'jobctl';

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Environment } from './home.js';

const ROOT = new URL('../../../', import.meta.url);
const IS_SOURCE = import.meta.url.endsWith('.ts');

/** What runs `programArguments`. */
export const nodePath = (): Promise<string> => Promise.resolve(process.execPath);

/**
 * Node's arguments to run another entry of this same jobctl, such as `rehearsal/main`: the built file beside this built file, or
 * the source through tsx where this file itself runs as source.
 */
export function programArguments(entry: string, args: readonly string[]): readonly string[] {
  const path = fileURLToPath(new URL(`${entry}.${IS_SOURCE ? 'ts' : 'js'}`, ROOT));
  if (!existsSync(path)) throw new Error(`${path} is missing: this installation of jobctl is not complete`);
  // By its full address: a background process does not run in the project's folder.
  const loader = IS_SOURCE ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href] : [];
  return [...loader, path, ...args];
}

const CREDENTIALS = 'GOOGLE_APPLICATION_CREDENTIALS';
const FOREIGN = /^(TEMPORAL_|JOBCTL_|npm_|INIT_CWD$)/;

/**
 * The environment of a background process. What would point it to another server, or to another stack, than its own
 * configuration names stays behind.
 */
export function partEnvironment(env: Environment): NodeJS.ProcessEnv {
  const { [CREDENTIALS]: credentials } = env;
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !FOREIGN.test(name))),
    // It runs in another folder.
    ...(credentials ? { [CREDENTIALS]: resolve(credentials) } : {}),
  };
}

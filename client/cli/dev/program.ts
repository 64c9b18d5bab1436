import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Environment } from './home.js';
import { programIn } from './packages.js';

const ROOT = new URL('../../../', import.meta.url);
const IS_SOURCE = import.meta.url.endsWith('.ts');
/** Runs sources. By its full address: a background process does not run in the project's folder. */
const LOADER = IS_SOURCE ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href] : [];

/** What runs these programs. */
export const nodePath = (): Promise<string> => Promise.resolve(process.execPath);

/** Node's arguments that run this same jobctl. */
export function jobctlProgram(args: readonly string[]): readonly string[] {
  return [...LOADER, fileURLToPath(new URL(`client/cli/main.${IS_SOURCE ? 'ts' : 'js'}`, ROOT)), ...args];
}

/** Node's arguments that run the rehearsed cloud. @throws CliError if its package is not installed */
export function rehearsalProgram(args: readonly string[]): readonly string[] {
  const file = IS_SOURCE
    ? fileURLToPath(new URL('rehearsal/main.ts', ROOT))
    : programIn('@jobctl/cloud-tpu-rehearsal', 'main.js');
  return [...LOADER, file, ...args];
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

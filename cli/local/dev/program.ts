import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Environment } from '../../terminal/home.js';
import { moduleFile, placeOf } from '../../place/packages.js';

const ROOT = new URL('../../../', import.meta.url);
const IS_SOURCE = import.meta.url.endsWith('.ts');
/** Runs sources. Its address is absolute, because a background process does not run in the project's folder. */
const LOADER = IS_SOURCE ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href] : [];

/** The executable that runs these programs. */
export const nodePath = (): Promise<string> => Promise.resolve(process.execPath);

/** Node's arguments for a worker: this jobctl, or the one next to the worker's package. @throws CliError if that is missing */
export function workerProgram(args: readonly string[], env: Environment): readonly string[] {
  const main = IS_SOURCE
    ? fileURLToPath(new URL('cli/main.ts', ROOT))
    : join(placeOf('@jobctl/worker', env).jobctl, 'dist/cli/main.js');
  return [...LOADER, main, 'worker', ...args];
}

/** Node's arguments that run the rehearsed cloud. @throws CliError if its package is not installed */
export function rehearsalProgram(args: readonly string[], env: Environment): readonly string[] {
  return [...LOADER, moduleFile('@jobctl/cloud-tpu-rehearsal', 'main', env), ...args];
}

const CREDENTIALS = 'GOOGLE_APPLICATION_CREDENTIALS';
const FOREIGN = /^(TEMPORAL_|JOBCTL_|npm_|INIT_CWD$)/;

/** The environment of a background process, without variables that could point it to another server or stack. */
export function partEnvironment(env: Environment): NodeJS.ProcessEnv {
  const { [CREDENTIALS]: credentials } = env;
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !FOREIGN.test(name))),
    // The process runs in another folder.
    ...(credentials ? { [CREDENTIALS]: resolve(credentials) } : {}),
  };
}

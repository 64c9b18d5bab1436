import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { isOlderVersion } from '../../../../domain/temporal-server.js';
import { CliError, ExitCode } from '../../../terminal/cli-error.js';
import { shortPath, asTyped } from '../../../terminal/print.js';
import { cacheFolder, type Environment } from '../../../terminal/home.js';
import {
  executableOnPath,
  isExecutableFile,
  fillCache,
  goInstall,
  type GoProgram,
  probeGo,
} from '../temporal-server/executables.js';

/** The version that jobctl builds: that of the Temporal CLI that it gets for other stacks. */
const SERVER: GoProgram = {
  title: 'the Temporal server',
  module: 'go.temporal.io/server',
  command: 'cmd/server',
  executable: 'server',
  version: '1.29.1',
  minutes: 2,
};
/** The oldest version that was tested. Much older ones use plain text between their own services. */
const OLDEST = '1.29.0';
const EXECUTABLE = 'temporal-server';
const RUN_TIMEOUT_MS = 5_000;
const PROBE_TIMEOUT_MS = 3_000;

/** Places of the executable, in the order in which they are tried. */
const WAYS = ['JOBCTL_TEMPORAL_SERVER', 'PATH', 'cache', 'go install'] as const;
type Way = (typeof WAYS)[number];

/**
 * Finds the executable of Temporal's own server, or builds it once if Go is installed. It is not downloaded, because no release
 * has a checksum that this version knows.
 * @throws CliError with each way, its reason and the remedy
 */
export async function findServer(env: Environment, onProgress: (line: string) => void): Promise<string> {
  const reasons: [Way, string][] = [];
  for (const way of WAYS) {
    try {
      const path = await PATH_BY_WAY[way](env, onProgress);
      const version = await serverVersion(path);
      onProgress(`Temporal server ${version} by ${way}: ${shortPath(path)}`);
      return path;
    } catch (error) {
      reasons.push([way, (error as Error).message]);
    }
  }
  throw noServer(reasons);
}

const PATH_BY_WAY: Readonly<Record<Way, (env: Environment, onProgress: (line: string) => void) => Promise<string>>> = {
  JOBCTL_TEMPORAL_SERVER: async (env) => {
    const configured = env['JOBCTL_TEMPORAL_SERVER'];
    if (configured === undefined || configured === '') throw new Error('not set');
    return resolve(configured);
  },
  PATH: async (env) => {
    const found = executableOnPath(EXECUTABLE, env);
    if (found === undefined) throw new Error(`there is no \`${EXECUTABLE}\` on PATH`);
    return found;
  },
  cache: async (env) => {
    const path = cachedServer(env);
    if (!isExecutableFile(path)) throw new Error(`${path} is not there yet`);
    return path;
  },
  'go install': async (env, onProgress) => {
    await probeGo(SERVER, env, PROBE_TIMEOUT_MS);
    const path = cachedServer(env);
    const isThere = async (): Promise<boolean> => isExecutableFile(path);
    await fillCache(path, isThere, (scratch) => goInstall(SERVER, env, scratch, onProgress), onProgress);
    return path;
  },
};

const cachedServer = (env: Environment): string => join(cacheFolder(env), EXECUTABLE, SERVER.version, EXECUTABLE);

/** Runs the executable for its version. @throws Error with a one-line reason if it cannot be used */
async function serverVersion(path: string): Promise<string> {
  const options = { timeout: RUN_TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
  const { stdout } = await promisify(execFile)(path, ['--version'], options).catch((error: unknown) => {
    throw new Error(`${path} --version failed (${(error as { code?: unknown }).code as string})`, { cause: error });
  });
  const version = /version (\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  if (version === undefined) throw new Error(`${path} --version does not print a version of the Temporal server`);
  if (isOlderVersion(version, OLDEST)) throw new Error(`${path} is version ${version}; ${OLDEST} or later is needed`);
  return version;
}

function noServer(reasons: readonly (readonly [Way, string])[]): CliError {
  return new CliError(
    ExitCode.Unavailable,
    'no Temporal server that asks who calls; nothing was started',
    'a stack on real Cloud TPU holds your Google login, and the ports of the dev server are open to every login of this computer',
    ...reasons.map(([way, reason]) => `  ${way}: ${reason}`),
    `install Go, or put Temporal's server ${SERVER.version} (\`${EXECUTABLE}\`) on PATH or name it in JOBCTL_TEMPORAL_SERVER`,
    asTyped('or give a server that runs: `jobctl dev up --cloud gcp --temporal-address HOST:PORT`'),
    asTyped('or, if nobody else can log in to this computer: `jobctl dev up --cloud gcp --i-am-alone-here`'),
  );
}

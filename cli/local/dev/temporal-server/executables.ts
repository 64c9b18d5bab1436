import { accessSync, constants, statSync, chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { delimiter, isAbsolute, join, basename, dirname } from 'node:path';
import { acquireLock } from '../../../place/stack/file-lock.js';
import { cacheFolder, type Environment } from '../../../terminal/home.js';
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';

/** The first file of that name on PATH that can be run, or undefined. */
export function executableOnPath(name: string, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const folders = (env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find(isExecutableFile);
}

export function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The version that jobctl gets if needed: the last that `go install` can build (docs/facts.md, "Temporal"). */
export const PINNED_CLI_VERSION = '1.5.1';
/** A build takes about three minutes on two cores. */
const OTHER_RESOLVER_TIMEOUT_MS = 15 * 60_000;

const executable = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

/** Path of the cached Temporal CLI in its pinned version, shared by all state folders of this user. */
export function cachedCliPath(env: Environment): string {
  return join(cacheFolder(env), 'temporal', PINNED_CLI_VERSION, executable);
}

/**
 * Moves the file at the path that `make` returns into the cache by one rename, so that an interrupted download or build leaves no
 * partial executable. One process at a time; `isThere` is asked again after waiting for another one.
 */
export async function fillCache(
  path: string,
  isThere: () => Promise<boolean>,
  make: (scratch: string) => Promise<string>,
  onProgress: (line: string) => void,
): Promise<void> {
  const lock = await acquireLock(`${path}.lock`, {
    timeoutMs: OTHER_RESOLVER_TIMEOUT_MS,
    onWait: (holder) => onProgress(`Waiting for process ${holder.pid}, which gets ${basename(path)} at this moment`),
  });
  try {
    if (await isThere()) return;
    await makeAndMove(path, make);
  } finally {
    lock.release();
  }
}

async function makeAndMove(path: string, make: (scratch: string) => Promise<string>): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  // Next to its destination, because a rename across file systems is not atomic.
  const scratch = mkdtempSync(join(dirname(path), 'scratch-'));
  try {
    const made = await make(scratch);
    chmodSync(made, 0o755);
    renameSync(made, path);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** An executable that Go builds from a module. */
export interface GoProgram {
  /** Name for people: `the Temporal CLI`. */
  readonly title: string;
  readonly module: string;
  readonly version: string;
  /** The package in the module: `cmd/temporal`. */
  readonly command: string;
  /** Name from Go, without `.exe`. */
  readonly executable: string;
  /** Minutes that a build takes on two cores without a cache. */
  readonly minutes: number;
}

const PROGRESS_EVERY_MS = 15_000;
const STDERR_KEPT = 2_000;

/**
 * Checks that Go is installed and can get the module, within `timeoutMs`: an unreachable proxy must cost seconds, not the time of
 * a build.
 * @throws Error with one line that gives the reason
 */
export async function probeGo({ module, version }: GoProgram, env: Environment, timeoutMs: number): Promise<void> {
  const args = ['list', '-m', '-f', '{{.Version}}', `${module}@v${version}`];
  try {
    await promisify(execFile)('go', args, { env: goEnvironment(env), timeout: timeoutMs, killSignal: 'SIGKILL' });
  } catch (err) {
    const { code, killed, stderr } = err as { code?: unknown; killed?: boolean; stderr?: string };
    if (code === 'ENOENT') throw new Error('Go is not installed (no `go` on PATH)', { cause: err });
    if (killed === true) throw new Error(`Go's module proxy gave no answer in ${timeoutMs / 1000} s`, { cause: err });
    throw new Error(`go cannot get ${module}@v${version}: ${lastLine(stderr ?? '')}`, { cause: err });
  }
}

/** Builds the program below `scratch` (250 MB when cold); returns the executable's path. */
export async function goInstall(
  { title, module, version, command, executable, minutes }: GoProgram,
  env: Environment,
  scratch: string,
  onProgress: (line: string) => void,
): Promise<string> {
  const target = `${module}/${command}@v${version}`;
  const startedAt = Date.now();
  onProgress(`Building ${title} with Go, once (about ${minutes} minutes): go install ${target}`);
  const ticker = setInterval(() => {
    onProgress(`Building ${title}: ${Math.round((Date.now() - startedAt) / 1000)} s`);
  }, PROGRESS_EVERY_MS);
  try {
    await run('go', ['install', target], { ...goEnvironment(env), GOBIN: scratch });
  } finally {
    clearInterval(ticker);
  }
  return join(scratch, process.platform === 'win32' ? `${executable}.exe` : executable);
}

/** Removes GOWORK, GOOS, GOARCH of a surrounding project, which would build another program or target (GOBIN is refused then). */
function goEnvironment(env: Environment): NodeJS.ProcessEnv {
  const { GOOS: _os, GOARCH: _arch, GOWORK: _work, ...rest } = env;
  return { ...rest, GOWORK: 'off' };
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    // In our process group, so that Ctrl-C ends the build too.
    const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_KEPT);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} ${args.join(' ')} ended with ${signal ?? code}: ${lastLine(stderr)}`));
    });
  });
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? '';
}

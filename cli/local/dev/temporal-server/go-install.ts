import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

type Environment = Readonly<Record<string, string | undefined>>;

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

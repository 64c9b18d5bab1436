import {
  accessSync,
  constants,
  statSync,
  chmodSync,
  mkdtempSync,
  renameSync,
  rmSync,
  createWriteStream,
  readFileSync,
} from 'node:fs';
import { delimiter, isAbsolute, join, basename, dirname } from 'node:path';
import { acquireLock } from '../../../place/stack/process-identity.js';
import { cacheFolder, type Environment } from '../../../terminal/home.js';
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { makeFolderSync } from '../../../../cloud/folders.js';

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
/** Time limit for another process that resolves the same server. A build takes about three minutes on two cores. */
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
  makeFolderSync(dirname(path));
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

/** The address from which Temporal's SDKs get the CLI (sdk-core, ephemeral_server/mod.rs). */
export const DOWNLOAD_URL = 'https://temporal.download';

/**
 * SHA-256 of the archives of the pinned version (github.com/temporalio/cli, release v1.5.1), by operating system and
 * architecture as Temporal names them. Archives without a known hash are not downloaded.
 */
export const ARCHIVE_SHA256: Readonly<Record<string, string>> = {
  linux_amd64: 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
  linux_arm64: 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
  darwin_amd64: 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
  darwin_arm64: 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
};

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const PLATFORMS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' };
/** Time without a byte after which a download is given up: another source may be faster than a dead line. */
const STALL_TIMEOUT_MS = 15_000;

/** The archive that holds the CLI. */
interface CliArchive {
  readonly archiveUrl: string;
  readonly fileToExtract: string;
  /** Hash of the archive, in hexadecimal. */
  readonly sha256: string;
}

interface DownloadSource {
  readonly baseUrl: string;
  /** Timeout of the first answer only: an unreachable address must cost only seconds. */
  readonly probeTimeoutMs: number;
  readonly platform: string;
  readonly arch: string;
  /** Hashes in the form of `ARCHIVE_SHA256`. */
  readonly hashes: Readonly<Record<string, string>>;
}

/**
 * Asks for the archive of the pinned version, as the SDK does.
 * @throws Error with one line: unknown platform, unreachable, or a strange answer
 */
export async function findArchive(source: DownloadSource): Promise<CliArchive> {
  const platform = PLATFORMS[source.platform];
  const arch = ARCHITECTURES[source.arch];
  if (platform === undefined || arch === undefined) {
    throw new Error(`there is no Temporal CLI for ${source.platform} on ${source.arch}`);
  }
  const sha256 = source.hashes[`${platform}_${arch}`];
  if (sha256 === undefined) throw new Error(`the archive of ${source.platform} on ${source.arch} has no known SHA-256`);
  const query = new URLSearchParams({ arch, platform, format: 'tar.gz' });
  const url = `${source.baseUrl}/temporal-cli/v${PINNED_CLI_VERSION}?${query.toString()}`;
  const response = await request(url, AbortSignal.timeout(source.probeTimeoutMs));
  const info = (await response.json().catch(() => undefined)) as Partial<CliArchive> | undefined;
  if (typeof info?.archiveUrl !== 'string' || typeof info.fileToExtract !== 'string') {
    throw new Error(`${url} did not answer with the place of an archive`);
  }
  return { archiveUrl: info.archiveUrl, fileToExtract: info.fileToExtract, sha256 };
}

/** Downloads, checks and unpacks below `scratch`. @returns the executable's path there @throws Error if the hash differs */
export async function downloadCli(
  archive: CliArchive,
  scratch: string,
  onProgress: (line: string) => void,
): Promise<string> {
  const file = join(scratch, 'archive.tar.gz');
  await fetchTo(archive.archiveUrl, file, onProgress);
  const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
  if (sha256 !== archive.sha256)
    throw new Error(`${archive.archiveUrl} has SHA-256 ${sha256}, expected ${archive.sha256}: it was not unpacked`);
  // `tar` exists on Linux, macOS and Windows 10; bsdtar also reads zip files, in case the format is ignored one day.
  await promisify(execFile)('tar', ['-xf', file, '-C', scratch, archive.fileToExtract]);
  return join(scratch, archive.fileToExtract);
}

async function fetchTo(url: string, file: string, onProgress: (line: string) => void): Promise<void> {
  const abort = new AbortController();
  const stalled = (): void => abort.abort(new Error(`${url} sent nothing for ${STALL_TIMEOUT_MS / 1000} s`));
  const timer = setTimeout(stalled, STALL_TIMEOUT_MS);
  try {
    const response = await request(url, abort.signal);
    if (response.body === null) throw new Error(`${url} answered with nothing`);
    const total = Number(response.headers.get('content-length') ?? 0);
    const body = Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
    const progress = everyTenth(total, onProgress);
    body.on('data', (chunk: Uint8Array) => {
      timer.refresh();
      progress(chunk.length);
    });
    await pipeline(body, createWriteStream(file), { signal: abort.signal });
  } finally {
    clearTimeout(timer);
  }
}

function everyTenth(total: number, onProgress: (line: string) => void): (bytes: number) => void {
  const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(0);
  let seen = 0;
  let told = 0;
  return (bytes) => {
    seen += bytes;
    if (total === 0 || seen < ((told + 1) * total) / 10) return;
    told = Math.floor((seen * 10) / total);
    onProgress(`Downloading the Temporal CLI: ${megabytes(seen)} of ${megabytes(total)} MB`);
  };
}

async function request(url: string, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { signal });
  } catch (err) {
    throw new Error(`${url} cannot be reached (${reasonOf(err)})`, { cause: err });
  }
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response;
}

function reasonOf(err: unknown): string {
  const { cause, message, name } = err as Error;
  if (name === 'TimeoutError') return 'no answer in time';
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : message;
}

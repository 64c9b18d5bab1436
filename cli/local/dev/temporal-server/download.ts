import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { promisify } from 'node:util';
import { PINNED_CLI_VERSION } from './executables.js';

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
/** The download ends after this long without a byte: another way may be faster than a dead line. */
const STALL_TIMEOUT_MS = 15_000;

/** The archive that holds the CLI. */
export interface CliArchive {
  readonly archiveUrl: string;
  readonly fileToExtract: string;
  /** Hash of the archive, in hexadecimal. */
  readonly sha256: string;
}

export interface DownloadSource {
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

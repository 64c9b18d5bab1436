import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { promisify } from 'node:util';
import { PINNED_CLI_VERSION } from './cache.js';

/** Where Temporal's SDKs get the CLI from (sdk-core, ephemeral_server/mod.rs). */
export const DOWNLOAD_URL = 'https://temporal.download';

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const PLATFORMS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' };
/** No byte for so long ends the download: another way may be faster than a dead line. */
const STALL_TIMEOUT_MS = 15_000;

/** The archive that holds the CLI. */
export interface CliArchive {
  readonly archiveUrl: string;
  readonly fileToExtract: string;
}

export interface DownloadSource {
  readonly baseUrl: string;
  /** For the first answer only; a line that cannot be reached is to cost seconds. */
  readonly probeTimeoutMs: number;
  readonly platform: string;
  readonly arch: string;
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
  const query = new URLSearchParams({ arch, platform, format: 'tar.gz' });
  const url = `${source.baseUrl}/temporal-cli/v${PINNED_CLI_VERSION}?${query.toString()}`;
  const response = await request(url, AbortSignal.timeout(source.probeTimeoutMs));
  const info = (await response.json().catch(() => undefined)) as Partial<CliArchive> | undefined;
  if (typeof info?.archiveUrl !== 'string' || typeof info.fileToExtract !== 'string') {
    throw new Error(`${url} did not answer with the place of an archive`);
  }
  return { archiveUrl: info.archiveUrl, fileToExtract: info.fileToExtract };
}

/** Downloads and unpacks below `scratch`; returns the executable's path there. */
export async function downloadCli(
  archive: CliArchive,
  scratch: string,
  onProgress: (line: string) => void,
): Promise<string> {
  const file = join(scratch, 'archive.tar.gz');
  await fetchTo(archive.archiveUrl, file, onProgress);
  // `tar` is on Linux, macOS and Windows 10; bsdtar reads zip files too, should the format be ignored one day.
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

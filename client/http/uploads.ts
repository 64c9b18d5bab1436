import { Readable } from 'node:stream';
import type { AnswerOf } from '../../contract/operations.js';
import { type SendUpload, uploadInto } from '../../cloud/store/resumable-upload.js';
import type { FileSource } from '../../domain/local-files.js';
import { JobInvalid, ServerRefused, ServerUnreachable } from '../errors.js';
import { type LocalContents, sourceOf, type UploadProgress, watchedSource } from '../uploads.js';
import { ConnectionLost, exchange } from './exchange.js';
import type { ServerCalls } from './server-calls.js';
import { addressProblem, isLoopback } from './server-options.js';

type Upload = AnswerOf<'uploads'>['files'][number];

const AT_ONCE = 4;
/** Files per query. */
const MOST_FILES = 1_000;
const REACHED_MS = 10_000;
/** Timeout of a comparison, without the time that the server takes to read the file. */
const COMPARED_MS = 60_000;
const COMPARED_BYTES_PER_MS = 5_000;

/**
 * Uploads local files that the server's store lacks: to upload URLs of the store that the server has made, or else through the
 * server.
 * @returns `path: sha256` of each
 * @throws JobInvalid if a file changes meanwhile
 */
export async function uploadOverHttp(
  calls: ServerCalls,
  files: LocalContents,
  onProgress?: (progress: UploadProgress) => void,
): Promise<Record<string, string>> {
  const sources = new Map(Object.entries(files).map(([path, content]) => [path, sourceOf(content)] as const));
  const named = [...sources].map(([path, { sha256, size }]) => ({ path, sha256, size }));
  for (let from = 0; from < named.length; from += MOST_FILES) {
    const answer = await calls.json('uploads', {
      body: { files: named.slice(from, from + MOST_FILES) },
      meanings: { invalid: (detail) => new JobInvalid(detail), 'too-large': (detail) => new JobInvalid(detail) },
    });
    const wanted = answer.files.filter(({ state }) => state === 'wanted');
    const next = async (): Promise<void> => {
      for (let upload = wanted.shift(); upload !== undefined; upload = wanted.shift()) {
        const source = sources.get(upload.path);
        if (source !== undefined)
          await sendOne(calls, upload, onProgress ? watchedSource(upload.path, source, onProgress) : source);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
  }
  return Object.fromEntries(named.map(({ path, sha256 }) => [path, sha256]));
}

async function sendOne(calls: ServerCalls, upload: Upload, source: FileSource): Promise<void> {
  const { path } = upload;
  try {
    const why = await sendDirect(calls, upload, source);
    if (why !== undefined) await sendThrough(calls, path, source, why);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'SourceChanged') throw error;
    throw new JobInvalid(`${path}: ${error.message}; nothing was submitted`, { cause: error });
  }
}

/** @returns the reason to upload through the server ('' if the server wants that); undefined: the file is stored */
async function sendDirect(calls: ServerCalls, file: Upload, source: FileSource): Promise<string | undefined> {
  const { path, url, upload } = file;
  if (url === undefined || upload === undefined) return '';
  const server = new URL(calls.address);
  const problem = addressProblem(url.split('?')[0] ?? '', server);
  if (problem !== undefined) throw new ServerRefused(`the server gave a URL for an upload that ${problem}`);
  const unreachable = whyForeign(new URL(url), server) ?? (await whyUnreachable(url, source));
  if (unreachable !== undefined) return unreachable;
  await uploadInto({ session: url, source, send: sendToStore }).catch((error: unknown) => {
    throw error instanceof Error && error.name === 'SourceChanged' ? error : storeFailure(url, error);
  });
  const { sha256, size } = source;
  await calls.send('completeUpload', {
    body: { path, sha256, upload },
    timeoutMs: COMPARED_MS + size / COMPARED_BYTES_PER_MS,
    meanings: { 'too-large': (detail) => new JobInvalid(detail) },
  });
  return undefined;
}

/** Refuses other hosts: a server must not make this computer send to arbitrary addresses, such as the user's own network. */
function whyForeign({ hostname }: URL, server: URL): string | undefined {
  if (hostname.endsWith('.googleapis.com') || (isLoopback(hostname) && isLoopback(server.hostname))) return undefined;
  return `${hostname} is not Cloud Storage, and is not asked`;
}

async function sendThrough(calls: ServerCalls, path: string, source: FileSource, why: string): Promise<void> {
  const { size, sha256 } = source;
  const bytes = { size, read: () => Readable.from(source.read(0), { objectMode: false }) };
  const said = why === '' ? '' : `the store cannot be reached from here (${why}), and through the server: `;
  await calls.send('uploadContent', {
    ...{ query: { path, sha256 }, bytes },
    meanings: { 'too-large': (detail) => new JobInvalid(`${path}: ${said}${detail}`) },
  });
}

/** Asks for the state of the upload first. Otherwise sending the whole file to an unreachable store could take minutes. */
async function whyUnreachable(url: string, { size }: FileSource): Promise<string | undefined> {
  try {
    await sendToStore({ method: 'PUT', url, headers: { 'content-range': `bytes */${size}` } }, REACHED_MS);
    return undefined;
  } catch (error) {
    if (error instanceof ConnectionLost) return error.message;
    throw error;
  }
}

/** Sends without a token, because the URL itself is the permission. */
const sendToStore: SendUpload = async ({ method, url, headers, body }, timeoutMs) => {
  const answer = await exchange(new URL(url), {
    method,
    headers: { ...headers, 'content-length': String(body?.length ?? 0) },
    ...(body && { body: () => Readable.from([body]) }),
    timeoutMs,
  });
  const { range, location } = answer.headers;
  return {
    status: answer.status,
    text: answer.body.toString('utf8'),
    ...(typeof range === 'string' && { range }),
    ...(location && { location }),
  };
};

function storeFailure(url: string, error: unknown): Error {
  const { host } = new URL(url);
  const { status, message } = error as Error & { readonly status?: number };
  if (status === undefined) return new ServerUnreachable(`the store at ${host} takes no file: ${message}`);
  return new ServerRefused(
    `the store at ${host} refuses a file: ${message.slice(0, 300)}`,
    'tell the operator of the server',
  );
}

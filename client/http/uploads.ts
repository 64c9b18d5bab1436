import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import type { uploadsSchema } from '../../contract/api/schemas.js';
import { messageIn } from '../../cloud/store/store-error.js';
import type { FileSource } from '../../domain/file-source.js';
import { JobInvalid, ServerRefused, ServerUnreachable } from '../errors.js';
import { type LocalContents, sourceOf, type UploadProgress, watchedSource } from '../uploads.js';
import { ConnectionLost, exchange } from './exchange.js';
import type { ServerCalls } from './server-calls.js';
import { addressProblem } from './server-options.js';

type Upload = z.infer<typeof uploadsSchema>['files'][number];

const AT_ONCE = 4;
/** Files of one question. */
const MOST_FILES = 1_000;
/** A store that takes no byte for so long is given up. */
const SILENCE_MS = 120_000;
const TRIES = 4;
const FIRST_PAUSE_MS = 500;

/**
 * Brings local files to the store of the server's installation, those that it has not: by URLs that the server signed, else through
 * the server. @returns `path: sha256` of each @throws JobInvalid where a file changes meanwhile
 */
export async function uploadOverHttp(
  calls: ServerCalls,
  files: LocalContents,
  onProgress?: (progress: UploadProgress) => void,
): Promise<Record<string, string>> {
  const sources = new Map(Object.entries(files).map(([path, content]) => [path, sourceOf(content)] as const));
  const named = [...sources].map(([path, { sha256, size }]) => ({ path, sha256, size }));
  for (let from = 0; from < named.length; from += MOST_FILES) {
    const asked = { files: named.slice(from, from + MOST_FILES) };
    const answer = await calls.json<z.infer<typeof uploadsSchema>>({
      ...{ method: 'POST', path: 'v1/uploads', body: asked, isRepeatable: true },
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
  const { path, url, headers } = upload;
  const { size, sha256 } = source;
  const read = (): Readable => Readable.from(source.read(0), { objectMode: false });
  try {
    if (url === undefined) {
      const bytes = { size, read };
      const query = { path, sha256 };
      await calls.send({ method: 'PUT', path: 'v1/uploads/content', query, bytes, isRepeatable: true });
    } else await putSigned(url, { ...headers, 'content-length': String(size) }, read);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'SourceChanged') throw error;
    throw new JobInvalid(`${path}: ${error.message}; nothing was submitted`, { cause: error });
  }
}

/** The URL is the permission: no token goes with it. */
async function putSigned(text: string, headers: Record<string, string>, body: () => Readable): Promise<void> {
  const problem = addressProblem(text.replace(/\?.*$/s, ''));
  if (problem !== undefined) throw new ServerRefused(`the server gave a URL for an upload that ${problem}`);
  const url = new URL(text);
  for (let tries = 1; ; tries++) {
    const answer = await exchange(url, { method: 'PUT', headers, body, timeoutMs: SILENCE_MS }).catch(
      (error: unknown) => {
        if (error instanceof ConnectionLost && !error.isLasting) return error;
        throw error;
      },
    );
    // The name is the content's hash: what is there already is as good.
    if (!(answer instanceof Error) && (answer.status < 300 || answer.status === 412)) return;
    const mayPass = answer instanceof Error || answer.status >= 500 || answer.status === 429;
    if (mayPass && tries < TRIES) {
      await sleep(FIRST_PAUSE_MS * 2 ** (tries - 1));
      continue;
    }
    const why = answer instanceof Error ? answer.message : messageIn(answer.body.toString('utf8')).slice(0, 300);
    throw mayPass
      ? new ServerUnreachable(`the store at ${url.host} takes no file: ${why}`)
      : new ServerRefused(`the store at ${url.host} refuses a file: ${why}`, 'tell the operator of the server');
  }
}

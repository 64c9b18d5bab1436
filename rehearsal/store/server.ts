import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { isOwnLogin } from '../access/own-login.js';
import { listenFailure } from '../listen-failure.js';
import { type Guard, loopbackServer, urlOf } from '../loopback-server.js';
import { asBytes, asStoreError, refused } from './answers.js';
import { answerBatch, isBatch } from './batch.js';
import { Buckets } from './buckets.js';
import type { StoreAnswer } from './call.js';
import { MultipartUploads } from './multipart-uploads.js';
import type { StoreHooks, StoreRequest } from './service.js';
import { StoreService } from './service.js';
import { SigningKey } from './signing-key.js';
import { parseTarget } from './target.js';
import { ResumableUploads } from './uploads.js';

export type { StoreHooks } from './service.js';

export interface StoreServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Longer than any client keeps an unused connection, so that the client closes first. */
const KEEP_ALIVE_MS = 620_000;

/**
 * Starts Cloud Storage on loopback, with its objects in `folder`. Beside the buckets' folders there are some whose names begin
 * with a dot, as no bucket's does.
 * @param port 0: any free port
 */
export async function startStoreServer(
  folder: string,
  port: number,
  hooks: StoreHooks,
  guard: Guard = { hostNames: [] },
): Promise<StoreServer> {
  const buckets = new Buckets(folder, hooks.now ?? Date.now);
  const parts = {
    buckets,
    uploads: new ResumableUploads(join(folder, '.uploads'), buckets),
    multipartUploads: new MultipartUploads(join(folder, '.parts'), buckets),
    granted: hooks.rights.granted,
  };
  const service = new StoreService(parts, hooks, new SigningKey(join(folder, '.signing-key.json')));
  const server = loopbackServer(guard, (request, response) => void serve(service, request, response));
  // An upload may take any time.
  server.requestTimeout = 0;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenFailure('Cloud Storage', port, error, '--store-port')));
    server.listen(port, '127.0.0.1', resolve);
  });
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
    buckets.close();
  };
  return { url: urlOf(server), close };
}

async function serve(service: StoreService, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const asked = requestOf(request);
  const answer = isBatch(asked)
    ? await answerBatch(service, asked).catch((error: unknown) => refused(asStoreError(error)))
    : await service.answer(asked);
  readRest(request);
  send(request, response, answer);
}

/**
 * The unwanted rest of a body must be read all the same, or the client never reads the answer. A reader that stopped after an
 * upload's head still listens, and then `resume` alone has no effect.
 */
function readRest(request: IncomingMessage): void {
  request.removeAllListeners('readable');
  request.resume();
}

function requestOf(request: IncomingMessage): StoreRequest {
  const scheme = 'encrypted' in request.socket ? 'https' : 'http';
  return {
    ...parseTarget(request.url ?? '/'),
    verb: request.method ?? 'GET',
    headers: request.headers,
    isOwnLogin: () => !mayBeSimple(request) && isOwnLogin(request.socket),
    // The answer goes over the same socket, so a reader that stops must not destroy it.
    content: { [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }) },
    origin: `${scheme}://${request.headers.host ?? '127.0.0.1'}`,
  };
}

/**
 * Whether a web page could send this POST without a preflight (fetch.spec.whatwg.org, "CORS-safelisted"). Then the login of the
 * process, which may be a browser, proves nothing.
 */
function mayBeSimple({ method, headers }: IncomingMessage): boolean {
  const { 'content-type': type = '' } = headers;
  const isSafelisted = /^(|text\/plain|multipart\/form-data|application\/x-www-form-urlencoded)$/.test(essence(type));
  return method === 'POST' && isSafelisted && !Object.keys(headers).some((name) => name.startsWith('x-'));
}

const essence = (type: string): string => (type.split(';')[0] ?? '').trim().toLowerCase();

function send(request: IncomingMessage, response: ServerResponse, answer: StoreAnswer): void {
  const { status, headers, content } = asBytes(answer);
  const isBodyless = request.method === 'HEAD' || status === 204 || status === 304;
  if (Buffer.isBuffer(content)) {
    const length = isBodyless ? {} : { 'content-length': content.length };
    response.writeHead(status, { ...length, ...headers }).end(isBodyless ? undefined : content);
    return;
  }
  response.writeHead(status, headers);
  // The end of either ends both; a client that went away is not an error here.
  pipeline(content, response, () => undefined);
}

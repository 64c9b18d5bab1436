import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { callHeaders } from '../access/access-control.js';
import type { Certificates } from '../access/certificates.js';
import { listenFailure } from '../listen-failure.js';
import type { StoreRights } from './authorization.js';
import { Buckets } from './buckets.js';
import type { StoreAnswer, StoreCall, StoreMethodName, StoreParts } from './calls.js';
import { STORE_METHODS } from './calls.js';
import type { Route } from './routes.js';
import { routeOf } from './routes.js';
import { StoreError, storeErrors } from './store-error.js';
import { ResumableUploads } from './uploads.js';

export interface StoreServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface StoreHooks {
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
  /** A call that is to be refused, before its effect or after it; undefined if it goes through. */
  readonly refusal: (
    method: StoreMethodName,
    name: string,
  ) => { readonly error: StoreError; readonly afterEffect: boolean } | undefined;
  readonly rights: StoreRights;
}

/** Cloud Storage's JSON API on loopback, its objects kept in `folder`. @param port 0 for any. @param tls absent: plain. */
export async function startStoreServer(
  folder: string,
  port: number,
  hooks: StoreHooks,
  tls?: Certificates,
): Promise<StoreServer> {
  const parts = { buckets: new Buckets(folder), uploads: new ResumableUploads(), granted: hooks.rights.granted };
  const server = httpServer(tls, (request, response) => {
    serve(parts, hooks, request).then(
      (answer) => send(request, response, answer),
      (error: unknown) => sendError(response, error),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenFailure('Cloud Storage', port, error, '--store-port')));
    server.listen(port, '127.0.0.1', resolve);
  });
  const url = `${schemeOf(tls)}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return { url, close };
}

function httpServer(tls: Certificates | undefined, listener: RequestListener): Server {
  return tls === undefined
    ? createServer(listener)
    : createTlsServer({ key: tls.key, cert: tls.certificate }, listener);
}

const schemeOf = (tls: Certificates | undefined): string => (tls === undefined ? 'http' : 'https');

async function serve(parts: StoreParts, hooks: StoreHooks, request: IncomingMessage): Promise<StoreAnswer> {
  const body = await bodyOf(request);
  const scheme = 'encrypted' in request.socket ? 'https' : 'http';
  const origin = `${scheme}://${request.headers.host ?? '127.0.0.1'}`;
  const url = new URL(request.url ?? '/', origin);
  const verb = request.method ?? 'GET';
  const route = routeOf(verb, url.pathname, url.searchParams);
  if (route === undefined) throw storeErrors.notServed(`${verb} ${url.pathname}`);
  const call: StoreCall = { ...route, query: url.searchParams, headers: request.headers, body, origin };
  const subject = `${route.bucket}/${route.object}`;
  try {
    const answer = await run(parts, hooks, route, call, subject);
    hooks.record('store-call', subject, { method: route.method, code: 200, bytes: body.byteLength });
    return answer;
  } catch (error) {
    const code = error instanceof StoreError ? error.httpStatus : 500;
    hooks.record('store-call', subject, { method: route.method, code, message: String(error) });
    throw error;
  }
}

async function run(
  parts: StoreParts,
  hooks: StoreHooks,
  route: Route,
  call: StoreCall,
  subject: string,
): Promise<StoreAnswer> {
  const { method } = route;
  const headers = callHeaders(call.headers);
  hooks.rights.authorize({ method, headers, replaces: replacesObject(parts, route, call.query) });
  const refusal = hooks.refusal(route.method, subject);
  if (refusal !== undefined && !refusal.afterEffect) throw refusal.error;
  const answer = await STORE_METHODS[method](parts, call);
  if (refusal !== undefined) throw refusal.error;
  return answer;
}

/** A write to a name that is taken. One that wants the name free fails for that, not for rights. */
function replacesObject({ buckets }: StoreParts, route: Route, query: URLSearchParams): boolean {
  const written = route.destination ?? (/^objects\.(insert|compose)$/.test(route.method) ? route : undefined);
  if (written === undefined || query.get('ifGenerationMatch') === '0') return false;
  return buckets.find(written.bucket)?.objects.find(written.object) !== undefined;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function send(request: IncomingMessage, response: ServerResponse, answer: StoreAnswer): void {
  const content = answer.kind === 'bytes' ? answer.content : Buffer.from(JSON.stringify(answer.json));
  const headers =
    answer.kind === 'bytes' ? answer.headers : { 'content-type': 'application/json; charset=UTF-8', ...answer.headers };
  const status = answer.status ?? 200;
  response.writeHead(status, { ...headers, ...(status === 204 ? {} : { 'content-length': content.byteLength }) });
  response.end(request.method === 'HEAD' || status === 204 ? undefined : content);
}

function sendError(response: ServerResponse, error: unknown): void {
  const refused = error instanceof StoreError ? error : new StoreError(500, 'backendError', String(error));
  const content = Buffer.from(JSON.stringify(refused));
  if (refused.httpStatus === 304) {
    response.writeHead(304).end();
    return;
  }
  const headers = { 'content-type': 'application/json; charset=UTF-8', 'content-length': content.byteLength };
  response.writeHead(refused.httpStatus, headers).end(content);
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Certificates } from '../access/certificates.js';
import { isEqual } from '../access/equal-text.js';
import { FOREIGN_ADVICE, foreignReason } from '../access/foreign-request.js';
import { listenFailure } from '../listen-failure.js';
import { loopbackServer, urlOf as serverUrl } from '../loopback-server.js';
import { answerCall, type ApiParts, podOf, targetOf } from './api-calls.js';
import { ApiRefusal, refusals } from './api-status.js';
import { discovered } from './discovery.js';
import { serveExec } from './pod-exec.js';
import { type KubernetesMethod, methodOf } from './refused-calls.js';

/** The refusal in force for a call, counted as used. `afterEffect`: the call takes effect, and its answer is lost. */
export type RefusalOf = (
  method: KubernetesMethod,
  path: string,
) => { readonly error: ApiRefusal; readonly afterEffect: boolean } | undefined;

export interface ApiServerParts extends ApiParts {
  readonly token: string;
  /** Names of this computer that callers may use. */
  readonly hostNames: readonly string[];
  readonly tls: Certificates;
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
  readonly refusalOf: RefusalOf;
}

/** A larger body is refused, as etcd would refuse the object. */
const MOST_BODY_BYTES = 3 * 1024 * 1024;
/** Longer than any client keeps an unused connection. */
const KEEP_ALIVE_MS = 620_000;
/** Paths that need no token. */
const PUBLIC = /^\/(version|healthz|readyz|livez)$/;

/** Starts the API server, on loopback with TLS. @param port 0: any free port */
export async function startApiServer(
  parts: ApiServerParts,
  port: number,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { hostNames, tls } = parts;
  const server = loopbackServer({ hostNames, tls }, (request, response) => void serve(parts, request, response));
  server.requestTimeout = 0;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const upgraded = new Set<Duplex>();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket)).on('error', () => undefined);
    upgrade(parts, request, socket, head);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenFailure('Kubernetes', port, error, '--kubernetes-port')));
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    url: serverUrl(server),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of upgraded) socket.destroy();
      server.closeAllConnections();
      await closed;
    },
  };
}

const urlOf = ({ url = '/' }: IncomingMessage): URL => new URL(url, 'https://rehearsal');

async function serve(parts: ApiServerParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', headers } = request;
  const agent = headers['user-agent'];
  const { pathname: path, searchParams: query } = urlOf(request);
  response.on('error', () => undefined);
  try {
    if (!PUBLIC.test(path)) authenticate(parts, request);
    if (/^\/(healthz|readyz|livez)$/.test(path)) return send(response, 200, 'ok');
    const known = method === 'GET' ? discovered(path, parts.store) : undefined;
    if (known !== undefined) return send(response, 200, known);
    if (!/^\/apis?\//.test(path)) return send(response, 404, '404 page not found\n');
    const body = await bodyOf(request, method);
    const { accept } = headers;
    const refusable = methodOf(method);
    const refusal = refusable && parts.refusalOf(refusable, path);
    if (refusal?.afterEffect === false) throw refusal.error;
    const answer = await answerCall(parts, { method, path, query, accept, body, response });
    if (method !== 'GET') parts.record('kubernetes-call', path, { method, code: answer?.status, agent });
    if (refusal !== undefined) throw refusal.error;
    if (answer !== undefined) send(response, answer.status, answer.body);
  } catch (error) {
    const refused = asRefusal(error);
    // A lookup that finds nothing is not journalled.
    if (method !== 'GET' || refused.code !== 404)
      parts.record('kubernetes-call', path, { method, code: refused.code, message: refused.message, agent });
    if (response.headersSent) response.destroy();
    else send(response, refused.code, refused.body);
  }
}

function upgrade(parts: ApiServerParts, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { pathname: path, searchParams: query } = urlOf(request);
  try {
    const foreign = foreignReason(request.headers, parts.hostNames);
    if (foreign !== undefined) throw new ApiRefusal(403, 'Forbidden', `refused: ${foreign}; ${FOREIGN_ADVICE}`);
    authenticate(parts, request);
    const refusal = parts.refusalOf('kubernetes.exec', path);
    if (refusal !== undefined) throw refusal.error;
    const target = targetOf(path);
    if (target?.subresource !== 'exec') throw refusals.noSuchResource();
    const pod = podOf(parts.store, target);
    serveExec(parts.kubelet, pod, { request, socket, head }, query);
  } catch (error) {
    const refused = asRefusal(error);
    parts.record('kubernetes-call', path, { method: 'GET', code: refused.code, message: refused.message });
    const body = Buffer.from(JSON.stringify(refused.body));
    const headers = `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`;
    socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 ${refused.code} ${refused.reason}\r\n${headers}`), body]));
  }
}

function authenticate({ token }: ApiServerParts, { headers }: IncomingMessage): void {
  if (!isEqual(/^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '', token)) throw refusals.unauthorized();
}

async function bodyOf(request: IncomingMessage, method: string): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > MOST_BODY_BYTES) throw new ApiRefusal(413, 'RequestEntityTooLarge', `limit is ${MOST_BODY_BYTES}`);
  }
  if (bytes === 0) return {};
  const type = request.headers['content-type'] ?? 'application/json';
  const wanted = method === 'PATCH' ? 'application/json-patch+json' : 'application/json';
  if (type.split(';')[0]?.trim() !== wanted) throw refusals.mediaType(type, wanted);
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw refusals.badRequest(`couldn't get version/kind; json parse error: ${(error as Error).message}`);
  }
}

const asRefusal = (error: unknown): ApiRefusal =>
  error instanceof ApiRefusal
    ? error
    : new ApiRefusal(
        500,
        'InternalError',
        `Internal error occurred: ${error instanceof Error ? error.message : String(error)}`,
      );

function send(response: ServerResponse, status: number, body: object | string): void {
  const isText = typeof body === 'string';
  const content = Buffer.from(isText ? body : JSON.stringify(body));
  const type = isText ? 'text/plain; charset=utf-8' : 'application/json';
  response.writeHead(status, { 'content-type': type, 'content-length': content.length });
  response.end(content);
}

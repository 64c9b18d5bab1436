import { createHash, randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyReply,
  type FastifyRequest,
  type ConnectionError,
} from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { Semaphore } from '../domain/semaphore.js';
import { sha256Of } from '../cloud/trust/submission-signature.js';
import { beyond, type Bounds } from '../domain/bounds.js';
import type { RouteVerb } from '../contract/operations.js';
import type { Call } from './access/gate.js';
import type { ServerConfig } from './config.js';
import type { Caller } from './identity/verifier.js';
import { ApiError, problemOf, TooManyRequests } from './problem.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler of /v1 runs, except that of `/v1/login`. */
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    /** The route answers calls without a token. */
    readonly isOpen?: true;
    /** Name of the route's calls in the audit log if refused outside the access table. Every route with a token has one. */
    readonly verb?: RouteVerb;
    /** Whether calls of the route wait for their turn (`takeTurns`). Absent: reading calls and deletions do. */
    readonly turn?: boolean | ((query: unknown) => boolean);
  }
}

export type App = ReturnType<typeof bareApp>;

/** The server without routes. */
export function bareApp({ listen, limits }: Pick<ServerConfig, 'listen' | 'limits'>, log: FastifyBaseLogger) {
  return fastify({
    loggerInstance: log,
    // A query may contain the name of a secret, so only paths are logged (`onResponse`).
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    bodyLimit: limits.bodyBytes,
    trustProxy: listen.trustProxies.length === 0 ? false : [...listen.trustProxies],
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 4_096 },
    frameworkErrors: (error, request, reply: FastifyReply) => {
      const problem = problemOf(new ApiError('invalid', error.message), request.id, error.statusCode ?? 400);
      void reply.status(problem.status).type('application/problem+json').serializer(JSON.stringify).send(problem);
    },
    clientErrorHandler: answerConnectionError,
    requestTimeout: SLOWEST_UPLOAD_MS,
    // For an idle socket: a followed log has a heartbeat, and no call waits for longer than a minute.
    connectionTimeout: 120_000,
    http: HTTP_OPTIONS,
    ...tlsOf(listen),
  }).withTypeProvider<ZodTypeProvider>();
}

const tlsOf = ({ tls }: ServerConfig['listen']): object =>
  tls === undefined ? {} : { https: { ...tls, ...HTTP_OPTIONS } };

/** Limit of headers, with room for event ids that contain every host, and for long paths of files. */
const MOST_HEADER_BYTES = 131_072;
const HTTP_OPTIONS = { maxHeaderSize: MOST_HEADER_BYTES, headersTimeout: 20_000, connectionsCheckingInterval: 5_000 };
/** Time that the largest file takes at the lowest rate through the server (shares.ts). Other bodies have `BODY_MS`. */
const SLOWEST_UPLOAD_MS = 1_200_000;
/** Time limit for a body that is read as a whole. */
const BODY_MS = 60_000;

/** Closes connections whose body does not arrive: each would otherwise stay open as long as the slowest upload may. */
export function refuseSlowBodies(app: App, bodyMs = BODY_MS): void {
  const waiting = new WeakMap<FastifyRequest, NodeJS.Timeout>();
  app.addHook('onRequest', async (request) => {
    if (request.headers['content-type'] === 'application/octet-stream') return;
    waiting.set(request, setTimeout(() => request.raw.destroy(), bodyMs).unref());
  });
  app.addHook('preValidation', async (request) => clearTimeout(waiting.get(request)));
  app.addHook('onResponse', async (request) => clearTimeout(waiting.get(request)));
}

/** Bounds that no proper call reaches. A job file and a pool file may each use half of the characters. */
const MOST_OF_A_BODY: Bounds = { characters: 2 ** 20, values: 20_000, levels: 50, keyCharacters: 4_096 };

/** Refuses a huge or deep body before code walks through it: fields have only their own limits, and writing JSON is recursive. */
export async function refuseLargeBody({ body }: FastifyRequest): Promise<void> {
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body) || 'pipe' in body) return;
  const problem = beyond(body, MOST_OF_A_BODY);
  if (problem !== undefined) throw new ApiError('invalid', `the body: ${problem}`, 'docs/http-api.md has the limits');
}

/** Calls of one route that a subject may have in progress. The data of each stays in memory until the client has taken it. */
const AT_ONCE = 4;
/** Further calls that may wait for their turn. */
const MOST_WAITING = 500;

/** Limits one subject's concurrent calls of a route, so that slow or numerous readings of one subject do not fill the memory. */
export function takeTurns(app: App): void {
  const turns = new Map<string, { readonly permits: Semaphore; open: number }>();
  app.addHook('preHandler', async (request, { raw }) => {
    const { caller, method, routeOptions } = request;
    if (caller === null || !takesTurn(request)) return;
    const key = `${caller.id}\0${method} ${routeOptions.url}`;
    const turn = turns.get(key) ?? { permits: new Semaphore(AT_ONCE), open: 0 };
    if (turn.open >= AT_ONCE + MOST_WAITING)
      throw new TooManyRequests(`${turn.open} such calls of ${caller.id} are open`, 'wait for some');
    turns.set(key, turn);
    turn.open += 1;
    const isEnded = ended(raw, request.raw.socket).then(() => {
      turn.open -= 1;
      if (turn.open === 0) turns.delete(key);
    });
    await new Promise<void>((begin) => {
      void turn.permits.run(() => {
        begin();
        return isEnded;
      });
    });
  });
}

function takesTurn({ method, query, routeOptions: { config } }: FastifyRequest): boolean {
  if (typeof config.turn === 'function') return config.turn(query);
  return config.turn ?? (method !== 'POST' && method !== 'PUT');
}

/** Resolves when the answer is sent or the client is gone. */
async function ended(response: ServerResponse, socket: Socket): Promise<void> {
  if (response.closed || socket.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('finish', done).off('close', done);
      socket.off('close', done);
      resolve();
    };
    response.on('finish', done).on('close', done);
    socket.on('close', done);
  });
}

/** Size from which an answer gets a tag. Smaller ones are sent again, since a tag would cost as much. */
const LEAST_TAGGED = 512;

/**
 * Tags JSON answers to readers, and answers 304 to a client that has the same: a page asks for its screen every few seconds, and
 * most of the time nothing has changed (RFC 9110, 8.8.3). The call is decided and answered all the same.
 */
export function tagAnswers(app: App): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.method !== 'GET' || reply.statusCode !== 200 || typeof payload !== 'string') return payload;
    if (payload.length < LEAST_TAGGED || request.caller === null) return payload;
    const tag = `"${createHash('sha256').update(payload).digest('base64url').slice(0, 22)}"`;
    void reply.header('etag', tag);
    if (request.headers['if-none-match'] !== tag) return payload;
    void reply.code(304).removeHeader('content-type').removeHeader('content-length');
    return '';
  });
}

/** The caller and the facts of a request, for the handlers of a route. */
export function callOf(request: FastifyRequest): Call {
  const { caller, id: requestId, ip: from, body } = request;
  if (caller === null) throw new TypeError(`${request.routeOptions.url}: the route has no caller`);
  const isJson = typeof body === 'object' && body !== null && !Buffer.isBuffer(body) && !('pipe' in body);
  return { caller, requestId, from, ...(isJson ? { inputSha256: sha256Of(JSON.stringify(body)) } : {}) };
}

/** Sockets that have their answer. Node.js reports the error again for each further piece that it cannot read. */
const answeredSockets = new WeakSet<Socket>();

/** Answers bytes that Node.js cannot read as a request, in the documented form of all other failures. */
function answerConnectionError({ code }: ConnectionError, socket: Socket): void {
  if (code === 'ECONNRESET' || socket.destroyed || answeredSockets.has(socket)) return;
  answeredSockets.add(socket);
  const { status, error } = readingOf(code);
  const body = JSON.stringify(problemOf(error, randomUUID(), status));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/problem+json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // A socket that is closed with bytes unread is reset, and its peer may lose the answer.
  socket.removeAllListeners('data').resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

const LINGER_MS = 2_000;

function readingOf(code: string | undefined): { readonly status: number; readonly error: ApiError } {
  if (code === 'HPE_HEADER_OVERFLOW')
    return {
      status: 431,
      error: new ApiError(
        'too-large',
        'the path, the query and the headers together are too long',
        'send less in the query',
      ),
    };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, error: new ApiError('invalid', 'the request did not arrive whole in time') };
  return { status: 400, error: new ApiError('invalid', 'what arrived is no HTTP request') };
}

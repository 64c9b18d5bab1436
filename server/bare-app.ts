import { randomUUID } from 'node:crypto';
import fastify, { LogController, type FastifyBaseLogger, type FastifyReply, type FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { sha256Of } from '../cloud/trust/submission-signature.js';
import type { Call, RouteVerb } from './access/gate.js';
import type { ServerConfig } from './config.js';
import { answerConnectionError } from './connection-error.js';
import type { Caller } from './identity/verifier.js';
import { ApiError, problemOf } from './problem.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any handler of /v1 runs, but `/v1/login`. */
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    /** Answered without a token. */
    readonly isOpen?: true;
    /** What it is called in the audit log, where it is refused beside the access table. Every call with a token has one. */
    readonly verb?: RouteVerb;
  }
}

export type App = ReturnType<typeof bareApp>;

/** Without routes: what they are registered on. */
export function bareApp({ listen, limits }: Pick<ServerConfig, 'listen' | 'limits'>, log: FastifyBaseLogger) {
  return fastify({
    loggerInstance: log,
    // The name of a secret may stand in a query: paths alone are logged (`onResponse`).
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
    // Of a socket on which nothing happens: a followed log has a heartbeat, and no call waits for longer than a minute.
    connectionTimeout: 120_000,
    http: HTTP_OPTIONS,
    ...tlsOf(listen),
  }).withTypeProvider<ZodTypeProvider>();
}

const tlsOf = ({ tls }: ServerConfig['listen']): object =>
  tls === undefined ? {} : { https: { ...tls, ...HTTP_OPTIONS } };

/** Ids of events name every host, and paths of files may be long. */
const MOST_HEADER_BYTES = 131_072;
const HTTP_OPTIONS = { maxHeaderSize: MOST_HEADER_BYTES, headersTimeout: 20_000, connectionsCheckingInterval: 5_000 };
/** The largest file through the server at the least rate (upload-share.ts). Any other body has `BODY_MS`. */
const SLOWEST_UPLOAD_MS = 1_200_000;
/** For all bytes of a body that is read as a whole. */
const BODY_MS = 60_000;

/** Ends connections whose body does not come: each would be held as long as the slowest upload. */
export function refuseSlowBodies(app: App, bodyMs = BODY_MS): void {
  const waiting = new WeakMap<FastifyRequest, NodeJS.Timeout>();
  app.addHook('onRequest', async (request) => {
    if (request.headers['content-type'] === 'application/octet-stream') return;
    waiting.set(request, setTimeout(() => request.raw.destroy(), bodyMs).unref());
  });
  app.addHook('preValidation', async (request) => clearTimeout(waiting.get(request)));
  app.addHook('onResponse', async (request) => clearTimeout(waiting.get(request)));
}

/** What the handlers of a route say of who calls. */
export function callOf(request: FastifyRequest): Call {
  const { caller, id: requestId, ip: from, body } = request;
  if (caller === null) throw new TypeError(`${request.routeOptions.url}: the route has no caller`);
  const isJson = typeof body === 'object' && body !== null && !Buffer.isBuffer(body) && !('pipe' in body);
  return { caller, requestId, from, ...(isJson ? { inputSha256: sha256Of(JSON.stringify(body)) } : {}) };
}

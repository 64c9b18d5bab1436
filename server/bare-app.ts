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
    http: { maxHeaderSize: MOST_HEADER_BYTES },
    ...tlsOf(listen),
  }).withTypeProvider<ZodTypeProvider>();
}

const tlsOf = ({ tls }: ServerConfig['listen']): object =>
  tls === undefined ? {} : { https: { ...tls, maxHeaderSize: MOST_HEADER_BYTES } };

/** Ids of events name every host, and paths of files may be long. */
const MOST_HEADER_BYTES = 131_072;

/** What the handlers of a route say of who calls. */
export function callOf(request: FastifyRequest): Call {
  const { caller, id: requestId, ip: from, body } = request;
  if (caller === null) throw new TypeError(`${request.routeOptions.url}: the route has no caller`);
  const isJson = typeof body === 'object' && body !== null && !Buffer.isBuffer(body) && !('pipe' in body);
  return { caller, requestId, from, ...(isJson ? { inputSha256: sha256Of(JSON.stringify(body)) } : {}) };
}

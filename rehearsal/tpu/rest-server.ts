import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fastify from 'fastify';
import { callHeaders } from '../access/access-control.js';
import { isOwnLogin } from '../access/own-login.js';
import type { JsonObject } from '../json.js';
import { listenFailure } from '../listen-failure.js';
import { type Guard, loopbackServer, urlOf } from '../loopback-server.js';
import { answerJson } from './answer-json.js';
import { ApiError, apiErrors, errorBody } from './api-error.js';
import { API_VERSIONS } from './api-version.js';
import type { Gateway } from './gateway.js';
import { findRule } from './http-rules.js';
import { conform } from './message-json.js';
import { selectFields } from './partial-response.js';
import { protoRoot } from './protos.js';
import { readRequest } from './rest-request.js';

export interface RestServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface RestOptions {
  /** 0: any free port. */
  readonly port: number;
  readonly guard: Guard;
  /** Adds the services beside Cloud TPU: the other APIs, the token service. */
  readonly addOthers: (app: FastifyInstance) => Promise<void>;
}

/** Google's front end accepts no larger request. */
const BODY_LIMIT = 10 * 1024 * 1024;

/** Starts the REST server: Cloud TPU v2 and v2alpha1, locations of v1, and the APIs beside it. */
export async function startRestServer(gateway: Gateway, { port, guard, addOthers }: RestOptions): Promise<RestServer> {
  const app = fastify({
    forceCloseConnections: true,
    bodyLimit: BODY_LIMIT,
    serverFactory: (handler) => loopbackServer(guard, handler),
  });
  // A web page may send text/plain unasked; it is not accepted as JSON.
  app.removeContentTypeParser('text/plain');
  app.setErrorHandler((error, request, reply) => sendError(request, reply, error));
  await app.register((scope, _options, done) => {
    addTpu(scope, gateway);
    done();
  });
  await addOthers(app);
  await app.listen({ host: '127.0.0.1', port }).catch((error: Error) => {
    throw listenFailure('Cloud TPU (REST)', port, error, '--rest-port');
  });
  return { url: urlOf(app.server), close: () => app.close() };
}

/** Adds Cloud TPU. Call it in a separate scope: bodies are read by the rules of each method, not by the server's parsers. */
function addTpu(app: FastifyInstance, gateway: Gateway): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  for (const version of API_VERSIONS) {
    // The neighbours have other paths below a project.
    for (const path of ['locations', 'locations/*']) {
      app.all(`/${version}/projects/:project/${path}`, (request) => answer(gateway, request));
    }
  }
}

async function answer(gateway: Gateway, request: FastifyRequest): Promise<JsonObject> {
  const { pathname, searchParams } = new URL(request.url, 'http://rehearsal');
  const found = findRule(request.method, pathname);
  if (found === undefined) throw apiErrors.methodNotFound();
  const { rule, values } = found;
  const message = readRequest(rule, values, {
    query: searchParams,
    contentType: request.headers['content-type'] ?? '',
    body: typeof request.body === 'string' ? request.body : '',
  });
  const { method, version } = rule;
  const headers = callHeaders(request.headers, () => isOwnLogin(request.raw.socket));
  const given = await gateway({ wire: 'rest', version, headers }, method, message);
  const json = answerJson(given, version);
  const enums = wantsNumbers(searchParams) ? 'numbers' : 'names';
  const written = enums === 'names' ? json : conform(protoRoot(), rule.response, json, { unknown: 'keep', enums }).json;
  return selectFields(written, searchParams.get('fields') ?? searchParams.get('$fields') ?? '');
}

/** The Node client's fallback sends `$alt=json;enum-encoding=int`. */
function wantsNumbers(query: URLSearchParams): boolean {
  return [...query.getAll('$alt'), ...query.getAll('alt')].some((alt) => alt.includes('enum-encoding=int'));
}

function sendError(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  const refused = error instanceof ApiError ? error : badRequest(error);
  // Only Compute Engine still has the list of its first error format.
  const isCompute = request.url.startsWith('/compute/');
  return reply.status(refused.httpStatus).send(errorBody(refused, isCompute ? legacyReason(refused) : undefined));
}

/** A body that is not JSON, or too large, is the caller's fault; anything else is ours. */
function badRequest(error: unknown): ApiError {
  const { statusCode = 500 } = error as { readonly statusCode?: number };
  const status = statusCode >= 400 && statusCode < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL';
  return new ApiError(status, error instanceof Error ? error.message : String(error));
}

function legacyReason({ status, info }: ApiError): string {
  if (info?.reason === 'SERVICE_DISABLED') return 'accessNotConfigured';
  return (
    {
      NOT_FOUND: 'notFound',
      UNAUTHENTICATED: 'authError',
      ALREADY_EXISTS: 'alreadyExists',
      INVALID_ARGUMENT: 'invalid',
    }[status as string] ?? 'forbidden'
  );
}

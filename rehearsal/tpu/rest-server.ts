import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fastify from 'fastify';
import { callHeaders } from '../access/access-control.js';
import type { Certificates } from '../access/certificates.js';
import type { JsonObject } from '../json.js';
import { listenFailure } from '../listen-failure.js';
import { ApiError, errorBody } from './api-error.js';
import type { Gateway } from './gateway.js';
import { answerJson } from './grpc-server.js';

export interface RestServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface RestOptions {
  /** 0 for any. */
  readonly port: number;
  /** Absent: plain HTTP. */
  readonly tls?: Certificates | undefined;
  /** What is served beside Cloud TPU: the other APIs, the token service. */
  readonly addOthers: (app: FastifyInstance) => void;
}

/** Reads of the v2 REST API: lists and single resources, as an audit needs them, and the APIs beside it. */
export async function startRestServer(gateway: Gateway, { port, tls, addOthers }: RestOptions): Promise<RestServer> {
  const app = fastify({ forceCloseConnections: true, ...(tls && { https: { key: tls.key, cert: tls.certificate } }) });
  addReads(app, gateway);
  addOthers(app);
  app.setErrorHandler((error, request, reply) => sendError(request, reply, error));
  const url = await app.listen({ host: '127.0.0.1', port }).catch((error: Error) => {
    throw listenFailure('Cloud TPU (REST)', port, error, '--rest-port');
  });
  return { url, close: () => app.close() };
}

const COLLECTIONS = {
  nodes: ['ListNodes', 'GetNode'],
  queuedResources: ['ListQueuedResources', 'GetQueuedResource'],
  operations: ['ListOperations', 'GetOperation'],
  acceleratorTypes: ['ListAcceleratorTypes'],
  runtimeVersions: ['ListRuntimeVersions'],
} as const;

function addReads(app: FastifyInstance, gateway: Gateway): void {
  app.get('/v2/projects/:project/locations', (request) => {
    const { project } = request.params as { readonly project: string };
    return answer(gateway, request, 'ListLocations', { name: `projects/${project}`, ...paging(request) });
  });
  for (const [collection, [list, get]] of Object.entries(COLLECTIONS)) {
    const path = `/v2/projects/:project/locations/:zone/${collection}`;
    app.get(path, (request) => {
      const parent = parentOf(request);
      return answer(gateway, request, list, { parent, name: parent, ...paging(request) });
    });
    if (get === undefined) continue;
    app.get(`${path}/:id`, (request) => {
      const { id } = request.params as { readonly id: string };
      return answer(gateway, request, get, { name: `${parentOf(request)}/${collection}/${id}` });
    });
  }
}

async function answer(
  gateway: Gateway,
  { headers }: FastifyRequest,
  method: string,
  request: JsonObject,
): Promise<JsonObject> {
  return answerJson(await gateway({ wire: 'rest', headers: callHeaders(headers) }, method, request), 'v2');
}

function parentOf(request: FastifyRequest): string {
  const { project, zone } = request.params as { readonly project: string; readonly zone: string };
  return `projects/${project}/locations/${zone}`;
}

function paging(request: FastifyRequest): JsonObject {
  const query = request.query as Readonly<Record<string, string | undefined>>;
  const size = Number(query['pageSize'] ?? query['page_size'] ?? 0);
  if (Number.isNaN(size)) throw new ApiError('INVALID_ARGUMENT', `pageSize '${query['pageSize']}' is not a number`);
  return { pageSize: size, pageToken: query['pageToken'] ?? query['page_token'] ?? '' };
}

function sendError(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  const refused = error instanceof ApiError ? error : badRequest(error);
  // Compute Engine alone still has the list of its first error format.
  const isCompute = request.url.startsWith('/compute/');
  return reply.status(refused.httpStatus).send(errorBody(refused, isCompute ? legacyReason(refused) : undefined));
}

/** A body that is not JSON is the caller's fault; anything else is ours. */
function badRequest(error: unknown): ApiError {
  const status = (error as { readonly statusCode?: number }).statusCode === 400 ? 'INVALID_ARGUMENT' : 'INTERNAL';
  return new ApiError(status, error instanceof Error ? error.message : String(error));
}

function legacyReason({ status, info }: ApiError): string {
  if (info?.reason === 'SERVICE_DISABLED') return 'accessNotConfigured';
  return { NOT_FOUND: 'notFound', UNAUTHENTICATED: 'authError' }[status as string] ?? 'forbidden';
}

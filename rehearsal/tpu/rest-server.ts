import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fastify from 'fastify';
import type { JsonObject } from '../json.js';
import { listenFailure } from '../listen-failure.js';
import { ApiError } from './api-error.js';
import type { Gateway } from './gateway.js';
import { answerJson } from './grpc-server.js';

export interface RestServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Reads of the v2 REST API: lists and single resources, as an audit needs them. Other calls answer 501. */
export async function startRestServer(gateway: Gateway, port: number): Promise<RestServer> {
  const app = fastify({ forceCloseConnections: true });
  addReads(app, gateway);
  app.setErrorHandler((error, _request, reply) => sendError(reply, error));
  app.setNotFoundHandler((request, reply) => {
    const text = `${request.method} ${request.url}: the rehearsal cloud serves GET of nodes, queuedResources and operations`;
    return sendError(reply, new ApiError('UNIMPLEMENTED', text));
  });
  const url = await app.listen({ host: '127.0.0.1', port }).catch((error: Error) => {
    throw listenFailure('Cloud TPU (REST)', port, error, '--rest-port');
  });
  return { url, close: () => app.close() };
}

const COLLECTIONS = {
  nodes: ['ListNodes', 'GetNode'],
  queuedResources: ['ListQueuedResources', 'GetQueuedResource'],
  operations: ['ListOperations', 'GetOperation'],
} as const;

function addReads(app: FastifyInstance, gateway: Gateway): void {
  for (const [collection, [list, get]] of Object.entries(COLLECTIONS)) {
    const location = `/v2/projects/:project/locations/:zone`;
    app.get(`${location}/${collection}`, (request) => {
      const parent = parentOf(request);
      return answer(gateway, list, { parent, name: parent, ...paging(request) });
    });
    app.get(`${location}/${collection}/:id`, (request) => {
      const { id } = request.params as { readonly id: string };
      return answer(gateway, get, { name: `${parentOf(request)}/${collection}/${id}` });
    });
  }
}

async function answer(gateway: Gateway, method: string, request: JsonObject): Promise<JsonObject> {
  return answerJson(await gateway('rest', method, request), 'v2');
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

function sendError(reply: FastifyReply, error: unknown): FastifyReply {
  const refused = error instanceof ApiError ? error : new ApiError('INTERNAL', String(error));
  const { httpStatus, status, message } = refused;
  return reply.status(httpStatus).send({ error: { code: httpStatus, message, status } });
}

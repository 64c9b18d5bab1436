import { z } from 'zod';
import * as api from '../../contract/api/schemas.js';
import type { PythonRequest } from './ask-core.js';

export interface Route {
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly headers?: z.ZodObject;
  /** Keys that the client never sends: they are the command line's. */
  readonly unsent?: readonly string[];
}

const pool = { pool: api.poolParams.shape.pool };
/** What the Python client calls, by the forms of the contract. */
const ROUTES: Readonly<Record<string, Route>> = {
  'GET /v1/whoami': {},
  'POST /v1/jobs': { body: api.submissionSchema, headers: api.idempotencyHeaders },
  'GET /v1/jobs': { query: api.jobFilterSchema },
  'GET /v1/jobs/count': { query: api.jobFilterSchema, unsent: ['limit', 'pageToken'] },
  'GET /v1/jobs/{id}': {},
  'DELETE /v1/jobs/{id}': {},
  'GET /v1/jobs/{id}/description': {},
  'GET /v1/jobs/{id}/wait': { query: api.waitQuery },
  'GET /v1/jobs/{id}/why': {},
  'GET /v1/jobs/{id}/logs': { query: api.logsQuery },
  'GET /v1/jobs/{id}/open-slices': {},
  'POST /v1/jobs/{id}/host-access': {},
  'POST /v1/jobs/{id}/cancel': { body: api.askerBody, unsent: ['verb'] },
  'POST /v1/jobs/{id}/stop': { body: api.stopBody, unsent: ['verb'] },
  'POST /v1/jobs/{id}/resume': { body: api.editBody },
  'POST /v1/jobs/{id}/restart': { body: api.editBody, unsent: Object.keys(api.editBody.shape) },
  'POST /v1/jobs/{id}/requeue': { body: api.askerBody, unsent: ['verb'] },
  'POST /v1/jobs/{id}/setup': { body: api.setUpBody },
  'POST /v1/jobs/{id}/priority': { body: api.priorityBody },
  'GET /v1/objects': { query: api.objectsQuery, unsent: ['startOffset'] },
  'GET /v1/objects/content': { query: api.objectQuery },
  'POST /v1/uploads': { body: api.uploadsBody },
  'PUT /v1/uploads/content': { query: api.uploadQuery },
  'POST /v1/uploads/complete': { body: api.completedBody },
  'GET /v1/pools/{pool}': {},
  'POST /v1/pools/{pool}/apply': { body: api.applyBody },
  'POST /v1/pools/{pool}/admission': { body: api.admissionBody },
  'GET /v1/secrets': { query: z.object({ project: z.string(), ...pool }) },
  'GET /v1/access/explain': { query: api.explainQuery },
  'GET /v1/audit': { query: api.auditQuery.extend(pool) },
};

/** The route that a request is of. @throws Error if the contract has none */
export function routeOf(request: PythonRequest | string): readonly [string, Route] {
  const name = typeof request === 'string' ? request : nameOf(request);
  const route = ROUTES[name];
  if (route === undefined) throw new Error(`the contract has no route ${name}`);
  return [name, route];
}

const nameOf = ({ method, path }: PythonRequest): string =>
  `${method} ${path.replace(/^\/v1\/jobs\/a(?=\/|$)/, '/v1/jobs/{id}').replace(/^\/v1\/pools\/default/, '/v1/pools/{pool}')}`;

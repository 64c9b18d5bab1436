import { z } from 'zod';
import { auditQuery, explainQuery } from '../../contract/api/callers.js';
import {
  editBody,
  askerBody,
  priorityBody,
  requeueBody,
  restartBody,
  setUpBody,
  stopBody,
} from '../../contract/api/changes.js';
import { idempotencyHeaders, jobFilterSchema, submissionSchema, waitQuery } from '../../contract/api/jobs.js';
import { admissionBody, applyBody, releaseBody, poolParams } from '../../contract/api/pools.js';
import {
  completedBody,
  logsQuery,
  objectQuery,
  objectsQuery,
  uploadQuery,
  uploadsBody,
} from '../../contract/api/stored.js';
import type { PythonRequest } from './ask-core.js';

export interface Route {
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly headers?: z.ZodObject;
  /** Keys that the client never sends: they are the command line's. */
  readonly unsent?: readonly string[];
}

const pool = { pool: poolParams.shape.pool };
/** What the Python client calls, by the forms of the contract. */
const ROUTES: Readonly<Record<string, Route>> = {
  'GET /v1/whoami': {},
  'POST /v1/jobs': { body: submissionSchema, headers: idempotencyHeaders },
  'GET /v1/jobs': { query: jobFilterSchema },
  'GET /v1/jobs/count': { query: jobFilterSchema, unsent: ['limit', 'pageToken'] },
  'GET /v1/jobs/{id}': {},
  'DELETE /v1/jobs/{id}': {},
  'GET /v1/jobs/{id}/description': {},
  'GET /v1/jobs/{id}/wait': { query: waitQuery },
  'GET /v1/jobs/{id}/why': {},
  'GET /v1/jobs/{id}/logs': { query: logsQuery },
  'GET /v1/jobs/{id}/open-slices': {},
  'POST /v1/jobs/{id}/host-access': {},
  'POST /v1/jobs/{id}/cancel': { body: askerBody, unsent: ['verb'] },
  'POST /v1/jobs/{id}/stop': { body: stopBody, unsent: ['verb'] },
  'POST /v1/jobs/{id}/resume': { body: editBody },
  'POST /v1/jobs/{id}/restart': { body: restartBody, unsent: Object.keys(restartBody.shape) },
  'POST /v1/jobs/{id}/requeue': { body: requeueBody, unsent: ['verb'] },
  'POST /v1/jobs/{id}/setup': { body: setUpBody },
  'POST /v1/jobs/{id}/priority': { body: priorityBody },
  'GET /v1/objects': { query: objectsQuery, unsent: ['startOffset'] },
  'GET /v1/objects/content': { query: objectQuery },
  'POST /v1/uploads': { body: uploadsBody },
  'PUT /v1/uploads/content': { query: uploadQuery },
  'POST /v1/uploads/complete': { body: completedBody },
  'GET /v1/pools/{pool}': {},
  'GET /v1/pools/{pool}/capacity': {},
  'POST /v1/pools/{pool}/apply': { body: applyBody },
  'POST /v1/pools/{pool}/quota/plan': { body: applyBody },
  'POST /v1/pools/{pool}/admission': { body: admissionBody },
  'POST /v1/pools/{pool}/release': { body: releaseBody },
  'GET /v1/secrets': { query: z.object({ project: z.string(), ...pool }) },
  'GET /v1/access/explain': { query: explainQuery },
  'GET /v1/audit': { query: auditQuery.extend(pool) },
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

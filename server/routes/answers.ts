import type { FastifyContextConfig } from 'fastify';
import { z } from 'zod';
import type { RouteVerb } from '../access/gate.js';
import type { ServerConfig } from '../config.js';
import { problemSchema } from '../../contract/api/failures.js';

const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: problemSchema } },
});

/** A route's options: its verb for the access table and the audit log, and its schema. */
export const route = <Schema>(verb: RouteVerb, schema: Schema, more: Pick<FastifyContextConfig, 'turn'> = {}) => ({
  config: { verb, ...more },
  schema,
});

/** The same for a costly call: one subject may make as many of them as submits. */
export const dearRoute = <Schema>(
  verb: RouteVerb,
  schema: Schema,
  { submitsPerMinute: max }: Pick<ServerConfig['limits'], 'submitsPerMinute'>,
) => ({ config: { verb, rateLimit: { max, timeWindow: 60_000 } }, schema });

/** Answers that every call can have, for the OpenAPI document. */
export const PROBLEMS = {
  400: problem('The form of the call is wrong.'),
  401: problem('No valid login.'),
  403: problem('The access table does not allow it; `detail` says who may.'),
  404: problem('There is no such job, pool or object.'),
  422: problem('What was sent is wrong: `detail` names every place.'),
  429: problem('Too many calls; Retry-After says when.'),
  503: problem('Temporal, the store or the issuer does not answer.'),
  default: problem('Any other failure, such as a body of another type.'),
} as const;

/** A call that changes something can be refused by the job or the pool. */
export const CHANGE_PROBLEMS = {
  ...PROBLEMS,
  409: problem('Refused: the name is in use, or the state of the job or pool makes no sense of it.'),
  413: problem('The body is too large.'),
} as const;

/** An answer that is not JSON. */
export const raw = (description: string, ...types: readonly [string, ...string[]]) => ({
  description,
  content: Object.fromEntries(types.map((type) => [type, { schema: z.any() }])),
});

export const nothing = z.undefined().describe('Done.');

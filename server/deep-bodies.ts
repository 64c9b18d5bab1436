import type { FastifyRequest } from 'fastify';
import { deeperThan } from '../domain/job-file/plain-tree.js';
import { ApiError } from './problem.js';

/** More than a job file may have, with what stands around it in a call. */
const MOST_LEVELS = 50;

/** Before anything walks through a body: what writes it as JSON again, for its hash, would exhaust the stack. */
export async function refuseDeepBody({ body }: FastifyRequest): Promise<void> {
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body) || 'pipe' in body) return;
  if (deeperThan(body, MOST_LEVELS) === undefined) return;
  throw new ApiError(
    'invalid',
    `the body's objects and lists lie more than ${MOST_LEVELS} levels deep in one another`,
    'a job file has 30 at most',
  );
}

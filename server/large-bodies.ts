import type { FastifyRequest } from 'fastify';
import { beyond, type Bounds } from '../domain/bounds.js';
import { ApiError } from './problem.js';

/** More than any call needs. A job file and a pool file may each have half of the characters. */
const MOST_OF_A_BODY: Bounds = { characters: 2 ** 20, values: 20_000, levels: 50, keyCharacters: 4_096 };

/** Before anything walks through a body: each field has its own limits, and what writes it as JSON again calls itself. */
export async function refuseLargeBody({ body }: FastifyRequest): Promise<void> {
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body) || 'pipe' in body) return;
  const problem = beyond(body, MOST_OF_A_BODY);
  if (problem !== undefined) throw new ApiError('invalid', `the body: ${problem}`, 'docs/http-api.md has the limits');
}

import { objectQuery, objectsQuery, objectsSchema, storedObjectSchema } from '../../contract/api/stored.js';
import { z } from 'zod';
import { failingWorkflowsObject } from '../../domain/store-layout.js';
import type { AccessVerb } from '../../domain/access/table.js';
import { type App, callOf } from '../bare-app.js';
import type { Call } from '../access/gate.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';
import { PROBLEMS, raw, route } from './answers.js';

/** Most bytes of one answer; a reader asks for the next range. */
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * Serves the stored objects of jobs and pools, for clients that read like the command line. An object's place decides which verb
 * it needs. An object outside these places is reported as missing to every caller.
 */
export function registerObjects(app: App, services: Services): void {
  const { store } = services;
  const tags = ['objects'];
  const list = {
    tags,
    summary: 'List stored objects',
    querystring: objectsQuery,
    response: { ...PROBLEMS, 200: objectsSchema },
  };
  app.get('/v1/objects', route('objects', list), async (request) => {
    const { prefix, startOffset, most } = request.query;
    await mayRead(services, callOf(request), prefix);
    // Not through the followers' shared reader: the caller chooses where a listing begins, so no other caller repeats it.
    return { objects: [...(await store.list(prefix, startOffset, most))] };
  });

  const nameQuery = z.object({ name: objectQuery.shape.name });
  const stat = {
    tags,
    summary: 'Facts of one object',
    querystring: nameQuery,
    response: { ...PROBLEMS, 200: storedObjectSchema },
  };
  app.get('/v1/objects/stat', route('objects', stat), async (request) => {
    const { name } = request.query;
    await mayRead(services, callOf(request), name);
    return (await store.stat(name)) ?? notThere(name);
  });

  const read = {
    tags,
    summary: 'Bytes of one object',
    querystring: objectQuery,
    response: {
      ...PROBLEMS,
      200: raw('16 MiB at most: ask for the next range.', 'application/octet-stream'),
    },
  };
  app.get('/v1/objects/content', route('objects', read), async (request, reply) => {
    const { name, start = 0, end = start + MOST_BYTES } = request.query;
    await mayRead(services, callOf(request), name);
    if (end < start) throw new ApiError('invalid', `end: ${end} lies before start, ${start}`);
    const bytes = await store.read(name, { start, end: Math.min(end, start + MOST_BYTES) });
    return reply.type('application/octet-stream').send(bytes ?? notThere(name));
  });
}

function notThere(name: string): never {
  throw noObject(name);
}

const noObject = (name: string): ApiError => new ApiError('not-found', `there is no object '${name}'`);

/** Keyed by place below `jobs/<id>/`; the first match counts. */
const OF_JOBS: readonly (readonly [RegExp, AccessVerb])[] = [
  [/^logs\//, 'logs'],
  [/^setup\//, 'logs'],
  [/^outputs\//, 'outputs'],
  [/^/, 'describe'],
];

/** @throws ApiError `forbidden` or `not-found` */
async function mayRead({ gate }: Services, call: Call, name: string): Promise<void> {
  const [, job, rest = ''] = /^jobs\/([a-z][a-z0-9-]{0,62})\/(.*)$/.exec(name) ?? [];
  const verb = OF_JOBS.find(([place]) => place.test(rest))?.[1];
  if (job !== undefined && verb !== undefined) {
    await gate.job(call, verb, job);
    return;
  }
  const [, pool] =
    /^quota\/([\w.@+-]{1,100})\/(state\.json|line\.json|history\/.*|applied\/(quota|pool))$/.exec(name) ?? [];
  if (pool !== undefined) return gate.about(call, 'quota-show', { pool });
  // Public keys, and names of stuck workflows, which `jobctl ssh` and `list` read.
  const isPublic = name === failingWorkflowsObject || /^system\/host-keys\/[\w.-]{1,100}\/\d{0,6}$/.test(name);
  if (isPublic) return gate.about(call, 'list', { pool: 'default' });
  // No caller may: recorded as a refusal, and answered as if the object did not exist.
  await gate.refuse(call, 'objects', { pool: 'default' }, noObject(name));
}

import { failingWorkflowsObject } from '../../domain/store-layout.js';
import type { AccessVerb } from '../../domain/access/table.js';
import type { Call } from '../access/gate.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';
import type { Serve } from './serve.js';

/** Most bytes of one answer; a reader asks for the next range. */
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * Serves the stored objects of jobs and pools, for clients that read like the command line. An object's place decides which verb
 * it needs. An object outside these places is reported as missing to every caller.
 */
export function registerObjects(serve: Serve, services: Services): void {
  const { store } = services;
  serve('objects', async ({ call, query: { prefix, startOffset, most } }) => {
    await mayRead(services, call, prefix);
    // Not through the followers' shared reader: the caller chooses where a listing begins, so no other caller repeats it.
    return { objects: [...(await store.list(prefix, startOffset, most))] };
  });

  serve('objectStat', async ({ call, query: { name } }) => {
    await mayRead(services, call, name);
    return (await store.stat(name)) ?? notThere(name);
  });

  serve('objectContent', async ({ call, query: { name, start = 0, end = start + MOST_BYTES }, reply }) => {
    await mayRead(services, call, name);
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

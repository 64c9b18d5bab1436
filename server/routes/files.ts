import { failingWorkflowsObject } from '../../domain/store-layout.js';
import type { AccessVerb } from '../../contract/access.js';
import type { Call } from '../access/gate.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';
import type { Serve } from './serve.js';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { objectOfFile } from '../../domain/local-files.js';
import type { ServerConfig } from '../config.js';
import { paced, UploadShares } from '../shares.js';

/** Most bytes of one answer; a reader asks for the next range. */
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * Serves the stored objects of jobs and pools, for clients that read the store like the command line. An object's name decides
 * which verb is needed. Any other object is reported as missing to every caller.
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

/** The verb that an object needs, by its name below `jobs/<id>/`; the first match counts. */
const OF_JOBS: readonly (readonly [RegExp, AccessVerb])[] = [
  [/^logs\//, 'logs'],
  [/^setup\//, 'logs'],
  [/^metrics\//, 'logs'],
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

const LARGER = 'bring it to the hosts by the bucket (gcsfuse), or ask for limits.directUploadBytes';

/**
 * Routes for local files of jobs, by content. Any logged-in caller may send files. A file's name is the hash of its content, and
 * an existing file is never written again, so no caller can change another's file.
 */
export function registerUploads(
  serve: Serve,
  { store, uploads }: Services,
  { limits }: Pick<ServerConfig, 'limits'>,
): void {
  const most = Math.max(limits.directUploadBytes, limits.uploadBytes);
  const shares = new UploadShares(limits.uploadBytesPerDay);
  serve(
    'uploads',
    async ({ call, body: { files } }) => {
      const tooLarge = files.find(({ size }) => size > most);
      if (tooLarge !== undefined)
        throw new ApiError(
          'too-large',
          `'${tooLarge.path}' has ${tooLarge.size} bytes, and ${most} are allowed`,
          LARGER,
        );
      const { id } = call.caller;
      const look = async ({ path, sha256, size }: (typeof files)[number]) => {
        const object = objectOfFile(path, sha256);
        if ((await store.stat(object)) !== undefined) return { path, object, state: 'exists' as const };
        if (size > limits.directUploadBytes || !uploads.isOffered(size))
          return { path, object, state: 'wanted' as const };
        shares.charge(id, size);
        return { path, object, state: 'wanted' as const, ...(await uploads.offer(size)) };
      };
      const looks = files.map((file) => () => look(file));
      return { files: await shares.look(id, looks) };
    },
    { turn: true },
  );

  serve(
    'completeUpload',
    async ({ body: { upload, ...file } }) => {
      await uploads.complete(upload, file, most);
      return undefined;
    },
    { turn: true },
  );

  serve(
    'uploadContent',
    async ({ call: { caller }, query: { path, sha256 }, request }) => {
      const { body, size } = bodyOf(request, limits.uploadBytes);
      const source = { size, sha256, read: () => paced(body) };
      await shares.turn(caller.id, async () => {
        shares.charge(caller.id, size);
        await store.upload(objectOfFile(path, sha256), source).catch((error: unknown) => {
          if (!(error instanceof Error) || error.name !== 'SourceChanged') throw error;
          throw new ApiError(
            'invalid',
            `sha256: what came of '${path}' is not ${sha256}: ${error.message}`,
            'send it again',
          );
        });
      });
      // The file exists already, so its body was not read.
      body.resume();
      return undefined;
    },
    { bodyLimit: limits.uploadBytes },
  );
}

/** @throws ApiError `too-large` before the body is read */
function bodyOf({ body, headers }: FastifyRequest, most: number): { readonly body: Readable; readonly size: number } {
  if (!(body instanceof Readable)) throw new ApiError('invalid', 'the body is not application/octet-stream');
  const size = Number(headers['content-length'] ?? NaN);
  if (Number.isNaN(size))
    throw new ApiError('invalid', 'the call has no Content-Length', 'send the length of the file with it');
  if (size > most) throw new ApiError('too-large', `the file is larger than ${most} bytes`, LARGER);
  return { body, size };
}

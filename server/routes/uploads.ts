import { createHash } from 'node:crypto';
import { type Readable } from 'node:stream';
import { completedBody, uploadQuery, uploadsBody, uploadsSchema } from '../../contract/api/stored.js';
import { Semaphore } from '../../cloud/hosts/semaphore.js';
import { objectOfFile } from '../../domain/local-files.js';
import type { App } from '../bare-app.js';
import type { ServerConfig } from '../config.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';
import { CHANGE_PROBLEMS, nothing, route } from './answers.js';

/** Looks into the store, and addresses that it makes. */
const LOOKS_AT_ONCE = 16;
const LARGER = 'bring it to the hosts by the bucket (gcsfuse), or ask for limits.directUploadBytes';

/**
 * Local files of jobs, by content. Whoever is logged in may bring some: a name is its content's hash, and what is there is never
 * written again, so nobody can change what another one brought.
 */
export function registerUploads(
  app: App,
  { store, uploads }: Services,
  { limits }: Pick<ServerConfig, 'limits'>,
): void {
  const most = Math.max(limits.directUploadBytes, limits.uploadBytes);
  const plan = {
    tags: ['uploads'],
    summary: 'Which files are wanted',
    body: uploadsBody,
    response: { ...CHANGE_PROBLEMS, 200: uploadsSchema },
  };
  app.post('/v1/uploads', route('upload', plan), async (request) => {
    const tooLarge = request.body.files.find(({ size }) => size > most);
    if (tooLarge !== undefined)
      throw new ApiError('too-large', `'${tooLarge.path}' has ${tooLarge.size} bytes, and ${most} are allowed`, LARGER);
    const permits = new Semaphore(LOOKS_AT_ONCE);
    const look = async ({ path, sha256, size }: (typeof request.body.files)[number]) => {
      const object = objectOfFile(path, sha256);
      if ((await store.stat(object)) !== undefined) return { path, object, state: 'exists' as const };
      const offered = size <= limits.directUploadBytes ? await uploads.offer(size) : undefined;
      return { path, object, state: 'wanted' as const, ...offered };
    };
    return { files: await Promise.all(request.body.files.map((file) => permits.run(() => look(file)))) };
  });

  const complete = {
    tags: ['uploads'],
    summary: 'Complete a file that was brought to its url',
    body: completedBody,
    response: { ...CHANGE_PROBLEMS, 204: nothing },
  };
  app.post('/v1/uploads/complete', route('upload', complete), async (request, reply) => {
    const { upload, ...file } = request.body;
    await uploads.complete(upload, file, most);
    return reply.status(204).send();
  });

  app.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload));
  const content = {
    tags: ['uploads'],
    summary: 'Bring one file',
    querystring: uploadQuery,
    response: { ...CHANGE_PROBLEMS, 204: nothing },
  };
  app.put(
    '/v1/uploads/content',
    { ...route('upload', content), bodyLimit: limits.uploadBytes },
    async (request, reply) => {
      const { path, sha256 } = request.query;
      const bytes = await bytesOf(request.body as Readable | undefined, limits.uploadBytes);
      const found = createHash('sha256').update(bytes).digest('hex');
      if (found !== sha256)
        throw new ApiError('invalid', `sha256: what came of '${path}' is ${found}, not ${sha256}`, 'send it again');
      await store.write(objectOfFile(path, sha256), bytes, 'absent', 'application/octet-stream');
      return reply.status(204).send();
    },
  );
}

/** @throws ApiError `too-large` before more than `most` bytes are in memory */
async function bytesOf(body: Readable | undefined, most: number): Promise<Buffer> {
  if (body === undefined || typeof body.on !== 'function')
    throw new ApiError('invalid', 'the body is not application/octet-stream');
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    pieces.push(piece as Buffer);
    size += (piece as Buffer).length;
    if (size > most) throw new ApiError('too-large', `the file is larger than ${most} bytes`, LARGER);
  }
  return Buffer.concat(pieces);
}

import { createHash } from 'node:crypto';
import { type Readable } from 'node:stream';
import { uploadQuery, uploadsBody, uploadsSchema } from '../../contract/api/schemas.js';
import { objectOfFile } from '../../domain/local-files.js';
import { type App, callOf } from '../app.js';
import type { ServerConfig } from '../config.js';
import { ApiError } from '../problem.js';
import type { Services } from '../services.js';
import { CHANGE_PROBLEMS, nothing } from './answers.js';

/**
 * Local files of jobs, by content. Whoever is logged in may bring some: a name is its content's hash, and what is there is never
 * written again, so nobody can change what another one brought.
 */
export function registerUploads(app: App, { store }: Services, { limits }: Pick<ServerConfig, 'limits'>): void {
  const plan = {
    tags: ['uploads'],
    summary: 'Which files are wanted',
    body: uploadsBody,
    response: { ...CHANGE_PROBLEMS, 200: uploadsSchema },
  };
  app.post('/v1/uploads', { schema: plan }, async (request) => {
    callOf(request);
    const files = await Promise.all(
      request.body.files.map(async ({ path, sha256 }) => {
        const object = objectOfFile(path, sha256);
        const isThere = (await store.stat(object)) !== undefined;
        return { path, object, state: isThere ? ('exists' as const) : ('wanted' as const) };
      }),
    );
    return { files };
  });

  app.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload));
  const content = {
    tags: ['uploads'],
    summary: 'Bring one file',
    querystring: uploadQuery,
    response: { ...CHANGE_PROBLEMS, 204: nothing },
  };
  app.put('/v1/uploads/content', { schema: content, bodyLimit: limits.uploadBytes }, async (request, reply) => {
    callOf(request);
    const { path, sha256 } = request.query;
    const bytes = await bytesOf(request.body as Readable | undefined, limits.uploadBytes);
    const found = createHash('sha256').update(bytes).digest('hex');
    if (found !== sha256)
      throw new ApiError('invalid', `sha256: what came of '${path}' is ${found}, not ${sha256}`, 'send it again');
    await store.write(objectOfFile(path, sha256), bytes, 'absent', 'application/octet-stream');
    return reply.status(204).send();
  });
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
    if (size > most)
      throw new ApiError(
        'too-large',
        `the file is larger than ${most} bytes`,
        'bring it to the hosts by the bucket (gcsfuse), or ask for limits.uploadBytes',
      );
  }
  return Buffer.concat(pieces);
}

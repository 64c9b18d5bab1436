import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { completedBody, uploadQuery, uploadsBody, uploadsSchema } from '../../contract/api/stored.js';
import { objectOfFile } from '../../domain/local-files.js';
import { type App, callOf } from '../bare-app.js';
import type { ServerConfig } from '../config.js';
import { ApiError } from '../problem.js';
import { paced, UploadShares } from '../upload-share.js';
import type { Services } from '../services.js';
import { CHANGE_PROBLEMS, nothing, route } from './answers.js';

const LARGER = 'bring it to the hosts by the bucket (gcsfuse), or ask for limits.directUploadBytes';

/**
 * Routes for local files of jobs, by content. Any logged-in caller may send files: a file's name is the hash of its content, and
 * an existing file is never written again, so no caller can change another's file.
 */
export function registerUploads(
  app: App,
  { store, uploads }: Services,
  { limits }: Pick<ServerConfig, 'limits'>,
): void {
  const most = Math.max(limits.directUploadBytes, limits.uploadBytes);
  const shares = new UploadShares(limits.uploadBytesPerDay);
  const plan = {
    tags: ['uploads'],
    summary: 'Which files are wanted',
    body: uploadsBody,
    response: { ...CHANGE_PROBLEMS, 200: uploadsSchema },
  };
  app.post('/v1/uploads', route('upload', plan, { turn: true }), async (request) => {
    const tooLarge = request.body.files.find(({ size }) => size > most);
    if (tooLarge !== undefined)
      throw new ApiError('too-large', `'${tooLarge.path}' has ${tooLarge.size} bytes, and ${most} are allowed`, LARGER);
    const { id } = callOf(request).caller;
    const look = async ({ path, sha256, size }: (typeof request.body.files)[number]) => {
      const object = objectOfFile(path, sha256);
      if ((await store.stat(object)) !== undefined) return { path, object, state: 'exists' as const };
      if (size > limits.directUploadBytes || !uploads.isOffered(size))
        return { path, object, state: 'wanted' as const };
      shares.charge(id, size);
      return { path, object, state: 'wanted' as const, ...(await uploads.offer(size)) };
    };
    const looks = request.body.files.map((file) => () => look(file));
    return { files: await shares.look(id, looks) };
  });

  const complete = {
    tags: ['uploads'],
    summary: 'Complete a file that was brought to its url',
    body: completedBody,
    response: { ...CHANGE_PROBLEMS, 204: nothing },
  };
  app.post('/v1/uploads/complete', route('upload', complete, { turn: true }), async (request, reply) => {
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
      const { caller } = callOf(request);
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
      return reply.status(204).send();
    },
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

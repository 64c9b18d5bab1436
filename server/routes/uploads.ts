import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { objectOfFile } from '../../domain/local-files.js';
import type { ServerConfig } from '../config.js';
import { ApiError } from '../problem.js';
import { paced, UploadShares } from '../upload-share.js';
import type { Services } from '../services.js';
import type { Serve } from './serve.js';

const LARGER = 'bring it to the hosts by the bucket (gcsfuse), or ask for limits.directUploadBytes';

/**
 * Routes for local files of jobs, by content. Any logged-in caller may send files: a file's name is the hash of its content, and
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

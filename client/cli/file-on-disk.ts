import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { FileSource } from '../../domain/file-source.js';

/** Bytes of one read: a file that was not used lately comes from its disk in long pieces. */
const READ_BYTES = 1024 * 1024;

/**
 * A file that is read twice, once for its hash: who gets it compares.
 * @param onRead told of the bytes read so far
 */
export async function fileSource(path: string, onRead?: (read: number, size: number) => void): Promise<FileSource> {
  const hash = createHash('sha256');
  const expected = onRead ? (await stat(path)).size : 0;
  let size = 0;
  for await (const chunk of readFrom(path, 0)) {
    hash.update(chunk);
    size += chunk.length;
    onRead?.(size, expected);
  }
  return { size, sha256: hash.digest('hex'), read: (start) => readFrom(path, start) };
}

const readFrom = (path: string, start: number): AsyncIterable<Buffer> =>
  createReadStream(path, { start, highWaterMark: READ_BYTES }) as AsyncIterable<Buffer>;

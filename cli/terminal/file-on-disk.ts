import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { FileSource } from '../../domain/file-source.js';

/** Bytes per read. Long reads are faster for a file that is not in the page cache. */
const READ_BYTES = 1024 * 1024;

/**
 * Hashes the file now; `read` reads it again. The receiver compares the hash, so a change in between is noticed.
 * @param onRead receives the bytes hashed so far and the file's size
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

/** Absolute path for a path in a job file or flag: `~/x` is in the user's home, relative paths start at the current folder. */
export const expandHome = (path: string): string =>
  path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(path);

import { createHash } from 'node:crypto';
import type { FileSource } from '../../domain/local-files.js';
import { SourceChanged } from './port.js';

export interface Chunk {
  /** Number of bytes before it. */
  readonly start: number;
  readonly bytes: Buffer;
  /** Only on the last chunk: MD5 of all bytes, base64, as Cloud Storage compares it. */
  readonly md5?: string;
}

/**
 * Reads a source once, from its start. The last chunk comes only after all bytes were read and match the source's size and hash,
 * so that a writer of chunks never completes other content. An empty source gives no chunks.
 * @param most bytes of a chunk
 * @throws SourceChanged
 */
export async function* checkedChunks(source: FileSource, most: number): AsyncGenerator<Chunk> {
  const [sha256, md5] = [createHash('sha256'), createHash('md5')];
  let [start, filled] = [0, 0];
  // A new buffer for each chunk: a request that was given up may still use part of the previous one.
  let bytes = Buffer.allocUnsafeSlow(Math.min(most, source.size));
  for await (let part of readable(source)) {
    if (start + filled + part.length > source.size) throw new SourceChanged('it has more bytes now');
    sha256.update(part);
    md5.update(part);
    while (part.length > 0) {
      if (filled === bytes.length) {
        yield { start, bytes };
        start += filled;
        filled = 0;
        bytes = Buffer.allocUnsafeSlow(Math.min(most, source.size - start));
      }
      const copied = part.copy(bytes, filled);
      filled += copied;
      part = part.subarray(copied);
    }
  }
  if (start + filled < source.size) throw new SourceChanged('it has fewer bytes now');
  if (sha256.digest('hex') !== source.sha256) throw new SourceChanged('its bytes are others now');
  if (filled > 0) yield { start, bytes, md5: md5.digest('base64') };
}

/** Turns errors of reading into SourceChanged: they come from the source and say nothing about the store. */
async function* readable(source: FileSource): AsyncGenerator<Buffer> {
  const pieces = source.read(0)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await pieces.next().catch((error: unknown) => {
        throw new SourceChanged(`it cannot be read any more: ${(error as Error).message}`);
      });
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await pieces.return?.();
  }
}

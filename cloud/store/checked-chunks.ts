import { createHash } from 'node:crypto';
import type { FileSource } from '../../domain/file-source.js';
import { SourceChanged } from './port.js';

export interface Chunk {
  /** Bytes before it. */
  readonly start: number;
  readonly bytes: Buffer;
  /** Of the last one: MD5 of all bytes, base64, as Cloud Storage compares it. */
  readonly md5?: string;
}

/**
 * Reads a source once, from its start. The last chunk comes when everything was read and is what the source said it is: so what
 * is written chunk by chunk is never finished with another content. Of an empty source there are none.
 * @param most bytes of a chunk
 * @throws SourceChanged
 */
export async function* checkedChunks(source: FileSource, most: number): AsyncGenerator<Chunk> {
  const [sha256, md5] = [createHash('sha256'), createHash('md5')];
  let [start, filled] = [0, 0];
  // A new one each: of the one before, a request that was given up may still hold a piece.
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

/** What goes wrong while it is read is the source's matter, and says nothing of the store. */
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

import type { StoreReader } from './port.js';
import { HostChunks } from './log-chunks.js';
import { BackwardReader, endOf } from './log-starts.js';

/**
 * Reads the beginning and the end of one host's output, at most `most` bytes of each and no byte twice. A line end stands for the
 * bytes between them and for bytes that are not stored any more. The cost does not grow with the log.
 * @param prefix the stream's (`logPrefix`)
 */
export async function logSides(
  store: Pick<StoreReader, 'list' | 'read'>,
  prefix: string,
  host: number,
  most: number,
): Promise<Buffer> {
  const chunks = new HostChunks(store, prefix, host);
  const page = await chunks.pageOf(() => true);
  const end = endOf(page).offset;
  const head: Buffer[] = [];
  let position = 0;
  for (const { name, offset, size } of await chunks.between(0, most)) {
    const to = Math.min(offset + size, most);
    if (offset > position || to <= position) continue;
    const bytes = await store.read(name, { start: position - offset, end: to - offset });
    if (bytes === undefined) break;
    head.push(bytes);
    position += bytes.length;
  }
  const reader = new BackwardReader(store, chunks, page, end);
  const tail: Buffer[] = [];
  for (const first = Math.max(position, end - most); reader.position > first;) {
    const piece = await reader.piece(reader.position - first);
    if (piece === undefined) break;
    tail.unshift(piece.bytes);
  }
  const isWhole = reader.position <= position;
  return Buffer.concat([...head, ...(isWhole ? [] : [Buffer.from('\n')]), ...tail]);
}

import type { EpochMs } from '../../domain/units.js';
import { largest } from '../../domain/extremes.js';
import type { StoreReader } from './port.js';
import { type Chunk, HostChunks } from './log-chunks.js';

/** The place at which the reading of one host's output begins. */
export interface LogStart {
  /** Offset of the first wanted byte, the beginning of a line. */
  readonly offset: number;
  /** Offset of the chunk that contains that byte, or of the last chunk if no bytes are stored from there on. */
  readonly chunk: number;
}

/** Selects the wanted lines of a host. */
export interface LogWindow {
  /** The number of last lines. */
  readonly tail?: number | undefined;
  /** Only lines of chunks that were stored at this time or later. */
  readonly since?: EpochMs | undefined;
  /** Selects the lines that count for `tail`. Absent: all lines count. */
  readonly isWanted?: ((line: Buffer) => boolean) | undefined;
}

/** Bytes of the first read; doubled up to the limit. Together with `MOST_READS` it bounds the memory. */
const FIRST_BYTES = 65_536;
const MOST_BYTES = 4_194_304;
const FIRST_READS = 4;
const MOST_READS = 32;
/** Limit of a line. Of a longer one only the end is shown. */
const MOST_OF_LINE = 1_048_576;
const NEWLINE = 0x0a;
const FROM_BEGINNING: LogStart = { offset: 0, chunk: 0 };

/**
 * Finds the beginning of the wanted lines of one host. It reads backwards from the end and no more than it needs, so the cost
 * grows with the wanted lines and not with the log.
 * @param prefix the stream's (`logPrefix`)
 */
export async function logStart(
  store: Pick<StoreReader, 'list' | 'read'>,
  prefix: string,
  host: number,
  { tail, since, isWanted = () => true }: LogWindow,
): Promise<LogStart> {
  const index = new HostChunks(store, prefix, host);
  const floor = since === undefined ? FROM_BEGINNING : await sinceStart(store, index, since);
  return tail === undefined ? floor : tailStart(store, index, floor, tail, isWanted);
}

async function sinceStart(store: Pick<StoreReader, 'read'>, index: HostChunks, since: EpochMs): Promise<LogStart> {
  const page = await index.pageOf(({ updatedAt }) => updatedAt < since);
  const first = page.find(({ updatedAt }) => updatedAt >= since);
  if (first === undefined) return endOf(page);
  const reader = new BackwardReader(store, index, page, first.offset);
  const offset = (await lineStart(reader)) ?? first.offset;
  return { offset, chunk: reader.chunkOf(offset) };
}

/** The beginning of the line at the reader's position, or undefined if it is too far back. */
async function lineStart(reader: BackwardReader): Promise<number | undefined> {
  for (let read = 0; read < MOST_OF_LINE;) {
    const piece = await reader.piece(FIRST_BYTES);
    if (piece === undefined) return reader.position;
    const newline = piece.bytes.lastIndexOf(NEWLINE);
    if (newline !== -1) return piece.from + newline + 1;
    read += piece.bytes.length;
  }
  return undefined;
}

async function tailStart(
  store: Pick<StoreReader, 'read'>,
  index: HostChunks,
  floor: LogStart,
  count: number,
  isWanted: (line: Buffer) => boolean,
): Promise<LogStart> {
  const page = await index.pageOf(() => true);
  const end = endOf(page);
  if (count === 0 || end.offset <= floor.offset) return end;
  const reader = new BackwardReader(store, index, page, end.offset);
  let found = 0;
  let begun: Buffer = Buffer.alloc(0);
  for (let bytes = FIRST_BYTES; ; bytes = Math.min(MOST_BYTES, bytes * 2)) {
    const piece = await reader.piece(bytes);
    if (piece === undefined) break;
    const from = Math.max(piece.from, floor.offset);
    const text = Buffer.concat([piece.bytes.subarray(from - piece.from), begun]);
    // From the last line to the first. The bytes do not show whether the first one begins here.
    let lineEnd = text.at(-1) === NEWLINE ? text.length - 1 : text.length;
    for (let newline = text.lastIndexOf(NEWLINE, lineEnd - 1); lineEnd > 0 && newline !== -1;) {
      if (isWanted(text.subarray(newline + 1, lineEnd)) && ++found === count)
        return { offset: from + newline + 1, chunk: reader.chunkOf(from + newline + 1) };
      lineEnd = newline;
      newline = lineEnd === 0 ? -1 : text.lastIndexOf(NEWLINE, lineEnd - 1);
    }
    begun = text.subarray(0, lineEnd + (text[lineEnd] === NEWLINE ? 1 : 0));
    if (from === floor.offset) break;
    if (begun.length > MOST_OF_LINE) return { offset: from, chunk: reader.chunkOf(from) };
  }
  const { position } = reader;
  return position <= floor.offset ? floor : { offset: position, chunk: reader.chunkOf(position) };
}

function endOf(page: readonly Chunk[]): LogStart {
  const offset = largest(
    page.map((chunk) => chunk.offset + chunk.size),
    0,
  );
  return { offset, chunk: page.at(-1)?.offset ?? 0 };
}

/** Reads the output of one host from an offset towards its beginning. */
class BackwardReader {
  readonly #store: Pick<StoreReader, 'read'>;
  readonly #index: HostChunks;
  #chunks: readonly Chunk[];
  #position: number;
  #reads = FIRST_READS;

  /** @param chunks adjacent chunks that contain the bytes before `position` */
  constructor(store: Pick<StoreReader, 'read'>, index: HostChunks, chunks: readonly Chunk[], position: number) {
    this.#store = store;
    this.#index = index;
    this.#chunks = chunks;
    this.#position = position;
  }

  /** All bytes from this position on were read. */
  get position(): number {
    return this.#position;
  }

  /** Reads at most `most` bytes before the position. Undefined at the beginning, or if earlier bytes are not stored any more. */
  async piece(most: number): Promise<{ readonly from: number; readonly bytes: Buffer } | undefined> {
    const to = this.#position;
    const ranges: { readonly name: string; readonly start: number; readonly end: number }[] = [];
    let at = to;
    while (at > 0 && to - at < most && ranges.length < this.#reads) {
      const chunk = await this.#holding(at - 1);
      if (chunk === undefined) break;
      const from = Math.max(chunk.offset, to - most);
      ranges.unshift({ name: chunk.name, start: from - chunk.offset, end: at - chunk.offset });
      at = from;
    }
    this.#reads = Math.min(MOST_READS, this.#reads * 2);
    if (at === to) return undefined;
    const parts = await Promise.all(ranges.map(({ name, start, end }) => this.#store.read(name, { start, end })));
    const bytes = Buffer.concat(parts.map((part) => part ?? Buffer.alloc(0)));
    if (bytes.length < to - at) return undefined;
    this.#position = at;
    return { from: at, bytes };
  }

  /** The offset of the chunk that contains a byte, which must have been read before. */
  chunkOf(offset: number): number {
    return holding(this.#chunks, offset)?.offset ?? offset;
  }

  async #holding(byte: number): Promise<Chunk | undefined> {
    const known = holding(this.#chunks, byte);
    const first = this.#chunks[0]?.offset ?? 0;
    if (known !== undefined || first === 0 || byte >= first) return known;
    for (let span = 2 * FIRST_BYTES; ; span *= 4) {
      const from = Math.max(0, byte - span);
      const earlier = await this.#index.between(from, first);
      if (from > 0 && (earlier[0] === undefined || earlier[0].offset > byte)) continue;
      this.#chunks = [...earlier, ...this.#chunks];
      return holding(this.#chunks, byte);
    }
  }
}

/** Returns the last chunk with the byte: if two overlap, the later is as good. Chunks are in order. */
function holding(chunks: readonly Chunk[], byte: number): Chunk | undefined {
  let [low, high] = [0, chunks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((chunks[middle]?.offset ?? 0) <= byte) low = middle + 1;
    else high = middle;
  }
  const chunk = chunks[low - 1];
  return chunk !== undefined && chunk.offset + chunk.size > byte ? chunk : undefined;
}

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

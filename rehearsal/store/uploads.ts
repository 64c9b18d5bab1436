import { randomBytes } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import type { Buckets } from './buckets.js';
import type { ContentRange } from './content-range.js';
import { ContentHasher } from './crc32c.js';
import type { ObjectRecord } from './object-record.js';
import { pickAttributes } from './object-record.js';
import type { Preconditions } from './preconditions.js';
import { checkPreconditions } from './preconditions.js';
import { storeErrors } from './store-error.js';
import type { ExpectedHashes } from './upload-checks.js';
import { checkHashes } from './upload-checks.js';

/** Cloud Storage keeps a multiple of this many bytes of an interrupted upload. */
const GRAIN = 256 * 1024;
const SESSION_DAYS = 7;
/** Number of ended uploads that are remembered, for clients that did not get the answer. */
const REMEMBERED = 1000;

/** One object to be written, as described by the request that began the upload. Plain JSON. */
export interface UploadRequest {
  readonly bucket: string;
  readonly name: string;
  readonly resource: Record<string, unknown>;
  readonly wanted: Preconditions;
  readonly expected: ExpectedHashes;
}

export type ResumableAnswer =
  | { readonly kind: 'done'; readonly object: ObjectRecord }
  /** Answered as 308. `received` is the number of bytes received; the client sends the rest. */
  | { readonly kind: 'more'; readonly received: number };

interface Session {
  readonly id: string;
  readonly request: UploadRequest;
  size: number;
  /** Hashes of the bytes received. Absent: the bytes must be read again. */
  hasher: ContentHasher | undefined;
  done: ObjectRecord | undefined;
  /** Requests of one session run one after another: a client may send again while its first request is still ending. */
  last: Promise<unknown>;
}

/**
 * Resumable uploads, two files each: `<id>.json` describes the upload, `<id>.data` holds the bytes received. So uploads outlive
 * the process. Bytes of an interrupted request are kept in multiples of 256 KiB, as at Google. A session without data has ended:
 * its object took the file.
 */
export class ResumableUploads {
  readonly #folder: string;
  readonly #buckets: Buckets;
  readonly #sessions = new Map<string, Session>();
  readonly #ended: string[] = [];

  constructor(folder: string, buckets: Buckets) {
    this.#folder = folder;
    this.#buckets = buckets;
    makeFolderSync(folder);
    const oldest = Date.now() - SESSION_DAYS * 86_400_000;
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
      const id = file.slice(0, -'.json'.length);
      if (statSync(join(folder, file)).mtimeMs < oldest) this.#remove(id);
      else if (!existsSync(this.#data(id))) this.#ended.push(id);
    }
  }

  /** @returns the session's id. Throws StoreError 412 if the object already fails the preconditions. */
  begin(request: UploadRequest): string {
    checkPreconditions(this.#buckets.get(request.bucket).objects.find(request.name), request.wanted);
    const id = randomBytes(32).toString('hex');
    writeFileSync(this.#data(id), '');
    writeFileSync(`${this.#file(id)}.new`, JSON.stringify(request));
    renameSync(`${this.#file(id)}.new`, this.#file(id));
    this.#sessions.set(id, newSession(id, request, 0));
    return id;
  }

  /** Takes a request of the session. @param expected hashes of this request, beside those of the first one */
  put(
    id: string,
    range: ContentRange,
    content: AsyncIterable<Uint8Array>,
    expected: ExpectedHashes,
  ): Promise<ResumableAnswer> {
    const session = this.#find(id);
    const answer = session.last.then(() => this.#take(session, range, content, expected));
    session.last = answer.catch(() => undefined);
    return answer;
  }

  /** Throws StoreError 404. */
  cancel(id: string): void {
    this.#find(id);
    this.#remove(id);
  }

  async #take(
    session: Session,
    range: ContentRange,
    content: AsyncIterable<Uint8Array>,
    expected: ExpectedHashes,
  ): Promise<ResumableAnswer> {
    if (session.done !== undefined) return { kind: 'done', object: session.done };
    if (range.kind === 'bytes') await this.#append(session, range, content);
    const { size } = session;
    const isOpenEnded = range.kind === 'bytes' && range.end === undefined && range.total === undefined;
    if (isOpenEnded || range.total === size) return { kind: 'done', object: await this.#finish(session, expected) };
    return { kind: 'more', received: size };
  }

  async #append(
    session: Session,
    range: ContentRange & { kind: 'bytes' },
    content: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const before = session.size;
    if (range.start > before) throw storeErrors.gap(range.start, before);
    const hasher = await this.#hasherOf(session);
    const file = await open(this.#data(session.id), 'r+');
    try {
      session.hasher = undefined;
      session.size = await writeFresh(file, { hasher, skip: before - range.start, from: before }, content);
      session.hasher = hasher;
      this.#checkSize(session, range, before);
    } catch (error) {
      this.#cutTo(session, Math.max(before, floorToGrain(statSync(this.#data(session.id)).size)));
      throw error;
    } finally {
      await file.close();
    }
    const isLast = range.total === session.size || (range.end === undefined && range.total === undefined);
    if (!isLast) this.#cutTo(session, floorToGrain(session.size));
  }

  #checkSize({ id, size }: Session, { start, end, total }: ContentRange & { kind: 'bytes' }, before: number): void {
    const isTooMuch = total !== undefined && size > total;
    const isTooLittle = end !== undefined && size !== total && size - start < GRAIN;
    if (!isTooMuch && !isTooLittle) return;
    truncateSync(this.#data(id), before);
    throw isTooMuch ? storeErrors.tooMuch(size, total) : storeErrors.smallChunk(size - start);
  }

  /** Discards the bytes after `size`. */
  #cutTo(session: Session, size: number): void {
    if (session.size === size && session.hasher !== undefined) return;
    truncateSync(this.#data(session.id), size);
    session.size = size;
    session.hasher = undefined;
  }

  async #hasherOf({ id, size, hasher }: Session): Promise<ContentHasher> {
    if (hasher !== undefined) return hasher;
    const fresh = new ContentHasher();
    if (size === 0) return fresh;
    for await (const chunk of createReadStream(this.#data(id), { end: size - 1 })) fresh.update(chunk as Buffer);
    return fresh;
  }

  async #finish(session: Session, expected: ExpectedHashes): Promise<ObjectRecord> {
    const { bucket, name, resource, wanted, expected: first } = session.request;
    const hashes = (await this.#hasherOf(session)).digest();
    session.hasher = undefined;
    try {
      checkHashes({ ...first, ...expected }, hashes);
      const { objects, defaults } = this.#buckets.get(bucket);
      const staged = objects.stageFile(this.#data(session.id), hashes);
      const object = objects.write(name, staged, { attributes: { ...defaults, ...pickAttributes(resource) }, wanted });
      session.done = object;
      this.#remember(session.id);
      return object;
    } catch (error) {
      // The content fails its hashes or the preconditions, and a retry cannot change that.
      this.#remove(session.id);
      throw error;
    }
  }

  #find(id: string): Session {
    const known = this.#sessions.get(id);
    if (known !== undefined) return known;
    if (!/^[0-9a-f]{64}$/.test(id) || !existsSync(this.#file(id))) throw storeErrors.noUpload();
    const request = JSON.parse(readFileSync(this.#file(id), 'utf8')) as UploadRequest;
    const session = newSession(id, request, 0);
    if (existsSync(this.#data(id))) this.#cutTo(session, floorToGrain(statSync(this.#data(id)).size));
    else session.done = this.#buckets.get(request.bucket).objects.get(request.name);
    this.#sessions.set(id, session);
    return session;
  }

  #remember(id: string): void {
    this.#ended.push(id);
    if (this.#ended.length > REMEMBERED) this.#remove(this.#ended.shift() ?? '');
  }

  #remove(id: string): void {
    this.#sessions.delete(id);
    rmSync(this.#file(id), { force: true });
    rmSync(this.#data(id), { force: true });
  }

  #file(id: string): string {
    return join(this.#folder, `${id}.json`);
  }

  #data(id: string): string {
    return join(this.#folder, `${id}.data`);
  }
}

function newSession(id: string, request: UploadRequest, size: number): Session {
  return { id, request, size, hasher: undefined, done: undefined, last: Promise.resolve() };
}

/** Writes the bytes that are not stored yet. @returns the new size */
async function writeFresh(
  file: FileHandle,
  { hasher, skip, from }: { readonly hasher: ContentHasher; readonly skip: number; readonly from: number },
  content: AsyncIterable<Uint8Array>,
): Promise<number> {
  let [toSkip, size] = [skip, from];
  for await (const chunk of content) {
    const fresh = chunk.subarray(toSkip);
    toSkip -= Math.min(toSkip, chunk.length);
    if (fresh.length === 0) continue;
    hasher.update(fresh);
    await file.writev([fresh], size);
    size += fresh.length;
  }
  return size;
}

function floorToGrain(size: number): number {
  return size - (size % GRAIN);
}

import { randomBytes } from 'node:crypto';
import { Semaphore } from '../domain/semaphore.js';
import type { StorePort } from '../cloud/store/port.js';
import type { FileSource } from '../domain/file-source.js';
import { objectOfFile } from '../domain/local-files.js';
import { stagedUploadObject, UPLOADS_PREFIX } from '../domain/store-layout.js';
import type { EpochMs } from '../domain/units.js';
import { ApiError } from './problem.js';

/** Smaller files come through the server: one call in place of three. */
const DIRECT_FROM = 1024 * 1024;
/** Of one read. A file is compared with at most two such pieces in memory. */
const PIECE = 8 * 1024 * 1024;
const COMPARED_AT_ONCE = 8;
/** An upload's address is good for a week; what nobody completed by then is of no use. */
const KEPT_MS = 8 * 86_400_000;

type UploadStore = Pick<StorePort, 'list' | 'read' | 'remove' | 'stat' | 'upload' | 'uploadSession' | 'uploadUrl'>;

/** A file, as its uploader names it. */
export interface NamedFile {
  readonly path: string;
  readonly sha256: string;
}

/**
 * Files that clients bring to the store themselves (docs/adr/0086): each under a random name, by an address that the server made. The
 * server then reads it and writes what it has read to the name of its content, if it is that content: so nobody can put anything else
 * there. It keeps nothing, so another replica may complete what one has begun.
 */
export class DirectUploads {
  readonly #store: UploadStore;
  readonly #permits = new Semaphore(COMPARED_AT_ONCE);
  readonly #isReachable: boolean;

  constructor(store: UploadStore) {
    this.#store = store;
    // A client sends nothing over the network in clear text; and what is not Google's takes nothing by Google's protocol.
    this.#isReachable = /^(https:|http:\/\/(127\.|localhost[:/]|\[::1\]))/.test(store.uploadUrl('x') ?? '');
  }

  /** Else it is to come through the server. */
  isOffered(size: number): boolean {
    return size >= DIRECT_FROM && this.#isReachable;
  }

  async offer(size: number): Promise<{ readonly upload: string; readonly url: string }> {
    const upload = randomBytes(16).toString('hex');
    return { upload, url: await this.#store.uploadSession(stagedUploadObject(upload), size) };
  }

  /** Repeating is safe. @throws ApiError `not-found` for no such upload, `invalid` for another content, `too-large` */
  async complete(upload: string, { path, sha256 }: NamedFile, most: number): Promise<void> {
    const [object, staged] = [objectOfFile(path, sha256), stagedUploadObject(upload)];
    const found = await this.#store.stat(staged);
    if (found === undefined) {
      if ((await this.#store.stat(object)) !== undefined) return;
      throw new ApiError(
        'not-found',
        `upload ${upload} of '${path}' is not in the store`,
        'send the file to its url first',
      );
    }
    if (found.size > most) {
      await this.#store.remove(staged);
      throw new ApiError('too-large', `'${path}' has ${found.size} bytes, and ${most} are allowed`);
    }
    try {
      await this.#permits.run(() => this.#store.upload(object, this.#sourceOf(staged, found.size, sha256)));
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'SourceChanged') throw error;
      await this.#store.remove(staged);
      throw new ApiError(
        'invalid',
        `sha256: what came of '${path}' is not ${sha256}`,
        'send it again: POST /v1/uploads',
      );
    }
    await this.#store.remove(staged);
  }

  #sourceOf(staged: string, size: number, sha256: string): FileSource {
    const store = this.#store;
    return {
      ...{ size, sha256 },
      async *read(start) {
        for (let at = start; at < size;) {
          const piece = await store.read(staged, { start: at, end: Math.min(size, at + PIECE) });
          if (piece === undefined || piece.length === 0) return;
          at += piece.length;
          yield piece;
        }
      },
    };
  }

  /** Removes what was sent and never completed. @returns how many */
  async sweep(now: EpochMs): Promise<number> {
    const left = (await this.#store.list(UPLOADS_PREFIX)).filter(({ updatedAt }) => updatedAt < now - KEPT_MS);
    for (const { name } of left) await this.#store.remove(name);
    return left.length;
  }
}

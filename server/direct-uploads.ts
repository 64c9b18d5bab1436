import { randomBytes } from 'node:crypto';
import { Semaphore } from '../domain/semaphore.js';
import type { StorePort } from '../cloud/store/port.js';
import { type FileSource, objectOfFile } from '../domain/local-files.js';
import { stagedUploadObject, UPLOADS_PREFIX } from '../domain/store-layout.js';
import type { EpochMs } from '../domain/units.js';
import { ApiError } from './problem.js';

/** Size from which a file is uploaded past the server. Smaller files take one call through it instead of three. */
const DIRECT_FROM = 1024 * 1024;
/** Bytes of one read. A comparison has at most two such pieces in memory. */
const PIECE = 8 * 1024 * 1024;
const COMPARED_AT_ONCE = 8;
/**
 * Time for which incomplete uploads are kept. An upload's address is valid for a week, so an older one can never be completed.
 */
const KEPT_MS = 8 * 86_400_000;

type UploadStore = Pick<StorePort, 'list' | 'read' | 'remove' | 'stat' | 'upload' | 'uploadSession' | 'uploadUrl'>;

/** A file as its uploader describes it. */
export interface NamedFile {
  readonly path: string;
  readonly sha256: string;
}

/**
 * Files that clients send to the store themselves (docs/adr/0086): each under a random name, at an address that the server made.
 * The server then reads the file. If the content matches its hash, the server writes it under the name of that content, so no
 * client can put other content there. The class keeps no state, so another replica may complete an upload.
 */
export class DirectUploads {
  readonly #store: UploadStore;
  readonly #permits = new Semaphore(COMPARED_AT_ONCE);
  readonly #isReachable: boolean;

  constructor(store: UploadStore) {
    this.#store = store;
    // A client sends nothing over the network in clear text, and only Google's stores take uploads by Google's protocol.
    this.#isReachable = /^(https:|http:\/\/(127\.|localhost[:/]|\[::1\]))/.test(store.uploadUrl('x') ?? '');
  }

  /** Returns whether a file of this size may go straight to the store; otherwise it goes through the server. */
  isOffered(size: number): boolean {
    return size >= DIRECT_FROM && this.#isReachable;
  }

  async offer(size: number): Promise<{ readonly upload: string; readonly url: string }> {
    const upload = randomBytes(16).toString('hex');
    return { upload, url: await this.#store.uploadSession(stagedUploadObject(upload), size) };
  }

  /** Repeatable. @throws ApiError `not-found` if there is no such upload, `invalid` if the content differs, `too-large` */
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

  /** Removes files that were sent and never completed. @returns their number */
  async sweep(now: EpochMs): Promise<number> {
    const left = (await this.#store.list(UPLOADS_PREFIX)).filter(({ updatedAt }) => updatedAt < now - KEPT_MS);
    for (const { name } of left) await this.#store.remove(name);
    return left.length;
  }
}

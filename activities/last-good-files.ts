import type { StorePort } from '../cloud/store/port.js';
import { lastGoodFilesObject } from '../domain/store-layout.js';
import type { ReadFile } from './operator-file.js';

/** The two files of one pool; either may be missing. */
export interface ReadFiles {
  readonly quotaFile?: ReadFile | undefined;
  readonly poolFile?: ReadFile | undefined;
}

/**
 * The last good files of each pool, in the bucket: for a pool whose workflow lost its memory while a file is wrong. `keep` is
 * called at each reading of good files, and `read` returns them. The two files are one object, since they are judged together.
 *
 * A failure to write is dropped: no call waits for it, nothing is decided by it, and the next reading tries again.
 */
export class LastGoodFiles {
  readonly #store: StorePort;
  /** Content that this worker has written or found there, or is writing, by pool. */
  readonly #kept = new Map<string, string>();

  constructor(store: StorePort) {
    this.#store = store;
  }

  /** A pool without files has nothing to keep. */
  keep(pool: string, { quotaFile, poolFile }: ReadFiles): void {
    if (quotaFile === undefined && poolFile === undefined) return;
    const content = JSON.stringify({ quotaFile, poolFile });
    if (this.#kept.get(pool) === content) return;
    this.#kept.set(pool, content);
    this.#write(pool, content).catch(() => {
      if (this.#kept.get(pool) === content) this.#kept.delete(pool);
    });
  }

  /** Undefined: none were kept, or the object is not of this form. Rejects if the store does not answer. */
  async read(pool: string): Promise<ReadFiles | undefined> {
    const content = await this.#store.read(lastGoodFilesObject(pool));
    if (content === undefined) return undefined;
    try {
      return JSON.parse(content.toString('utf8')) as ReadFiles;
    } catch {
      return undefined;
    }
  }

  /** Each worker writes only content that is new to it, so two that read different files do not undo each other for ever. */
  async #write(pool: string, content: string): Promise<void> {
    const name = lastGoodFilesObject(pool);
    const before = await this.#store.stat(name);
    if (before !== undefined && (await this.#store.read(name))?.toString('utf8') === content) return;
    const expected = before === undefined ? ('absent' as const) : { generation: before.generation };
    const written = await this.#store.write(name, content, expected, 'application/json');
    if (written.kind !== 'written') throw new Error(`${name}: written by another worker meanwhile`);
  }
}

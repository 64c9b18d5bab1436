import type { StoredObject, StoreReader } from '../cloud/store/port.js';

/** Callers that ask within this time share a listing. It is less than a follower's pause. */
const LIST_MS = 300;
const MOST_LISTS = 2_000;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_KNOWN = 100_000;

/**
 * A store for many followers of the same logs: it makes as many calls as one follower of each log would. A generation of an
 * object never changes, so contents are kept for a while, up to `MOST_BYTES`. They are kept by generation because names are
 * reused: a deleted job's id may go to the next job, which may be another user's.
 */
export class SharedReader implements StoreReader {
  readonly bucket: string;
  readonly #store: StoreReader;
  readonly #lists = new Map<string, { readonly at: number; readonly found: Promise<readonly StoredObject[]> }>();
  /** Keyed by name; from the latest listing. */
  readonly #generations = new Map<string, string>();
  readonly #contents = new Map<string, { readonly found: Promise<Buffer | undefined>; bytes: number }>();
  #bytes = 0;

  constructor(store: StoreReader) {
    this.#store = store;
    this.bucket = store.bucket;
  }

  list(prefix: string, startOffset?: string, most?: number): Promise<readonly StoredObject[]> {
    const key = `${prefix}\0${startOffset ?? ''}\0${most ?? ''}`;
    const now = performance.now();
    const last = this.#lists.get(key);
    if (last !== undefined && now - last.at < LIST_MS) return last.found;
    this.#forgetLists(now);
    const found = this.#store.list(prefix, startOffset, most).then((objects) => this.#note(objects));
    // Callers that wait for this listing get its failure. The next caller lists again.
    found.catch(() => this.#lists.delete(key));
    this.#lists.delete(key);
    this.#lists.set(key, { at: now, found });
    return found;
  }

  /** Forgets listings that are too old to be shared, and the oldest of too many. They are in the order of their times. */
  #forgetLists(now: number): void {
    for (const [key, { at }] of this.#lists) {
      if (now - at < LIST_MS && this.#lists.size < MOST_LISTS) return;
      this.#lists.delete(key);
    }
  }

  stat(name: string): Promise<StoredObject | undefined> {
    return this.#store.stat(name);
  }

  read(name: string, range?: { readonly start: number; readonly end?: number }): Promise<Buffer | undefined> {
    if (range === undefined) return this.#store.read(name);
    const generation = this.#generations.get(name);
    if (generation === undefined) return this.#store.read(name, range);
    const key = `${name}\0${generation}\0${range.start}\0${range.end ?? ''}`;
    const known = this.#contents.get(key);
    if (known !== undefined) return known.found;
    const found = this.#store.read(name, range);
    const content = { found, bytes: 0 };
    this.#contents.set(key, content);
    found.then(
      (bytes) => this.#keep(key, content, bytes?.length ?? 0),
      () => this.#contents.delete(key),
    );
    return found;
  }

  #note(objects: readonly StoredObject[]): readonly StoredObject[] {
    if (this.#generations.size > MOST_KNOWN) this.#generations.clear();
    for (const { name, generation } of objects) this.#generations.set(name, generation);
    return objects;
  }

  #keep(key: string, content: { bytes: number }, bytes: number): void {
    // The object was missing, but may exist at the next reading.
    if (bytes === 0) {
      this.#contents.delete(key);
      return;
    }
    content.bytes = bytes;
    this.#bytes += bytes;
    for (const [oldest, { bytes: freed }] of this.#contents) {
      if (this.#bytes <= MOST_BYTES) return;
      this.#contents.delete(oldest);
      this.#bytes -= freed;
    }
  }
}

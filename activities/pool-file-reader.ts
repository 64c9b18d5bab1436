import { messageOf } from '../domain/error-words.js';
import type { StorePort } from '../cloud/store/port.js';
import { APPLIED_FILES, appliedFileObject } from '../domain/store-layout.js';
import { appliedReader, objectOf, objectReader, pathReader } from './operator-file.js';
import type { FileReader, ObjectReader, ReadFile } from './operator-file.js';

/** Places of a pool's files in the worker's configuration: paths, or `gs://BUCKET/NAME`. */
export interface PoolPlaces {
  readonly quotaFile?: string | undefined;
  readonly poolFile?: string | undefined;
}

export interface FileFacts {
  /** Places by pool. A file that is not named here is the one that was applied, if any. */
  readonly places: Readonly<Record<string, PoolPlaces>>;
  readonly store: StorePort;
  /** Opens another bucket, with the worker's own credentials. */
  readonly openBucket: (bucket: string) => ObjectReader;
  /** Time from one look at an object to the next; absent: a second. */
  readonly lookAgainMs?: number;
}

/** One of the two files of a pool. */
export type Kind = 'quota' | 'pool';
export const KINDS = ['quota', 'pool'] as const;
const placeOf = (places: PoolPlaces, kind: Kind): string | undefined =>
  kind === 'quota' ? places.quotaFile : places.poolFile;

/** Reads the files of all pools for one worker. Each object is looked at once a second at most. */
export class PoolFileReader {
  readonly #facts: FileFacts;
  readonly #readers = new Map<string, FileReader>();

  constructor(facts: FileFacts) {
    this.#facts = facts;
  }

  /** The configured place; undefined: there is none, so the file may be applied. */
  configured(pool: string, kind: Kind): string | undefined {
    const { places } = this.#facts;
    return Object.hasOwn(places, pool) ? placeOf(places[pool] ?? {}, kind) : undefined;
  }

  /** Whether the configuration names the pool, or a file was applied to it. Rejects if the store does not answer. */
  async exists(pool: string): Promise<boolean> {
    const { places, store } = this.#facts;
    if (Object.hasOwn(places, pool)) return true;
    // Looked up each time, because keeping a thousand made-up names would cost memory.
    const found = await Promise.all(KINDS.map((kind) => store.stat(appliedFileObject(pool, kind))));
    return found.some((object) => object !== undefined);
  }

  /** Names of the pools that exist: the configured ones, then those of applied files, the first `MOST_APPLIED` of them. */
  async pools(): Promise<readonly string[]> {
    const { names } = await this.#facts.store.find(APPLIED_FILES, MOST_APPLIED);
    const applied = names.map((name) => name.split('/')[1] ?? '');
    return [...new Set([...Object.keys(this.#facts.places), ...applied])];
  }

  /** @throws Error that names the file and why it cannot be read */
  async read(pool: string, kind: Kind): Promise<ReadFile | undefined> {
    try {
      return await this.#reader(pool, kind)();
    } catch (error) {
      const where = this.configured(pool, kind) ?? appliedName(pool, kind);
      throw new Error(`${where}: the ${kind} file cannot be read: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Makes a file that was just applied be read at once. */
  forget(pool: string): void {
    for (const kind of KINDS) this.#readers.delete(readerKey(pool, kind));
  }

  #reader(pool: string, kind: Kind): FileReader {
    const key = readerKey(pool, kind);
    const reader = this.#readers.get(key) ?? this.#open(pool, kind);
    this.#readers.set(key, reader);
    return reader;
  }

  #open(pool: string, kind: Kind): FileReader {
    const { store, openBucket, lookAgainMs = LOOK_AGAIN_MS } = this.#facts;
    const place = this.configured(pool, kind);
    if (place === undefined)
      return atMostEach(lookAgainMs, appliedReader(store, appliedFileObject(pool, kind), appliedName(pool, kind)));
    const object = objectOf(place);
    if (object === undefined) return pathReader(place);
    return atMostEach(lookAgainMs, objectReader(openBucket(object.bucket), object.name, place));
  }
}

const readerKey = (pool: string, kind: Kind): string => `${kind}/${pool}`;
const appliedName = (pool: string, kind: Kind): string => `${kind}.toml as applied to pool ${pool}`;

/** Most applied files that are listed, of which a pool has two at most. */
const MOST_APPLIED = 1_000;

/** A thousand jobs that are accepted in one second look at an object once. */
const LOOK_AGAIN_MS = 1_000;

/** Calls within `ms` share one reading, failures too. */
function atMostEach(ms: number, read: FileReader): FileReader {
  let last: { readonly at: number; readonly found: Promise<ReadFile | undefined> } | undefined;
  return () => {
    const now = performance.now();
    if (last === undefined || now - last.at >= ms) last = { at: now, found: read() };
    return last.found;
  };
}

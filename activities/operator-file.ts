import { readFile } from 'node:fs/promises';
import type { StorePort } from '../cloud/store/port.js';
import type { OperatorFile } from '../quota/files/pool-files.js';
import { messageOf } from '../domain/errors.js';
import { APPLIED_FILES, appliedFileObject } from '../domain/store-layout.js';

/** The parts of `StorePort` that read an object. */
type ObjectReader = Pick<StorePort, 'stat' | 'read'>;

/** A file as it was just read. */
export interface ReadFile extends OperatorFile {
  /** The user who applied it; absent: it was not applied, an operator put it there. */
  readonly appliedBy?: string;
}

/** Reads one file of a pool, from any place. Rejects with the reason if it cannot be read. */
type FileReader = () => Promise<ReadFile | undefined>;

const GOOGLE_URL = /^gs:\/\/([^/]+)\/(.+)$/;

/** Bucket and name of `gs://BUCKET/NAME`; undefined for a path. */
function objectOf(place: string): { readonly bucket: string; readonly name: string } | undefined {
  const [, bucket, name] = GOOGLE_URL.exec(place) ?? [];
  return bucket === undefined || name === undefined ? undefined : { bucket, name };
}

/** Read anew each time: a look at a local file costs nothing. */
const pathReader =
  (path: string): FileReader =>
  async () => ({ name: path, text: await readFile(path, 'utf8') });

/** Asks for the object's metadata each time, and for its content only when its generation has changed. The object must exist. */
function objectReader(store: ObjectReader, name: string, url: string): FileReader {
  const read = whenChanged(store, name);
  return async () => {
    const text = await read();
    if (text === undefined) throw new Error('there is no such object');
    return { name: url, text };
  };
}

/** Reads the file that `jobctl quota apply` put there; undefined if there is none. */
function appliedReader(store: ObjectReader, name: string, shown: string): FileReader {
  const read = whenChanged(store, name);
  return async () => {
    const stored = await read();
    return stored === undefined ? undefined : { name: shown, ...withoutFooter(stored) };
  };
}

function whenChanged(store: ObjectReader, name: string): () => Promise<string | undefined> {
  let known: { readonly generation: string; readonly text: string } | undefined;
  return async () => {
    const found = await store.stat(name);
    if (found === undefined) return undefined;
    if (known?.generation !== found.generation) {
      // If it was written again in between, it is newer than this generation. Then it is read once more, and nothing is missed.
      const text = (await store.read(name))?.toString('utf8');
      if (text === undefined) return undefined;
      known = { generation: found.generation, text };
    }
    return known.text;
  };
}

/**
 * The last line of an applied file, so that lines and columns are those of the file itself, and a reader of the object sees who
 * applied it.
 */
const FOOTER = /^# applied by (.*) with jobctl quota apply, (\S+)\n?$/m;

/** @param at ISO time */
export function withFooter(text: string, by: string, at: string): string {
  const own = withoutFooter(text).text;
  const end = own === '' || own.endsWith('\n') ? '' : '\n';
  return `${own}${end}# applied by ${by.replaceAll(/\s+/g, ' ')} with jobctl quota apply, ${at}\n`;
}

interface Applied {
  readonly text: string;
  /** Absent: it was put there by hand. */
  readonly appliedBy?: string;
  /** ISO time. */
  readonly appliedAt?: string;
}

export function withoutFooter(stored: string): Applied {
  const lastLine = stored.lastIndexOf('\n', stored.length - 2) + 1;
  const [, by, at] = FOOTER.exec(stored.slice(lastLine)) ?? [];
  if (by === undefined || at === undefined) return { text: stored };
  return { text: stored.slice(0, lastLine), appliedBy: by, appliedAt: at };
}

/** Whether both are the same text, applied by the same user, at whatever time. */
export function isSameApplied(stored: string, other: string): boolean {
  const [a, b] = [withoutFooter(stored), withoutFooter(other)];
  return a.text === b.text && a.appliedBy === b.appliedBy;
}

/**
 * Caches the last judgement of each pool's files until one of them changes. Every submit asks, and judging 100 projects takes 100
 * ms.
 */
export function unlessSame<Files extends readonly (ReadFile | undefined)[], Judged>(
  judge: (pool: string, ...files: Files) => Judged,
): (pool: string, ...files: Files) => Judged {
  const before = new Map<string, { readonly files: Files; readonly judged: Judged }>();
  return (pool, ...files) => {
    const known = before.get(pool);
    if (known && files.every((file, index) => isSame(file, known.files[index]))) return known.judged;
    const judged = judge(pool, ...files);
    before.set(pool, { files, judged });
    return judged;
  };
}

const isSame = (a: ReadFile | undefined, b: ReadFile | undefined): boolean =>
  a?.name === b?.name && a?.text === b?.text;

/** Places of a pool's files in the worker's configuration: paths, or `gs://BUCKET/NAME`. */
export interface PoolPlaces {
  readonly quotaFile?: string | undefined;
  readonly poolFile?: string | undefined;
}

interface FileFacts {
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
    return placeReader(place, openBucket, lookAgainMs);
  }
}

/** @param place a path, or `gs://BUCKET/NAME` */
export function placeReader(
  place: string,
  openBucket: FileFacts['openBucket'],
  lookAgainMs: number = LOOK_AGAIN_MS,
): FileReader {
  const object = objectOf(place);
  if (object === undefined) return pathReader(place);
  return atMostEach(lookAgainMs, objectReader(openBucket(object.bucket), object.name, place));
}

const readerKey = (pool: string, kind: Kind): string => `${kind}/${pool}`;
const appliedName = (pool: string, kind: Kind): string => `${kind}.toml as applied to pool ${pool}`;

/** Limit of applied files that are listed, of which a pool has two at most. */
const MOST_APPLIED = 1_000;

/** Time for which a look at an object counts, so that a thousand jobs that are accepted in one second share one. */
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

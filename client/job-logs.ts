import type { StoredObject, StoreReader } from '../cloud/store/port.js';
import { attemptLogsPrefix, jobLogPrefix, logPrefix, offsetOfChunk } from '../domain/store-layout.js';

/** Some of one host's output, right behind what was given before. */
export interface LogStretch {
  /** Position among all hosts of all slices, from 0. */
  readonly host: number;
  readonly bytes: Buffer;
  /** Words of jobctl's behind the end of what is stored: the host printed more, or may have. */
  readonly isLostTail?: true;
}

export interface LogPlace {
  readonly attempt: number;
  /** A module's name or `command`. */
  readonly stream: string;
  /** One host alone. */
  readonly host?: number | undefined;
}

interface Chunk extends StoredObject {
  readonly host: number;
  readonly offset: number;
}

/** Objects that are fetched at a time, and bytes of one that are: together the bound of what is in memory. */
const FETCHES = 8;
const FETCH_BYTES = 4_194_304;

/**
 * Reads one stream of one attempt. What it gives of each host is an exact prefix of that host's output, never a hole and
 * never a double, whatever way the output was cut into objects, also where small ones are replaced by a joined one between
 * two calls.
 */
export class JobLogReader {
  readonly #store: StoreReader;
  readonly #prefix: string;
  readonly #host: number | undefined;
  /** Bytes given of each host. */
  readonly #given = new Map<number, number>();
  /** Names of the lost tails given. */
  readonly #told = new Set<string>();

  constructor(store: StoreReader, job: string, { attempt, stream, host }: LogPlace) {
    this.#store = store;
    this.#prefix = logPrefix(job, attempt, stream);
    this.#host = host;
  }

  /**
   * All that is stored and was not given yet, oldest object first. One listing, then the new objects alone; a caller that
   * follows a long log pauses in proportion (a page holds 1,000 objects).
   */
  async *unread(): AsyncGenerator<LogStretch> {
    const listed = await this.#list();
    const fresh = contiguous(listed.flatMap(asChunk), this.#given);
    const fetches: Promise<LogStretch | undefined>[] = [];
    const queue = fresh.values();
    const fetchNext = (): void => {
      const { value } = queue.next();
      if (value) fetches.push(settledLater(this.#fetch(value)));
    };
    for (let i = 0; i < FETCHES; i++) fetchNext();
    for (let fetched = fetches.shift(); fetched !== undefined; fetched = fetches.shift()) {
      const stretch = await fetched;
      // Joined with others since the listing: a new one has it in its new place.
      if (stretch === undefined) {
        yield* this.unread();
        return;
      }
      this.#given.set(stretch.host, (this.#given.get(stretch.host) ?? 0) + stretch.bytes.length);
      yield stretch;
      fetchNext();
    }
    yield* this.#lostTails(listed);
  }

  /** Behind all that is stored of their hosts, and once. */
  async *#lostTails(listed: readonly StoredObject[]): AsyncGenerator<LogStretch> {
    for (const { name } of listed) {
      const [, host, offset] = /\/host-(\d+)\.(\d+)\.lost$/.exec(name) ?? [];
      if (host === undefined || this.#told.has(name) || (this.#given.get(Number(host)) ?? 0) < Number(offset)) continue;
      this.#told.add(name);
      const bytes = await this.#store.read(name);
      if (bytes !== undefined) yield { host: Number(host), bytes, isLostTail: true };
    }
  }

  #list(): Promise<readonly StoredObject[]> {
    const prefix = this.#host === undefined ? `${this.#prefix}host-` : `${this.#prefix}host-${this.#host}.`;
    return this.#store.list(prefix);
  }

  async #fetch({ name, host, start, end }: Fetch): Promise<LogStretch | undefined> {
    const bytes = await this.#store.read(name, { start, end });
    return bytes?.length === end - start ? { host, bytes } : undefined;
  }
}

interface Fetch {
  readonly name: string;
  readonly host: number;
  /** Bytes inside the object, `end` not included. */
  readonly start: number;
  readonly end: number;
}

/** What is to be read, in the order of storing over all hosts; of each host right behind `given` and without a hole. */
export function contiguous(chunks: readonly Chunk[], given: ReadonlyMap<number, number>): readonly Fetch[] {
  const positions = new Map(given);
  const ordered = chunks.toSorted((a, b) => a.host - b.host || a.offset - b.offset || b.size - a.size);
  const fetches = ordered.flatMap(({ name, host, offset, size, updatedAt }) => {
    const position = positions.get(host) ?? 0;
    const end = offset + size;
    if (offset > position || end <= position) return [];
    positions.set(host, end);
    return stretchesOf(position - offset, size).map(([start, stop]) => ({ name, host, start, end: stop, updatedAt }));
  });
  // A stable sort, and within a host the times grow with the offsets: no host's order is touched.
  return inOrderOfStoring(fetches);
}

function inOrderOfStoring<T extends Fetch & { readonly updatedAt: number }>(fetches: readonly T[]): readonly T[] {
  const latest = new Map<number, number>();
  const timed = fetches.map((fetch) => {
    // Two writers' clocks may disagree: a later stretch of a host is never shown before an earlier one.
    const at = Math.max(fetch.updatedAt, latest.get(fetch.host) ?? 0);
    latest.set(fetch.host, at);
    return { fetch, at };
  });
  return timed.toSorted((a, b) => a.at - b.at).map(({ fetch }) => fetch);
}

function stretchesOf(from: number, to: number): readonly (readonly [number, number])[] {
  const stretches: [number, number][] = [];
  for (let start = from; start < to; start += FETCH_BYTES) stretches.push([start, Math.min(to, start + FETCH_BYTES)]);
  return stretches;
}

function asChunk(object: StoredObject): Chunk[] {
  const offset = offsetOfChunk(object.name);
  const host = /\/host-(\d+)\.\d+$/.exec(object.name)?.[1];
  return offset === undefined || host === undefined ? [] : [{ ...object, host: Number(host), offset }];
}

/** A failure is thrown when it is waited for, not before. */
function settledLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** The attempts that stored anything of this stream, ascending. */
export async function storedAttempts(store: StoreReader, job: string, stream: string): Promise<readonly number[]> {
  const objects = await store.list(attemptLogsPrefix(job));
  const attempts = objects.flatMap(({ name }) => {
    const match = /\/logs\/a(\d+)\/([^/]+)\//.exec(name);
    return match?.[1] !== undefined && match[2] === stream ? [Number(match[1])] : [];
  });
  return [...new Set(attempts)].toSorted((a, b) => a - b);
}

/** What jobctl did for the job, as far as it was stored. */
export async function storedJobLog(store: StoreReader, job: string): Promise<Buffer> {
  const objects = await store.list(jobLogPrefix(job));
  const parts = await Promise.all(objects.map(({ name }) => store.read(name)));
  return Buffer.concat(parts.map((part) => part ?? Buffer.alloc(0)));
}

import type { StoredObject, StoreReader } from './port.js';
import { logChunkObject, offsetOfChunk } from '../../domain/store-layout.js';

/** A stored part of one host's output. `updatedAt` is the time at which it was stored, the only time that a line has. */
export interface Chunk extends StoredObject {
  /** Position among all hosts of all slices, from 0. */
  readonly host: number;
  /** Offset of its first byte in the host's output. */
  readonly offset: number;
}

/** Undefined if the object is not a chunk, such as a lost tail. */
export function asChunk(object: StoredObject): Chunk | undefined {
  const offset = offsetOfChunk(object.name);
  const host = hostOf(object);
  return offset === undefined || host === undefined ? undefined : { ...object, host, offset };
}

/** Objects per listing request, the most that Google gives. */
export const PAGE = 1000;
const LAST_OFFSET = 10 ** 15 - 1;

interface Page {
  readonly chunks: readonly Chunk[];
  /** True: more chunks may follow. */
  readonly isFull: boolean;
}

/** The chunks of one host in one attempt, in order. Lists only the requested part: a log of weeks has 100,000 chunks. */
export class HostChunks {
  readonly #store: Pick<StoreReader, 'list'>;
  readonly #prefix: string;
  readonly #host: number;

  /** @param prefix the stream's (`logPrefix`) */
  constructor(store: Pick<StoreReader, 'list'>, prefix: string, host: number) {
    this.#store = store;
    this.#prefix = prefix;
    this.#host = host;
  }

  /** Lists all objects that start at `offset` or later, lost tails included. Names of objects contain their offsets. */
  listFrom(offset: number): Promise<readonly StoredObject[]> {
    return this.#store.list(`${this.#prefix}host-${this.#host}.`, this.#nameAt(offset));
  }

  /** Lists the chunks that begin in [from, to). */
  async between(from: number, to: number): Promise<readonly Chunk[]> {
    const found: Chunk[] = [];
    for (let at = from; ;) {
      const { chunks, isFull } = await this.#page(at);
      found.push(...chunks.filter(({ offset }) => offset < to));
      const last = chunks.at(-1);
      if (!isFull || last === undefined || last.offset >= to) return found;
      at = last.offset + 1;
    }
  }

  /**
   * Finds a page that contains the first chunk for which `isBefore` is false, or the last page if there is none. `isBefore` must
   * be false for every chunk after such a one. It looks at single chunks, first in doubled and then in halved steps, until about
   * a page is left. This takes requests of twice the logarithm of the number of pages.
   */
  async pageOf(isBefore: (chunk: Chunk) => boolean): Promise<readonly Chunk[]> {
    let page = await this.#page(0);
    let low = page.chunks.at(-1);
    if (low === undefined) return page.chunks;
    const span = Math.max(1, low.offset - (page.chunks[0]?.offset ?? 0));
    let step = span;
    let high = Infinity;
    while (page.isFull && isBefore(low)) {
      while (high - low.offset > span) {
        const at: number = high === Infinity ? low.offset + step : Math.floor((low.offset + high) / 2);
        const [seen]: readonly Chunk[] = (await this.#page(Math.min(at, LAST_OFFSET), 1)).chunks;
        if (seen === undefined || !isBefore(seen)) high = at;
        else low = seen;
        step *= 2;
      }
      page = await this.#page(low.offset);
      low = page.chunks.at(-1) ?? low;
    }
    return page.chunks;
  }

  async #page(offset: number, most = PAGE): Promise<Page> {
    const objects = await this.#store.list(`${this.#prefix}host-${this.#host}.`, this.#nameAt(offset), most);
    return { chunks: objects.flatMap((object) => asChunk(object) ?? []), isFull: objects.length >= most };
  }

  #nameAt(offset: number): string {
    return logChunkObject(this.#prefix, String(this.#host), offset);
  }
}

/**
 * Limit of objects per listing of a host: usually those stored since the last listing, and the first object of the next host.
 */
const LOOK = 50;

/**
 * Lists each known host's objects from its offset on, and all objects of hosts that had stored nothing before. This takes one
 * request per host, however long the log is.
 * @param from for each known host the offset of the chunk from which it is listed
 * @param mostHosts host numbers must be below it
 */
export async function listGrown(
  store: Pick<StoreReader, 'list'>,
  prefix: string,
  from: ReadonlyMap<number, number>,
  mostHosts = Infinity,
): Promise<readonly StoredObject[]> {
  const isHost = (host: number | undefined): host is number => host !== undefined && host < mostHosts;
  const known = new Set(from.keys());
  const found: StoredObject[] = [];
  /** Walks a host's objects from a name on. The next host in the order of names is walked too if it is not known yet. */
  const walk = async (host: number, start: string): Promise<void> => {
    for (let [name, most] = [start, LOOK]; ;) {
      const page = await store.list(`${prefix}host-`, name, most);
      const own = page.filter((object) => hostOf(object) === host && object.name !== found.at(-1)?.name);
      found.push(...own);
      const other = page.map(hostOf).find((one) => isHost(one) && one !== host);
      if (other !== undefined) return discover(other);
      if (page.length < most) return undefined;
      name = page.at(-1)?.name ?? name;
      // These names belong to no host, and there may be many of them.
      if (own.length === 0) most = PAGE;
    }
  };
  const discover = async (host: number): Promise<void> => {
    if (known.has(host)) return;
    known.add(host);
    await walk(host, logChunkObject(prefix, String(host), 0));
  };
  // -1 is not a host: this skips names that belong to no host until one does.
  await walk(-1, `${prefix}host-`);
  for (const [host, offset] of from) await walk(host, logChunkObject(prefix, String(host), offset));
  return found;
}

/** Returns the hosts that stored anything in a stream, ascending. One request per host if there is more than a page. */
export async function hostsWithChunks(store: Pick<StoreReader, 'list'>, prefix: string): Promise<readonly number[]> {
  const page = await store.list(`${prefix}host-`, undefined, PAGE);
  const hosts = new Set(page.map(hostOf));
  for (let last = page.at(-1); page.length >= PAGE && last !== undefined;) {
    // Skips all names of this host by the name's own characters: hosts write here, so malformed names must be skipped too.
    const own = /^[^./]*/.exec(last.name.slice(`${prefix}host-`.length))?.[0] ?? '';
    [last] = await store.list(`${prefix}host-`, `${prefix}host-${own}0`, 1);
    if (last) hosts.add(hostOf(last));
  }
  return [...hosts].filter((host) => host !== undefined).toSorted((a, b) => a - b);
}

/** Undefined for a name that no worker writes: hosts may write into the bucket too. */
function hostOf({ name }: StoredObject): number | undefined {
  const [, host] = /\/host-(0|[1-9]\d{0,5})\.\d+(?:\.lost)?$/.exec(name) ?? [];
  return host === undefined ? undefined : Number(host);
}

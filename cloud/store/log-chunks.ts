import type { StoredObject, StoreReader } from './port.js';
import { logChunkObject, offsetOfChunk } from '../../domain/store-layout.js';

/** A stored stretch of one host's output. `updatedAt` is when it was stored: the only time that a line has. */
export interface Chunk extends StoredObject {
  /** Position among all hosts of all slices, from 0. */
  readonly host: number;
  /** Of its first byte in the host's output. */
  readonly offset: number;
}

/** Undefined for an object that is no chunk, such as a lost tail. */
export function asChunk(object: StoredObject): Chunk | undefined {
  const offset = offsetOfChunk(object.name);
  const host = hostOf(object);
  return offset === undefined || host === undefined ? undefined : { ...object, host, offset };
}

/** Objects of one request for a listing: as many as Google gives at most. */
export const PAGE = 1000;
const LAST_OFFSET = 10 ** 15 - 1;

interface Page {
  readonly chunks: readonly Chunk[];
  /** Chunks may follow. */
  readonly isFull: boolean;
}

/** The chunks of one host in one attempt, in order. Lists what it is asked for alone: a log of weeks has 100,000 chunks. */
export class HostChunks {
  readonly #store: Pick<StoreReader, 'list'>;
  readonly #prefix: string;
  readonly #host: number;

  /** @param prefix of the stream (`logPrefix`) */
  constructor(store: Pick<StoreReader, 'list'>, prefix: string, host: number) {
    this.#store = store;
    this.#prefix = prefix;
    this.#host = host;
  }

  /** All objects whose names begin at `offset` or later, lost tails among them. */
  listFrom(offset: number): Promise<readonly StoredObject[]> {
    return this.#store.list(`${this.#prefix}host-${this.#host}.`, this.#nameAt(offset));
  }

  /** Those that begin in [from, to). */
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
   * A page in which the first chunk of which `isBefore` does not hold is, or the last page if there is none. `isBefore` holds
   * of no chunk behind one of which it does not hold. Looks at single chunks, first in doubled and then in halved steps, until
   * about a page is left: twice the logarithm of the number of pages, in requests.
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

/** Objects of one look at a host: what it stored in the pause between two looks, and the first of the host behind it. */
const LOOK = 50;

/**
 * The objects of every host from where it was left on, and all of hosts that had stored nothing yet: a request for each host, however
 * long the log is. @param from offset of the chunk from which each known host is listed @param mostHosts the numbers of hosts end there
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
  /** A host's objects from a name on; of the hosts behind it, in the order of names, those that nobody knew. */
  const walk = async (host: number, start: string): Promise<void> => {
    for (let [name, most] = [start, LOOK]; ;) {
      const page = await store.list(`${prefix}host-`, name, most);
      const own = page.filter((object) => hostOf(object) === host && object.name !== found.at(-1)?.name);
      found.push(...own);
      const other = page.map(hostOf).find((one) => isHost(one) && one !== host);
      if (other !== undefined) return discover(other);
      if (page.length < most) return undefined;
      name = page.at(-1)?.name ?? name;
      // Names of no host, however many somebody made.
      if (own.length === 0) most = PAGE;
    }
  };
  const discover = async (host: number): Promise<void> => {
    if (known.has(host)) return;
    known.add(host);
    await walk(host, logChunkObject(prefix, String(host), 0));
  };
  // No host is -1: names that are none are passed until one is there.
  await walk(-1, `${prefix}host-`);
  for (const [host, offset] of from) await walk(host, logChunkObject(prefix, String(host), offset));
  return found;
}

/** The hosts that stored anything of a stream, ascending; a request for each if they have more than a page of objects. */
export async function hostsWithChunks(store: Pick<StoreReader, 'list'>, prefix: string): Promise<readonly number[]> {
  const page = await store.list(`${prefix}host-`, undefined, PAGE);
  const hosts = new Set(page.map(hostOf));
  for (let last = page.at(-1); page.length >= PAGE && last !== undefined;) {
    // Behind all names of this host, by the name's own characters: hosts write here, and any name that is none must be passed too.
    const own = /^[^./]*/.exec(last.name.slice(`${prefix}host-`.length))?.[0] ?? '';
    [last] = await store.list(`${prefix}host-`, `${prefix}host-${own}0`, 1);
    if (last) hosts.add(hostOf(last));
  }
  return [...hosts].filter((host) => host !== undefined).toSorted((a, b) => a - b);
}

/** Undefined for a name that no worker gives: hosts may write into the bucket too. */
function hostOf({ name }: StoredObject): number | undefined {
  const [, host] = /\/host-(0|[1-9]\d{0,5})\.\d+(?:\.lost)?$/.exec(name) ?? [];
  return host === undefined ? undefined : Number(host);
}

import {
  MOST_WHOLE_BYTES,
  objectPlace,
  type StoredObject,
  type StoreReader,
  StoreRefused,
} from '../cloud/store/port.js';
import { attemptLogsPrefix, isStreamName, jobLogPrefix, logPrefix } from '../domain/store-layout.js';
import type { EpochMs } from '../domain/units.js';
import { asChunk, type Chunk, HostChunks, listGrown, PAGE } from '../cloud/store/log-chunks.js';
import type { LogStart } from '../cloud/store/log-starts.js';

/** Some of one host's output, right behind what was given before. */
export interface LogStretch {
  readonly attempt: number;
  /** Position among all hosts of all slices, from 0. */
  readonly host: number;
  readonly bytes: Buffer;
  /** When its chunk was stored. No time is kept of single lines. */
  readonly storedAt: EpochMs;
  /** Words of jobctl's behind the end of what is stored: the host printed more, or may have. */
  readonly isLostTail?: true;
}

export interface LogPlace {
  readonly attempt: number;
  /** A module's name or `command`. */
  readonly stream: string;
  /** These hosts alone. */
  readonly hosts?: readonly number[] | undefined;
  /** Where each of `hosts` begins; from the beginning if it is not named. */
  readonly starts?: ReadonlyMap<number, LogStart> | undefined;
  /** The job has no more hosts: objects of higher numbers are somebody's who may write into the bucket. Absent: that is not known. */
  readonly mostHosts?: number | undefined;
}

/** A sentence of jobctl's about the end of a log; hosts can write one too. */
const MOST_LOST_WORDS = 65_536;
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
  readonly #attempt: number;
  /** Bytes given, or passed over, of each host. */
  readonly #given: Map<number, number>;
  /** The chunks of the hosts that are wanted, and the offset of the one from which they are listed next. Undefined: all hosts. */
  readonly #wanted: readonly HostChunks[] | undefined;
  readonly #listedFrom: Map<number, number>;
  readonly #hosts: readonly number[];
  readonly #mostHosts: number;
  #isLong = false;
  /** Names of the lost tails given. */
  readonly #told = new Set<string>();

  constructor(store: StoreReader, job: string, place: LogPlace) {
    const { attempt, stream, starts = new Map<number, LogStart>(), mostHosts = Infinity } = place;
    const hosts = place.hosts?.filter((host) => host < mostHosts);
    this.#mostHosts = mostHosts;
    this.#store = store;
    this.#attempt = attempt;
    this.#prefix = logPrefix(job, attempt, stream);
    this.#hosts = hosts ?? [];
    this.#wanted = hosts?.map((host) => new HostChunks(store, this.#prefix, host));
    this.#given = new Map([...starts].map(([host, { offset }]) => [host, offset]));
    this.#listedFrom = new Map([...starts].map(([host, { chunk }]) => [host, chunk]));
  }

  /**
   * All that is stored and was not given yet, oldest object first. One listing, of a log beyond a page of objects from where each
   * host was left, then the new objects alone; a caller that follows pauses in proportion.
   */
  async *unread(): AsyncGenerator<LogStretch> {
    const listed = await this.#list();
    const chunks = listed.flatMap((object) => asChunk(object) ?? []).filter(({ host }) => host < this.#mostHosts);
    const fresh = contiguous(chunks, this.#given);
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
    // The last chunk again: it may be replaced by a longer one.
    for (const { host, offset } of chunks)
      if (offset < (this.#given.get(host) ?? 0)) this.#listedFrom.set(host, offset);
    yield* this.#lostTails(listed);
  }

  /** Behind all that is stored of their hosts, and once. */
  async *#lostTails(listed: readonly StoredObject[]): AsyncGenerator<LogStretch> {
    for (const { name, updatedAt: storedAt } of listed) {
      const [, host, offset] = /\/host-(\d{1,6})\.(\d{15})\.lost$/.exec(name) ?? [];
      if (host === undefined || Number(host) >= this.#mostHosts || this.#told.has(name)) continue;
      if ((this.#given.get(Number(host)) ?? 0) < Number(offset)) continue;
      this.#told.add(name);
      const bytes = await this.#store.read(name, { start: 0, end: MOST_LOST_WORDS });
      if (bytes !== undefined) yield { attempt: this.#attempt, host: Number(host), bytes, storedAt, isLostTail: true };
    }
  }

  async #list(): Promise<readonly StoredObject[]> {
    if (this.#wanted === undefined && !this.#isLong) {
      const all = await this.#store.list(`${this.#prefix}host-`);
      // Up to a page one request is the least that a look can cost.
      this.#isLong = all.length >= PAGE;
      return all;
    }
    if (this.#wanted === undefined) return listGrown(this.#store, this.#prefix, this.#listedFrom, this.#mostHosts);
    const lists = this.#wanted.map(
      (chunks, at) => () => chunks.listFrom(this.#listedFrom.get(this.#hosts[at] ?? 0) ?? 0),
    );
    return (await inTurns(lists)).flat();
  }

  async #fetch({ name, host, start, end, updatedAt: storedAt }: Fetch): Promise<LogStretch | undefined> {
    const bytes = await this.#store.read(name, { start, end });
    return bytes?.length === end - start ? { attempt: this.#attempt, host, bytes, storedAt } : undefined;
  }
}

interface Fetch {
  readonly name: string;
  readonly host: number;
  /** Bytes inside the object, `end` not included. */
  readonly start: number;
  readonly end: number;
  readonly updatedAt: EpochMs;
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

function inOrderOfStoring(fetches: readonly Fetch[]): readonly Fetch[] {
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

/** `FETCHES` at a time; the answers in the order of the calls. */
export async function inTurns<T>(calls: readonly (() => Promise<T>)[]): Promise<readonly T[]> {
  const answers: T[] = [];
  for (let at = 0; at < calls.length; at += FETCHES)
    answers.push(...(await Promise.all(calls.slice(at, at + FETCHES).map((call) => call()))));
  return answers;
}

/** A failure is thrown when it is waited for, not before. */
function settledLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** The attempts that stored anything of this stream, ascending. Two requests for each attempt, however long its logs are. */
export async function storedAttempts(store: StoreReader, job: string, stream: string): Promise<readonly number[]> {
  const attempts: number[] = [];
  for (const attempt of await loggedAttempts(store, job))
    if ((await store.list(logPrefix(job, attempt, stream), undefined, 1)).length > 0) attempts.push(attempt);
  return attempts;
}

/** The attempts that stored a log of any stream, ascending. A request for each. */
export async function loggedAttempts(store: StoreReader, job: string): Promise<readonly number[]> {
  const parts = await firstParts(store, attemptLogsPrefix(job), (part) => /^[1-9]\d{0,8}$/.test(part));
  return parts.map(Number).toSorted((a, b) => a - b);
}

/** The streams that an attempt stored anything of, in byte order of their folders. A request for each. */
export const storedStreams = (store: StoreReader, job: string, attempt: number): Promise<readonly string[]> =>
  firstParts(store, `${attemptLogsPrefix(job)}${attempt}/`, isStreamName);

/** Hosts may write into the bucket too: so many names that are none are passed, by their own characters. */
const MOST_STRANGE_PARTS = 1_000;

/** What stands between a prefix and the next slash, each once: a listing knows no folders. @throws StoreRefused if too many are not wanted */
async function firstParts(
  store: StoreReader,
  prefix: string,
  isWanted: (part: string) => boolean,
): Promise<readonly string[]> {
  const parts: string[] = [];
  let strange = 0;
  for (let from: string | undefined; ;) {
    const [first] = await store.list(prefix, from, 1);
    if (first === undefined) return parts;
    const part = first.name.slice(prefix.length).split('/', 1)[0] ?? '';
    if (isWanted(part)) parts.push(part);
    else if (++strange > MOST_STRANGE_PARTS)
      throw new StoreRefused(
        `store: list ${objectPlace(store, prefix)}*: there are more than ${MOST_STRANGE_PARTS} names that no jobctl gives: hosts may ` +
          'have put them there; look at the prefix, and remove what is not wanted',
      );
    // '0' is the character behind '/': the first name behind all of this part's.
    from = `${prefix}${part}0`;
  }
}

/** What jobctl did for the job, as far as it was stored: the last 64 MiB of it. */
export async function storedJobLog(store: StoreReader, job: string): Promise<Buffer> {
  const objects = await store.list(jobLogPrefix(job));
  let bytes = 0;
  const first = objects.findLastIndex(({ size }) => (bytes += size) > MOST_WHOLE_BYTES);
  const kept = objects.slice(first + 1);
  const parts = await inTurns(
    kept.map(
      ({ name, size }) =>
        () =>
          store.read(name, { start: 0, end: size }),
    ),
  );
  return Buffer.concat(parts.map((part) => part ?? Buffer.alloc(0)));
}

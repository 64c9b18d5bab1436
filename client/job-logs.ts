import { z } from 'zod';
import {
  MOST_WHOLE_BYTES,
  objectPlace,
  readAtMost,
  type StoredObject,
  type StoreReader,
  StoreRefused,
} from '../cloud/store/port.js';
import type { ShownEvent } from '../domain/job-events/event.js';
import { attemptLogsPrefix, isStreamName, jobEventsObject, jobLogPrefix, logPrefix } from '../domain/store-layout.js';
import type { EpochMs } from '../domain/units.js';
import { asChunk, type Chunk, HostChunks, listGrown, PAGE } from '../cloud/store/log-chunks.js';
import type { LogStart } from '../cloud/store/log-starts.js';

/** A piece of one host's output that directly follows the piece before. */
export interface LogStretch {
  readonly attempt: number;
  /** Position among all hosts of all slices, from 0. */
  readonly host: number;
  readonly bytes: Buffer;
  /** The time when its chunk was stored. Single lines have no times. */
  readonly storedAt: EpochMs;
  /** True for a note of jobctl after the end of the stored output: the host printed more, or may have. */
  readonly isLostTail?: true;
}

export interface LogPlace {
  readonly attempt: number;
  /** A module's name or `command`. */
  readonly stream: string;
  /** Only these hosts. */
  readonly hosts?: readonly number[] | undefined;
  /** Start position for each of `hosts`; a host that is not named starts from the beginning. */
  readonly starts?: ReadonlyMap<number, LogStart> | undefined;
  /**
   * Number of the job's hosts. Objects with a higher number were written by others, who can reach the bucket. Absent: unknown.
   */
  readonly mostHosts?: number | undefined;
}

/** Longest note about a lost tail, in bytes. A note is jobctl's sentence, but hosts can write objects of this kind too. */
const MOST_LOST_WORDS = 65_536;
/** Objects that are fetched at a time, and bytes fetched of each. Together they bound the memory. */
const FETCHES = 8;
const FETCH_BYTES = 4_194_304;

/**
 * Reads one stream of one attempt. Each host's pieces form an exact prefix of its output, without gaps or duplicates. This holds
 * however the output was cut into objects, even if small objects are replaced by a joined one between two calls.
 */
export class JobLogReader {
  readonly #store: StoreReader;
  readonly #prefix: string;
  readonly #attempt: number;
  /** Bytes of each host that were yielded or skipped. */
  readonly #given: Map<number, number>;
  /** Chunks of the wanted hosts, and the offset of each host from which the next listing starts. Undefined: all hosts. */
  readonly #wanted: readonly HostChunks[] | undefined;
  readonly #listedFrom: Map<number, number>;
  readonly #hosts: readonly number[];
  readonly #mostHosts: number;
  #isLong = false;
  /** Object names of the lost tails that were already given. */
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
    // Objects before the start are not wanted, so they are not listed either.
    this.#isLong = [...starts.values()].some(({ chunk }) => chunk > 0);
  }

  /**
   * Yields all stored output that was not yielded yet, oldest object first. It costs one listing, and one read per new object. If
   * the log exceeds a page of objects, the listing starts where each host was left. A listing of a long log takes longer, and so
   * should a follower's pause.
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
      // The object was joined with others since the listing: a new listing finds its new place.
      if (stretch === undefined) {
        yield* this.unread();
        return;
      }
      this.#given.set(stretch.host, (this.#given.get(stretch.host) ?? 0) + stretch.bytes.length);
      yield stretch;
      fetchNext();
    }
    // Lists the last chunk again: a longer one may replace it.
    for (const { host, offset } of chunks)
      if (offset < (this.#given.get(host) ?? 0)) this.#listedFrom.set(host, offset);
    yield* this.#lostTails(listed);
  }

  /** Yields each note about a lost tail once, after all other stored output of its host. */
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
      // Up to a page, a listing costs one request, the least that is possible.
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
  /** Byte range inside the object; `end` is excluded. */
  readonly start: number;
  readonly end: number;
  readonly updatedAt: EpochMs;
}

/** The ranges to read, in the order of storing over all hosts. Each host's ranges follow `given` without a gap. */
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
  // The sort is stable and times grow with offsets within a host, so the order of each host is kept.
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

/** Makes `FETCHES` calls at a time and returns the answers in the order of the calls. */
export async function inTurns<T>(calls: readonly (() => Promise<T>)[]): Promise<readonly T[]> {
  const answers: T[] = [];
  for (let at = 0; at < calls.length; at += FETCHES)
    answers.push(...(await Promise.all(calls.slice(at, at + FETCHES).map((call) => call()))));
  return answers;
}

/** The promise rejects only once it is awaited. */
function settledLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Attempts that stored output of this stream, ascending. Two requests per attempt, regardless of the length of its logs. */
export async function storedAttempts(store: StoreReader, job: string, stream: string): Promise<readonly number[]> {
  const attempts: number[] = [];
  for (const attempt of await loggedAttempts(store, job))
    if ((await store.list(logPrefix(job, attempt, stream), undefined, 1)).length > 0) attempts.push(attempt);
  return attempts;
}

/** Attempts that stored a log of any stream, ascending. Costs one request per attempt. */
export async function loggedAttempts(store: StoreReader, job: string): Promise<readonly number[]> {
  const parts = await firstParts(store, attemptLogsPrefix(job), (part) => /^[1-9]\d{0,8}$/.test(part));
  return parts.map(Number).toSorted((a, b) => a - b);
}

/** Streams of which an attempt stored output, in byte order of their folders. Costs one request per stream. */
export const storedStreams = (store: StoreReader, job: string, attempt: number): Promise<readonly string[]> =>
  firstParts(store, `${attemptLogsPrefix(job)}${attempt}/`, isStreamName);

/** Most invalid names that are skipped; hosts may write to the bucket too. */
const MOST_STRANGE_PARTS = 1_000;

/**
 * Name parts between a prefix and the next slash, each once: a listing knows no folders.
 * @throws StoreRefused if there are too many unwanted parts
 */
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
    // '0' is the character after '/', so this is the first name after all names of this part.
    from = `${prefix}${part}0`;
  }
}

/** The job's own log, as far as it was stored: its last 64 MiB. */
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

const LOG_LINE = /^(\S+Z) (.*)$/;

/** The stored events of a job, with their kinds if its worker knew kinds. Lines that no worker can have written are left out. */
export async function storedEvents(store: StoreReader, job: string): Promise<readonly ShownEvent[]> {
  const objects = await readAtMost(store, jobEventsObject(job));
  if (objects !== undefined) return linesOf(objects).flatMap((line) => eventOf(line) ?? []);
  return linesOf(await storedJobLog(store, job)).flatMap((line) => {
    const [, time = '', text = ''] = LOG_LINE.exec(line) ?? [];
    const at = Date.parse(time);
    return Number.isNaN(at) ? [] : [{ at, text }];
  });
}

const linesOf = (bytes: Buffer): readonly string[] => bytes.toString('utf8').split('\n');

/** Returns undefined for a line that no worker can have written: hosts may write to the bucket of their job too. */
function eventOf(line: string): ShownEvent | undefined {
  try {
    const { at, text, kind, facts, phase } = storedEvent.parse(JSON.parse(line));
    // A kind of a later version is shown as it is.
    return { at, text, ...(kind !== undefined && { kind, facts, ...(phase && { phase }) }) } as ShownEvent;
  } catch {
    return undefined;
  }
}

const storedEvent = z.object({
  at: z.number().nonnegative().max(8.64e15),
  text: z.string(),
  kind: z.string().optional(),
  facts: z.looseObject({}).optional(),
  phase: z.string().optional(),
});

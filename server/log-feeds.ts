import type { JobClient } from '../client/job-client.js';
import { type JobRow, isOver } from '../client/job-rows.js';
import type { FollowMarks } from '../client/follow-marks.js';
import { LogFollower, type LogSelection, type LogSink } from '../client/log-follower.js';
import { isOutage, pause } from '../client/errors.js';
import type { StoreReader, StoredObject } from '../cloud/store/port.js';
import { ApiError, TooManyRequests } from './problem.js';

/** Most hosts that a job of unknown size is assumed to have. */
const MOST_HOSTS = 1_000;
/** Hosts that a job may have without chips, such as the head of a Ray cluster. */
const MOST_WITHOUT_CHIPS = 64;

/** Refuses a made-up position: it has more hosts than the job. Each host costs a listing, and each event would name them all. */
function refuseMade({ starts }: LogSelection, { chips = MOST_HOSTS }: JobRow): void {
  const named = starts?.size ?? 0;
  if (named <= chips) return;
  throw new ApiError(
    'invalid',
    `Last-Event-ID: names ${named} hosts, and the job has ${chips} at most`,
    'leave it out',
  );
}

/** Period for reading the row of a followed job, for all its followers together. */
const ROW_MS = 1_000;

interface FeedLimits {
  /** Logs that one subject follows at a time. */
  readonly perSubject: number;
  readonly changed: (followers: number) => void;
}

/** All clients that follow logs. Each has its own follower; they share one reader and one reading of each job's row. */
export class LogFeeds {
  readonly #client: Pick<JobClient, 'row'>;
  readonly #reader: SharedReader;
  readonly #marks: Pick<FollowMarks, 'mark'> | undefined;
  readonly #limits: FeedLimits;
  readonly #rows = new Map<string, { readonly at: number; readonly found: Promise<JobRow> }>();
  readonly #bySubject = new Map<string, number>();

  /** @param marks absent: workers do not learn of followers */
  constructor(
    client: Pick<JobClient, 'row'>,
    store: StoreReader,
    limits: FeedLimits,
    marks?: Pick<FollowMarks, 'mark'>,
  ) {
    this.#client = client;
    this.#reader = new SharedReader(store);
    this.#marks = marks;
    this.#limits = limits;
  }

  get reader(): SharedReader {
    return this.#reader;
  }

  /**
   * Follows until the job has ended and its log is sent, or until `signal` is aborted.
   * @returns the last row
   * @throws ApiError `too-many-requests`
   */
  async follow(subject: string, selection: LogSelection, sink: LogSink, signal: AbortSignal): Promise<JobRow> {
    this.#enter(subject);
    try {
      return await this.#follow(selection, sink, signal);
    } finally {
      this.#leave(subject);
    }
  }

  async #follow(selection: LogSelection, sink: LogSink, signal: AbortSignal): Promise<JobRow> {
    const ended = new AbortController();
    const stop = AbortSignal.any([signal, ended.signal]);
    let row = await this.#row(selection.job);
    refuseMade(selection, row);
    // Hosts write into the bucket. A host number that they invent would cost a listing in each look and appear in each event.
    const mostHosts = row.chips === undefined ? MOST_HOSTS : row.chips + MOST_WITHOUT_CHIPS;
    const follower = new LogFollower(this.#reader, { ...selection, mostHosts }, sink, this.#marks);
    follower.reached(row);
    const watch = async (): Promise<void> => {
      while (!stop.aborted && !isOver(row)) {
        await pause(ROW_MS, stop);
        // If Temporal is away, the job and its log continue.
        row = await this.#row(selection.job).catch((error: unknown) => {
          if (isOutage(error)) return row;
          throw error;
        });
        follower.reached(row);
      }
    };
    const watching = watch();
    try {
      await Promise.race([follower.run(stop), watching.then(() => new Promise<never>(() => undefined))]);
    } finally {
      ended.abort();
      await watching.catch(() => undefined);
    }
    return row;
  }

  #row(job: string): Promise<JobRow> {
    const now = performance.now();
    const last = this.#rows.get(job);
    if (last !== undefined && now - last.at < ROW_MS * 0.9) return last.found;
    const found = this.#client.row(job);
    found.catch(() => undefined);
    this.#rows.set(job, { at: now, found });
    for (const [old, { at }] of this.#rows) if (now - at > 10 * ROW_MS) this.#rows.delete(old);
    return found;
  }

  #enter(subject: string): void {
    const count = this.#bySubject.get(subject) ?? 0;
    if (count >= this.#limits.perSubject)
      throw new TooManyRequests(`${subject} follows ${count} logs already`, 'end one of them, or read without follow');
    this.#bySubject.set(subject, count + 1);
    this.#tell();
  }

  #leave(subject: string): void {
    const count = (this.#bySubject.get(subject) ?? 1) - 1;
    if (count === 0) this.#bySubject.delete(subject);
    else this.#bySubject.set(subject, count);
    this.#tell();
  }

  #tell(): void {
    this.#limits.changed([...this.#bySubject.values()].reduce((sum, each) => sum + each, 0));
  }
}

/** Time for which callers share a listing. It is less than a follower's pause. */
const LIST_MS = 300;
const MOST_LISTS = 2_000;
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_KNOWN = 100_000;

/**
 * A store for many followers of the same logs. Its number of calls does not grow with the followers of a log. A generation of an
 * object never changes, so contents are kept for a while, up to `MOST_BYTES`. They are kept by generation because names are
 * reused: a deleted job's id may go to the next job, which may be another user's.
 */
export class SharedReader implements StoreReader {
  readonly bucket: string;
  readonly #store: StoreReader;
  readonly #lists = new Map<string, { readonly at: number; readonly found: Promise<readonly StoredObject[]> }>();
  /** The generation of each object in the latest listing, by name. */
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

  /** Forgets listings that are too old to be shared, and the oldest if there are too many. The map is in order of time. */
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

import type { StorePort } from '../../cloud/store/port.js';
import { FOLLOWED_PREFIX, followedObject } from '../../domain/store-layout.js';

type Store = Pick<StorePort, 'list' | 'remove'>;

interface Times {
  /** Time between two listings. */
  readonly lookMs: number;
  /** Listings end this long after the last question. */
  readonly askedMs: number;
  /** A mark that has not changed for this long is one of a follower that has left: three times `MARK_EVERY_MS`. */
  readonly freshMs: number;
  /** A mark that has not changed for this long is removed. */
  readonly keptMs: number;
}
const TIMES: Times = { lookMs: 2_000, askedMs: 10_000, freshMs: 30_000, keptMs: 600_000 };
/** Limit of marks that are read. Hosts write into the bucket too, and could put any number of marks there. */
const MOST_MARKS = 1_000;
const MOST_REMOVED = 10;

interface Mark {
  readonly updatedAt: number;
  /** When this worker saw it change, by its own clock. */
  readonly seenAt: number;
}

/**
 * The jobs whose logs are followed, known by marks in the store (docs/adr/0150). One listing serves all jobs of a worker, and
 * none is made while no stream asks. A mark counts from the time at which this worker saw it change, so the clocks of its writer
 * and of the store do not matter.
 */
export class FollowedJobs {
  readonly #store: Store;
  readonly #times: Times;
  #marks: ReadonlyMap<string, Mark> = new Map();
  #askedAt = 0;
  #isLooking = false;

  constructor(store: Store, times: Partial<Times> = {}) {
    this.#store = store;
    this.#times = { ...TIMES, ...times };
  }

  /** False until the first listing is there. */
  isFollowed(job: string): boolean {
    this.#askedAt = performance.now();
    if (!this.#isLooking) void this.#look();
    const mark = this.#marks.get(job);
    return mark !== undefined && performance.now() - mark.seenAt < this.#times.freshMs;
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    while (performance.now() - this.#askedAt < this.#times.askedMs) {
      // Without an answer the marks that are known count until they are stale, and logs come later.
      await this.#list().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, this.#times.lookMs).unref());
    }
    this.#isLooking = false;
  }

  async #list(): Promise<void> {
    const listed = await this.#store.list(FOLLOWED_PREFIX, undefined, MOST_MARKS);
    const now = performance.now();
    const marks = new Map<string, Mark>();
    for (const { name, updatedAt } of listed) {
      const job = name.slice(FOLLOWED_PREFIX.length);
      const before = this.#marks.get(job);
      marks.set(job, before?.updatedAt === updatedAt ? before : { updatedAt, seenAt: now });
    }
    this.#marks = marks;
    const left = [...marks].filter(([, { seenAt }]) => now - seenAt > this.#times.keptMs).slice(0, MOST_REMOVED);
    await Promise.all(left.map(([job]) => this.#store.remove(followedObject(job))));
  }
}

const ofStores = new WeakMap<Store, FollowedJobs>();

/** Returns a function that says whether the job is followed. All activities with a worker's store share its listings. */
export function followsOf(store: Store, job: string): () => boolean {
  const known = ofStores.get(store) ?? new FollowedJobs(store);
  ofStores.set(store, known);
  return () => known.isFollowed(job);
}

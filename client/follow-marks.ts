import type { StorePort } from '../cloud/store/port.js';
import { followedObject } from '../domain/store-layout.js';

/** Time after which a follower renews its mark. */
export const MARK_EVERY_MS = 10_000;

/**
 * Tells workers that a job's log is followed, so that they store its output at once (docs/adr/0150). All followers in a process
 * share one mark for each job. If marking fails, logs only come later, as for a job without followers.
 */
export class FollowMarks {
  readonly #open: () => Promise<Pick<StorePort, 'replace'>>;
  #store: Promise<Pick<StorePort, 'replace'>> | undefined;
  readonly #markedAt = new Map<string, number>();

  /** @param open called with the first mark */
  constructor(open: () => Promise<Pick<StorePort, 'replace'>>) {
    this.#open = open;
  }

  /** Call it with each read of the log. */
  mark(job: string): void {
    const now = performance.now();
    if (now - (this.#markedAt.get(job) ?? -Infinity) < MARK_EVERY_MS) return;
    this.#markedAt.set(job, now);
    for (const [each, at] of this.#markedAt) if (now - at > 2 * MARK_EVERY_MS) this.#markedAt.delete(each);
    this.#store ??= this.#open();
    // A second follower may be faster, the login may only read, and the store may be away.
    this.#store.then((store) => store.replace(followedObject(job), new Date().toISOString())).catch(() => undefined);
  }
}

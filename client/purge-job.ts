import type { StorePort } from '../cloud/store/port.js';
import { jobPrefix, runObject } from '../domain/store-layout.js';

export interface Purged {
  readonly objects: number;
  readonly bytes: number;
}

/** Calls at one time. */
const WIDTH = 16;
const PAGE = 1000;

/**
 * Removes everything that the bucket has of one job: file, records, logs, outcome. What is shared by content (`files/`) stays, and
 * what Temporal has of the job stays until its retention. To be called after the job has ended and its slices are gone: an open
 * one would go on writing. Repeating is safe.
 */
export async function purgeJob(store: Pick<StorePort, 'list' | 'remove'>, job: string): Promise<Purged> {
  // Last: without it the id may be taken again, and what stood there still would be said of another user's job.
  const taken = runObject(job);
  let [objects, bytes, isTaken] = [0, 0, false];
  // However many there are, a page of them is in memory.
  for (let from: string | undefined = jobPrefix(job); from !== undefined;) {
    const page = await store.list(jobPrefix(job), from, PAGE);
    objects += page.length;
    bytes += page.reduce((sum, { size }) => sum + size, 0);
    isTaken ||= page.some(({ name }) => name === taken);
    const others = page.filter(({ name }) => name !== taken);
    for (let at = 0; at < others.length; at += WIDTH)
      await Promise.all(others.slice(at, at + WIDTH).map(({ name }) => store.remove(name)));
    const last = page.at(-1);
    from = page.length < PAGE || last === undefined ? undefined : `${last.name}\u0000`;
  }
  if (isTaken) await store.remove(taken);
  return { objects, bytes };
}

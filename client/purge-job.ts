import type { StorePort } from '../cloud/store/port.js';
import { jobPrefix, runObject } from '../domain/store-layout.js';

export interface Purged {
  readonly objects: number;
  readonly bytes: number;
}

/** Calls at one time. */
const WIDTH = 16;

/**
 * Removes everything that the bucket has of one job: file, records, logs, outcome. What is shared by content (`files/`) stays, and
 * what Temporal has of the job stays until its retention. To be called after the job has ended and its slices are gone: an open
 * one would go on writing. Repeating is safe.
 */
export async function purgeJob(store: Pick<StorePort, 'list' | 'remove'>, job: string): Promise<Purged> {
  const objects = await store.list(jobPrefix(job));
  // Last: without it the id may be taken again, and what stood there still would be said of another user's job.
  const taken = runObject(job);
  const others = objects.filter(({ name }) => name !== taken);
  for (let from = 0; from < others.length; from += WIDTH)
    await Promise.all(others.slice(from, from + WIDTH).map(({ name }) => store.remove(name)));
  if (others.length < objects.length) await store.remove(taken);
  return { objects: objects.length, bytes: objects.reduce((sum, { size }) => sum + size, 0) };
}

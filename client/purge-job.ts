import type { StorePort } from '../cloud/store/port.js';
import { jobPrefix } from '../domain/store-layout.js';

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
  for (let from = 0; from < objects.length; from += WIDTH)
    await Promise.all(objects.slice(from, from + WIDTH).map(({ name }) => store.remove(name)));
  return { objects: objects.length, bytes: objects.reduce((sum, { size }) => sum + size, 0) };
}

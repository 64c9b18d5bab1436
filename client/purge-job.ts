import type { StorePort } from '../cloud/store/port.js';
import { jobPrefix, runObject } from '../domain/store-layout.js';

export interface Purged {
  readonly objects: number;
  readonly bytes: number;
}

/** Calls that run at the same time. */
const WIDTH = 16;
const PAGE = 1000;

/**
 * Removes everything that the bucket holds of one job: file, records, logs, outcome. Content-addressed objects (`files/`) stay,
 * and Temporal keeps the job's data until its retention ends. Call it after the job has ended and its slices are gone: an open
 * job would write again. Repeating is safe.
 */
export async function purgeJob(store: Pick<StorePort, 'list' | 'remove'>, job: string): Promise<Purged> {
  // This object is removed last: without it the id may be taken again, and remaining objects would be taken for another user's
  // job.
  const taken = runObject(job);
  let [objects, bytes, isTaken] = [0, 0, false];
  // Only one page of objects is in memory, regardless of their number.
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

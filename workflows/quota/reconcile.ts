import type { StrayHolders } from '../../activities/contract.js';
import { leaseKey } from '../../domain/lease.js';
import type { LeaseBook } from './lease-book.js';

/**
 * Takes in what a comparison of the book with the open workflows found. It frees nothing itself: a closed job's lease starts
 * to drain, and a slice whose workflow is no more gets a new one that deletes it and says so (DESIGN.md 3).
 */
export function reconcile(book: LeaseBook, { closedJobs, lostSlices }: StrayHolders, now: number): void {
  for (const { lease, ref } of lostSlices) {
    // What changed while we asked is news of its own, newer than this answer.
    const isStillThere = book.get(leaseKey(lease))?.slices.some(({ name }) => name === ref.name) ?? false;
    if (isStillThere) book.abandoned(leaseKey(lease), ref);
  }
  for (const lease of closedJobs) book.jobClosed(leaseKey(lease), now, `job ${lease.job} is closed`);
  book.remind(now, REMIND_AFTER_MS);
}

/** A job that was told to give its lease back may have been reset to before it heard. */
const REMIND_AFTER_MS = 60_000;

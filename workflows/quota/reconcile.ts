import { leaseKey } from '../../domain/lease.js';
import { pool as outside } from '../activity-options.js';
import type { LeaseBook } from './lease-book.js';

/**
 * Compares every lease with the workflows that hold it. It frees nothing itself: a closed job's lease starts to drain, and
 * a slice whose workflow is no more gets a new one that deletes it and says so (DESIGN.md 3).
 */
export async function reconcile(book: LeaseBook): Promise<void> {
  const questions = book.leased.map(({ lease, slices }) => ({ lease, slices }));
  if (questions.length === 0) return;
  for (const { lease, isJobOpen, openSlices } of await outside.inspectHolders(questions)) {
    const key = leaseKey(lease);
    // What changed while we asked is news of its own, newer than this answer.
    const asked = questions.find((question) => leaseKey(question.lease) === key);
    const row = book.get(key);
    if (!row || !asked) continue;
    const isOpen = new Set(openSlices);
    for (const ref of asked.slices) {
      if (!isOpen.has(ref.name) && row.slices.some((still) => still.name === ref.name)) book.abandoned(key, ref);
    }
    if (!isJobOpen) book.jobClosed(key, Date.now(), `job ${lease.job} is closed`);
  }
}

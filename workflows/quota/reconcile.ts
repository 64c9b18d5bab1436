import { leaseKey } from '../../domain/lease.js';
import { poolReading as outside } from '../activity-options.js';
import type { LeaseBook, LeaseRow } from './lease-book.js';

/**
 * Compares every lease with the workflows that hold it. It frees nothing itself: a closed job's lease starts to drain, and
 * a slice whose workflow is no more gets a new one that deletes it and says so (DESIGN.md 3).
 */
export async function reconcile(book: LeaseBook, pass: number): Promise<void> {
  const questions = [...book.leased, ...someWaiting(book, pass)].map(({ lease, slices }) => ({ lease, slices }));
  if (questions.length === 0) return;
  const summary = `are the holders of ${questions.length} leases and requests still open?`;
  for (const { lease, isJobOpen, openSlices } of await outside(summary).inspectHolders(questions)) {
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

/** A job that was terminated while it waited holds nothing, so these are looked at in turns, a part in each pass. */
function someWaiting(book: LeaseBook, pass: number): readonly LeaseRow[] {
  const { waiting } = book;
  const parts = Math.max(1, Math.ceil(waiting.length / WAITING_PER_PASS));
  const from = (pass % parts) * WAITING_PER_PASS;
  return waiting.slice(from, from + WAITING_PER_PASS);
}

const WAITING_PER_PASS = 200;

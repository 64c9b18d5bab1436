import { log } from '@temporalio/workflow';
import type { StrayHolders } from '../../contract/quota-activities.js';
import { leaseKey } from '../../domain/lease.js';
import type { EpochMs } from '../../domain/units.js';
import { poolReading } from '../activity-options.js';
import type { LeaseBook } from './lease-book.js';
import type { PoolRecords } from './pool-records.js';

/**
 * Compares the pool's leases with the workflows that are open, every `reconcileMs`. The comparison runs beside the loop:
 * thousands of rows take seconds, and grants do not wait for it.
 */
export class Reconciler {
  readonly #records: PoolRecords;
  readonly #wake: () => void;
  #dueAt: EpochMs = 0;
  #isComparing = false;
  #found: StrayHolders | undefined;

  constructor(records: PoolRecords, wake: () => void) {
    this.#records = records;
    this.#wake = wake;
  }

  get dueAt(): EpochMs {
    return this.#dueAt;
  }

  get isDue(): boolean {
    return Date.now() >= this.#dueAt;
  }

  hurry(): void {
    this.#dueAt = 0;
  }

  /** Applies the findings of the last comparison. */
  takeFound(): void {
    if (!this.#found) return;
    reconcile(this.#records.book, this.#found, Date.now());
    this.#records.touch(Date.now());
    this.#found = undefined;
  }

  /** Begins the next comparison if it is due. */
  compareIfDue(): void {
    if (!this.isDue) return;
    this.#dueAt = Date.now() + (this.#records.facts?.timings.reconcileMs ?? 0);
    if (!this.#isComparing && !this.#records.isIdle) void this.#compare();
  }

  async #compare(): Promise<void> {
    this.#isComparing = true;
    const { pool, book } = this.#records;
    try {
      const summary = `are the holders of ${book.leased.length} leases and those who wait still open?`;
      this.#found = await poolReading(summary).findStrays(pool);
      this.#wake();
    } catch (error) {
      log.warn(`leases could not be compared: ${String(error)}`);
    } finally {
      this.#isComparing = false;
    }
  }
}

/**
 * Applies the findings of a comparison of the book with the open workflows. It frees nothing itself: the lease of a closed job
 * starts to drain, and a slice whose workflow is closed gets a new one that deletes it and reports it gone (docs/design.md,
 * "Quota").
 */
export function reconcile(book: LeaseBook, { closedJobs, lostSlices }: StrayHolders, now: EpochMs): void {
  for (const { lease, ref } of lostSlices) {
    // Changes during the comparison are newer than its answer.
    const isStillThere = book.get(leaseKey(lease))?.slices.some(({ name }) => name === ref.name) ?? false;
    if (isStillThere) book.abandoned(leaseKey(lease), ref);
  }
  book.noteDraining(now);
  for (const lease of closedJobs) book.jobClosed(leaseKey(lease), now, `job ${lease.job} is closed`);
  book.remind(now, REMIND_AFTER_MS);
}

/** A job that was told to give its lease back may have been reset to a time before it heard. */
const REMIND_AFTER_MS = 60_000;

import { leaseKey } from '../../domain/lease.js';
import type { LeaseRow } from './lease-row.js';

/** The rows of a book by lease key, and by job: a scan of all rows for each message takes seconds with thousands of them. */
export class LeaseRows {
  readonly #rows = new Map<string, LeaseRow>();
  readonly #ofJob = new Map<string, readonly LeaseRow[]>();

  constructor(rows: readonly LeaseRow[]) {
    for (const row of rows) this.set(leaseKey(row.lease), row);
  }

  get(key: string): LeaseRow | undefined {
    return this.#rows.get(key);
  }

  all(): readonly LeaseRow[] {
    return [...this.#rows.values()];
  }

  ofJob(job: string): readonly LeaseRow[] {
    return this.#ofJob.get(job) ?? [];
  }

  set(key: string, row: LeaseRow): void {
    this.delete(key);
    this.#rows.set(key, row);
    this.#ofJob.set(row.lease.job, [...this.ofJob(row.lease.job), row]);
  }

  delete(key: string): void {
    const row = this.#rows.get(key);
    if (!row) return;
    const { job } = row.lease;
    const others = this.ofJob(job).filter((other) => other !== row);
    this.#rows.delete(key);
    // Stryker disable next-line ConditionalExpression,EqualityOperator: an empty list is the same as none, in more memory.
    if (others.length > 0) this.#ofJob.set(job, others);
    // Stryker disable next-line CallExpression: as above.
    else this.#ofJob.delete(job);
  }
}

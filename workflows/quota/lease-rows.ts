import { leaseKey } from '../../domain/lease.js';
import type { LeaseRow } from './lease-row.js';

/** The rows of a book by lease key, and by job: a look at all rows for each message takes seconds with thousands of them. */
export class LeaseRows {
  readonly #rows = new Map<string, LeaseRow>();
  readonly #keysOfJob = new Map<string, readonly string[]>();

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
    return (this.#keysOfJob.get(job) ?? []).flatMap((key) => this.#rows.get(key) ?? []);
  }

  set(key: string, row: LeaseRow): void {
    const known = this.#keysOfJob.get(row.lease.job) ?? [];
    if (!this.#rows.has(key)) this.#keysOfJob.set(row.lease.job, [...known, key]);
    this.#rows.set(key, row);
  }

  delete(key: string): void {
    const job = this.#rows.get(key)?.lease.job ?? '';
    this.#rows.delete(key);
    const others = (this.#keysOfJob.get(job) ?? []).filter((other) => other !== key);
    if (others.length > 0) this.#keysOfJob.set(job, others);
    else this.#keysOfJob.delete(job);
  }
}

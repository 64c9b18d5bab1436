import { condition, log, sleep } from '@temporalio/workflow';
import type { OpenSlice, OpenWork, StrayHolders } from '../../contract/quota-activities.js';
import type { JobRef } from '../../contract/workflow-ids.js';
import { leaseKey } from '../../domain/lease.js';
import type { Timings } from '../../domain/timings.js';
import { count, type EpochMs, utc } from '../../domain/units.js';
import { describeBy } from '../current-details.js';
import { pool as poolActivities, poolReading } from '../activity-options.js';
import { plain } from '../markdown.js';
import { emptyDelivery } from './deliveries.js';
import type { PoolRecords } from './pool-records.js';
import type { LeaseBook } from './lease-book.js';

/**
 * Makes a lease book from open jobs, open slices and the cloud alone: for a pool's first run, and for one whose history was
 * terminated or lost. Nothing is granted before it ends. It ends when every open job that may hold chips has said what it holds,
 * or after `rebuildBoundMs` (docs/adr/0035). Then a job that did not answer holds the lease whose slices the cloud has, by their
 * memos. An unheard lease without slices is forgotten.
 *
 * A slice that we did not see gets no chips: it sends no create before this epoch answers it, and the answer to an unknown
 * lease is no.
 */
export class Rebuild {
  readonly #records: PoolRecords;
  readonly #timings: Timings;

  constructor(records: PoolRecords, timings: Timings) {
    this.#records = records;
    this.#timings = timings;
  }

  async run(): Promise<void> {
    describeBy(() => 'rebuilding: reading open jobs, open slices and the cloud; nothing is granted until then');
    let open = await this.#list();
    if (open.jobs.length + open.slices.length > 0) {
      // Visibility lags behind, and workflows that were started a moment ago must be listed too.
      await sleep(this.#timings.rebuildSettleMs, { summary: 'until what was started a moment ago is listed' });
      open = await this.#list();
    }
    if (open.admission) this.#records.restoreAdmission(open.admission);
    this.#adopt(open.slices);
    this.#records.book.hearAnew(Date.now());
    await this.#hearJobs(open);
    this.#end();
  }

  #list(): Promise<OpenWork> {
    const { pool } = this.#records;
    return poolReading(`list what is open in pool ${pool}`).readOpenWork(pool);
  }

  #adopt(slices: readonly OpenSlice[]): void {
    const { book } = this.#records;
    for (const { lease, demand, ref, isWorkflowOpen, tier } of slices) {
      book.adopt(lease, demand, ref, Date.now(), tier);
      if (!isWorkflowOpen) book.abandoned(leaseKey(lease), ref);
    }
  }

  #end(): void {
    const { book } = this.#records;
    book.endRebuild();
    this.#records.noteRebuilding(undefined, Date.now());
    log.info(`rebuilt: ${book.leased.length} leases, ${book.waiting.length} waiting`, { epoch: book.epoch });
  }

  // Hearing jobs ---------------------------------------------------------------------------------------------------

  async #hearJobs(open: OpenWork): Promise<void> {
    const since = Date.now();
    const until = since + this.#timings.rebuildBoundMs;
    let jobs = open.jobs.filter(({ isQueued }) => !isQueued).map(({ job }) => job);
    let { slices } = open;
    await this.#ask(
      open.jobs.map(({ job }) => job),
      { since, until, unheard: this.#unheardOf(jobs) },
    );
    while (this.#unheardOf(jobs).length > 0 && Date.now() < until) {
      const waitMs = Math.min(this.#timings.poolLookMs, until - Date.now());
      await condition(() => this.#unheardOf(jobs).length === 0, waitMs, { summary: 'until open jobs are asked again' });
      if (this.#unheardOf(jobs).length === 0) break;
      const again = await this.#list();
      const stillOpen = new Set(again.jobs.map(({ job }) => refKey(job)));
      jobs = this.#unheardOf(jobs).filter((job) => stillOpen.has(refKey(job)));
      slices = again.slices;
      if (Date.now() < until) await this.#ask(jobs, { since, until, unheard: jobs });
    }
    this.#holdUnheard(this.#unheardOf(jobs), slices);
  }

  async #ask(jobs: readonly JobRef[], { since, until, unheard }: Waiting): Promise<void> {
    const { pool, book } = this.#records;
    const names = unheard.map(({ id }) => id).toSorted();
    const rebuilding = { since, until, waitsFor: names.slice(0, MOST_NAMED), waitsForCount: names.length };
    this.#records.noteRebuilding(rebuilding, Date.now());
    if (names.length > 0) describeBy(() => waitingText(names, until));
    for (let from = 0; from < jobs.length; from += ASKED_AT_ONCE) {
      const restate = jobs.slice(from, from + ASKED_AT_ONCE);
      const summary = `ask ${count(restate.length, 'open job')} what they hold`;
      await poolActivities(summary).deliver({ ...emptyDelivery(pool, book.epoch), restate });
    }
  }

  #unheardOf(jobs: readonly JobRef[]): readonly JobRef[] {
    return jobs.filter((job) => !this.#records.book.hasHeard(job));
  }

  /**
   * A job holds one lease at a time: the latest that has a slice in the cloud. Other open leases drain: they count until they are
   * seen gone, and a slice of theirs that asks before its create is told no.
   */
  #holdUnheard(jobs: readonly JobRef[], slices: readonly OpenSlice[]): void {
    for (const job of jobs) {
      const own = slices.filter(({ lease }) => lease.job === job.id && lease.run === job.run);
      this.#adopt(own);
      const [latest] = own.filter(({ isInCloud }) => isInCloud).toSorted((a, b) => b.lease.number - a.lease.number);
      if (latest) this.#records.book.holdUnheard(leaseKey(latest.lease), Date.now());
      log.warn(
        `job ${job.id} did not say what it holds: ${latest ? 'its slices count' : 'it has no slice in the cloud'}`,
        {
          slices: own.map(({ ref }) => ref.name),
        },
      );
    }
  }
}

interface Waiting {
  readonly since: EpochMs;
  readonly until: EpochMs;
  readonly unheard: readonly JobRef[];
}

const refKey = ({ id, run }: JobRef): string => `${id}/${run}`;

/**
 * Limit of signals that one activity sends. An activity that runs out of its time begins again, and every job that it asks again
 * answers again.
 */
const ASKED_AT_ONCE = 500;
/** Limit of named jobs that have not answered; people need a few to look at. */
const MOST_NAMED = 20;

function waitingText(names: readonly string[], until: EpochMs): string {
  const some = names.slice(0, MOST_NAMED).map((name) => plain(name, 80));
  const more = names.length > some.length ? ` and ${names.length - some.length} more` : '';
  return `rebuilding: waiting for ${some.join(', ')}${more} to say what they hold, until ${utc(until)} at most; nothing is granted until then`;
}

/**
 * Compares the pool's leases with the workflows that are open: every `reconcileMs` while the pool is quiet, which workers watch
 * (docs/adr/0151), else every `poolLookMs`. The comparison runs beside the loop: thousands of rows take seconds, and grants do
 * not wait for it.
 */
export class Reconciler {
  readonly #records: PoolRecords;
  readonly #wake: () => void;
  /** Undefined: the next one is due at once. */
  #comparedAt: EpochMs | undefined;
  #isComparing = false;
  /** Whether something was ended after the running comparison began. The comparison may have looked at it before. */
  #isHurried = false;
  #found: StrayHolders | undefined;

  constructor(records: PoolRecords, wake: () => void) {
    this.#records = records;
    this.#wake = wake;
  }

  get dueAt(): EpochMs {
    const { facts, book } = this.#records;
    if (this.#comparedAt === undefined || facts === undefined) return 0;
    return this.#comparedAt + facts.timings[book.isQuiet ? 'reconcileMs' : 'poolLookMs'];
  }

  get isDue(): boolean {
    return Date.now() >= this.dueAt;
  }

  /** Compares at once; after a running comparison, once more. */
  hurry(): void {
    this.#comparedAt = undefined;
    this.#isHurried = this.#isComparing;
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
    this.#comparedAt = Date.now();
    if (!this.#isComparing && !this.#records.isIdle) void this.#compare();
  }

  async #compare(): Promise<void> {
    this.#isComparing = true;
    const { pool, book } = this.#records;
    try {
      const summary = `are the holders of ${book.leased.length} leases and those who wait still open?`;
      this.#found = await poolReading(summary).findStrays(pool);
    } catch (error) {
      log.warn(`leases could not be compared: ${String(error)}`);
    } finally {
      this.#isComparing = false;
      if (this.#isHurried) this.hurry();
      this.#wake();
    }
  }
}

/**
 * Applies the findings of a comparison of the book with the open workflows. It frees nothing itself: the lease of a closed job
 * starts to drain, and a slice whose workflow is closed gets a new one that deletes it and reports it gone (docs/design.md,
 * "Quota").
 */
function reconcile(book: LeaseBook, { closedJobs, lostSlices }: StrayHolders, now: EpochMs): void {
  for (const { lease, ref } of lostSlices) {
    // Changes during the comparison are newer than its answer.
    const isStillThere = book.get(leaseKey(lease))?.slices.some(({ name }) => name === ref.name) ?? false;
    if (isStillThere) book.abandoned(leaseKey(lease), ref);
  }
  book.noteDraining(now);
  for (const lease of closedJobs) book.jobClosed(leaseKey(lease), now, `job ${lease.job} is closed`);
  book.remind(now, REMIND_AFTER_MS);
}

/** Time after which a job is told again to give its lease back: it may have been reset to a time before it heard. */
const REMIND_AFTER_MS = 60_000;

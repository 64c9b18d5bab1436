import { condition, log, setCurrentDetails, sleep } from '@temporalio/workflow';
import type { Admission, JobRef, OpenWork } from '../../activities/contract.js';
import { leaseKey } from '../../domain/lease.js';
import type { Timings } from '../../domain/timings.js';
import { pool as outside, poolReading } from '../activity-options.js';
import { count } from '../markdown.js';
import type { LeaseBook } from './lease-book.js';

/**
 * Makes a lease book from nothing but what is open in the world: for a pool's first run, and for one whose history was
 * terminated or lost. Nothing is granted before it ends, and it ends only when every open job that may hold chips has said
 * what it holds, or is closed. A slice granted by the old epoch that we did not see cannot slip through: it sends no create
 * before this epoch answers it, and the answer to an unknown lease is no.
 */
export class Rebuild {
  readonly #pool: string;
  readonly #book: LeaseBook;
  readonly #timings: Timings;

  constructor(pool: string, book: LeaseBook, timings: Timings) {
    this.#pool = pool;
    this.#book = book;
    this.#timings = timings;
  }

  /** @returns an admin's word, as it was published last */
  async run(): Promise<Admission | undefined> {
    setCurrentDetails('rebuilding: reading open jobs, open slices and the cloud; nothing is granted until then');
    let open = await poolReading(`list what is open in pool ${this.#pool}`).readOpenWork(this.#pool);
    if (open.jobs.length + open.slices.length > 0) {
      // Visibility lags behind; what was started a moment ago must be listed too.
      await sleep(this.#timings.rebuildSettleMs, { summary: 'until what was started a moment ago is listed' });
      open = await poolReading(`list what is open in pool ${this.#pool}`).readOpenWork(this.#pool);
    }
    this.#adopt(open);
    await this.#hearAll(open);
    log.info(`rebuilt: ${this.#book.leased.length} leases, ${this.#book.waiting.length} waiting`, {
      epoch: this.#book.epoch,
    });
    return open.admission;
  }

  #adopt({ slices }: OpenWork): void {
    for (const { lease, demand, ref, isWorkflowOpen, tier } of slices) {
      this.#book.adopt(lease, demand, ref, Date.now(), tier);
      if (!isWorkflowOpen) this.#book.abandoned(leaseKey(lease), ref);
    }
  }

  async #hearAll({ jobs }: OpenWork): Promise<void> {
    let unheard = this.#unheardOf(jobs.filter(({ isQueued }) => !isQueued));
    await this.#ask(jobs.map(({ job }) => job));
    while (unheard.length > 0) {
      setCurrentDetails(
        `rebuilding: ${unheard.length} open jobs have not said what they hold, ${unheard[0]?.job.id} among them`,
      );
      await condition(() => this.#unheardOf(unheard).length === 0, this.#timings.reconcileMs, {
        summary: 'until open jobs are asked again',
      });
      const stillOpen = new Set(
        (await poolReading(`list what is open in pool ${this.#pool}`).readOpenWork(this.#pool)).jobs.map(
          ({ job }) => job.id,
        ),
      );
      unheard = this.#unheardOf(unheard.filter(({ job }) => stillOpen.has(job.id)));
      await this.#ask(unheard.map(({ job }) => job));
    }
  }

  async #ask(jobs: readonly JobRef[]): Promise<void> {
    for (let from = 0; from < jobs.length; from += ASKED_AT_ONCE) {
      const restate = jobs.slice(from, from + ASKED_AT_ONCE);
      await outside(`ask ${count(restate.length, 'open job')} what they hold`).deliver({
        epoch: this.#book.epoch,
        grants: [],
        answers: [],
        reclaims: [],
        releases: [],
        restate,
      });
    }
  }

  /** Those that have not said what they hold. */
  #unheardOf(jobs: OpenWork['jobs']): OpenWork['jobs'] {
    const heard = new Set(
      [...this.#book.waiting, ...this.#book.leased]
        .filter(({ sequences }) => 'job' in sequences)
        .map(({ lease }) => `${lease.job}/${lease.run}`),
    );
    return jobs.filter(({ job }) => !heard.has(`${job.id}/${job.run}`));
  }
}

/** Signals of one activity. One that runs out of its time begins again, and every job that it asked again answers again. */
const ASKED_AT_ONCE = 500;

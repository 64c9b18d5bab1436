import { setHandler, workflowInfo } from '@temporalio/workflow';
import {
  type Holder,
  holdersQuery,
  type PoolLease,
  type PoolState,
  publishedQuery,
  quotaStateQuery,
} from '../../contract/quota.js';
import type { EpochMs } from '../../domain/units.js';
import { packState, type TextPage } from '../../quota/published-state.js';
import type { LeaseBook, LeaseRow } from './lease-book.js';
import type { PoolRecords } from './pool-records.js';

/**
 * Registers the queries of a pool. While a pool is rebuilt, `published` says so and names the jobs that it waits for. Before the
 * rebuild has read the last published state, `published` is refused, so that an admin's freeze is not overwritten unread.
 * @param isReady whether all leases are known
 */
export function answerQueries(records: PoolRecords, isReady: () => boolean): void {
  const published = new TextPages(() => JSON.stringify(packState(records.snapshot())));
  const holders = new TextPages(() => JSON.stringify(holdersOf(records.book)));
  const versionIf = (isAllowed: boolean): string => {
    if (!isAllowed) throw new Error(`pool ${records.pool} is being rebuilt`);
    return `${workflowInfo().runId}/${records.changes}`;
  };
  setHandler(quotaStateQuery, (): PoolState => describePool(records, Date.now()));
  setHandler(publishedQuery, (page) => published.page(versionIf(isReady() || records.rebuilding !== undefined), page));
  setHandler(holdersQuery, (page) => holders.page(versionIf(isReady()), page));
}

const holdersOf = (book: LeaseBook): readonly Holder[] =>
  [...book.leased, ...book.waiting].map(({ lease, state, slices, stuck }) => ({
    lease,
    state,
    slices,
    ...(stuck && { stuck }),
  }));

/** An answer is one payload, of 2 MB at most, and a row is 250 bytes: all of 10,000 would be refused. */
export const MOST_WAITING = 1_000;

type Described = Pick<PoolRecords, 'pool' | 'book' | 'facts' | 'rebuilding'>;

export function describePool({ pool, book, facts, rebuilding }: Described, now: EpochMs): PoolState {
  return {
    pool,
    epoch: book.epoch,
    at: now,
    ...(facts?.config ? { config: facts.config } : {}),
    ...(facts?.problem ? { problem: facts.problem } : {}),
    ...(rebuilding ? { rebuilding } : {}),
    leases: book.leased.map(toPoolLease),
    waiting: book.waiting.slice(0, MOST_WAITING).map(toPoolLease),
    waitingCount: book.waiting.length,
  };
}

function toPoolLease({ lease, demand, state, tier, startedAt, slices }: LeaseRow): PoolLease {
  return {
    lease,
    demand,
    state,
    tier,
    ...(startedAt === undefined ? {} : { startedAt }),
    slices: slices.map(({ name }) => name),
  };
}

/** In characters: an answer is one payload, of 2 MB at most. */
const PAGE = 1_000_000;

/**
 * A query's answer in pages. The text is made once for each version, when its first page is asked for. The other pages are of
 * that text even if another version has come since, so that a pool in motion can be read.
 */
export class TextPages {
  readonly #text: () => string;
  #version: string | undefined;
  #made = '';

  constructor(text: () => string) {
    this.#text = text;
  }

  page(version: string, page: number): TextPage {
    if (this.#version === undefined || (page === 0 && version !== this.#version)) {
      this.#made = this.#text();
      this.#version = version;
    }
    return {
      version: this.#version,
      pages: Math.max(1, Math.ceil(this.#made.length / PAGE)),
      text: this.#made.slice(page * PAGE, (page + 1) * PAGE),
    };
  }
}

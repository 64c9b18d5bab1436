import type { PoolFacts } from '../../activities/contract.js';
import type { LeaseId, Demand } from '../../domain/lease.js';
import type { SliceRef } from '../../domain/slice.js';
import type { EpochMs } from '../../domain/units.js';
import type { LeaseBook, LeaseRow } from './lease-book.js';

/** Answer of the `state` query: the pool as the quota workflow sees it. */
export interface PoolState {
  readonly pool: string;
  readonly epoch: number;
  readonly at: EpochMs;
  readonly config?: NonNullable<PoolFacts['config']>;
  readonly problem?: string;
  readonly leases: readonly PoolLease[];
  /** Those who asked first, `MOST_WAITING` of them. */
  readonly waiting: readonly PoolLease[];
  readonly waitingCount: number;
}
export interface PoolLease {
  readonly lease: LeaseId;
  readonly demand: Demand;
  readonly state: LeaseRow['state'];
  readonly tier: number;
  readonly startedAt?: EpochMs;
  /** Not seen gone yet. */
  readonly slices: readonly string[];
}

/** A lease, or a request for one, as the query `holders` answers it (messages.ts). */
export interface Holder {
  readonly lease: LeaseId;
  readonly state: LeaseRow['state'];
  /** Not seen gone yet. */
  readonly slices: readonly SliceRef[];
}

export const holdersOf = (book: LeaseBook): readonly Holder[] =>
  [...book.leased, ...book.waiting].map(({ lease, state, slices }) => ({ lease, state, slices }));

/** An answer is one payload, of 2 MB at most, and a row is 250 bytes: all of 10,000 would be refused. */
export const MOST_WAITING = 1_000;

export function describePool(pool: string, book: LeaseBook, facts: PoolFacts | undefined, now: EpochMs): PoolState {
  return {
    pool,
    epoch: book.epoch,
    at: now,
    ...(facts?.config ? { config: facts.config } : {}),
    ...(facts?.problem ? { problem: facts.problem } : {}),
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

import { chipsOfUnits } from '../domain/accelerators.js';
import { type Demand, jobOfLeaseKey } from '../domain/lease.js';
import type { EpochMs, QuotaUnits } from '../domain/units.js';
import { borrowedLeases } from './pool-accounts.js';
import type { LeaseState, Pool } from './quota-config.js';

/** A job that has a lease. */
export interface ChipHolder {
  readonly job: string;
  readonly user: string;
  /** Whether a server has verified the user. */
  readonly isVerified: boolean;
  readonly project: string;
  readonly units: QuotaUnits;
  /** Absent if a type is not a Cloud TPU type. */
  readonly chips?: number;
  readonly state: LeaseState;
  /** Index into the pool's tiers. */
  readonly tier: number;
  readonly priority: number;
  /** The time of the grant. */
  readonly since: EpochMs;
  /** The lease is not within its project's nominal quota, so in-quota demand can take it back. */
  readonly isBorrowing: boolean;
}

/** One user's chips, held and waited for, over all of their jobs in one project. An unverified name is a separate user. */
export interface UserShare {
  readonly user: string;
  readonly isVerified: boolean;
  readonly project: string;
  readonly jobs: number;
  readonly chips: number;
  /** Part of `chips`. */
  readonly borrowed: number;
  readonly waitingJobs: number;
  readonly waitingChips: number;
}

/** Every lease, the most chips first, then the oldest. */
export function chipHolders(pool: Pool): readonly ChipHolder[] {
  const borrowed = borrowedLeases(pool);
  return pool.leases
    .map(({ id, user, isVerified = false, project, units, state = 'held', tier, priority, startedAt }): ChipHolder => {
      const chips = chipsOf(units);
      return {
        job: jobOfLeaseKey(id),
        user,
        isVerified,
        project,
        units,
        ...(chips === undefined ? {} : { chips }),
        state,
        tier,
        priority,
        since: startedAt,
        isBorrowing: borrowed.has(id),
      };
    })
    .toSorted((a, b) => (b.chips ?? 0) - (a.chips ?? 0) || a.since - b.since || (a.job < b.job ? -1 : 1));
}

/** One row per user and project, the most chips first, then the most waiting. */
export function userShares(pool: Pool): readonly UserShare[] {
  const shares = new Map<string, { -readonly [Key in keyof UserShare]: UserShare[Key] }>();
  const shareOf = ({ user, project, isVerified = false }: Pick<Demand, 'user' | 'project'> & Verified) => {
    const key = JSON.stringify([user, isVerified, project]);
    const none = { user, isVerified, project, jobs: 0, chips: 0, borrowed: 0, waitingJobs: 0, waitingChips: 0 };
    const share = shares.get(key) ?? none;
    shares.set(key, share);
    return share;
  };
  // A job that asks in several zones has a lease for each, and so has one that waits while its former lease drains.
  const seen = new Set<string>();
  for (const holder of chipHolders(pool)) {
    const share = shareOf(holder);
    if (!seen.has(holder.job)) share.jobs++;
    seen.add(holder.job);
    share.chips += holder.chips ?? 0;
    if (holder.isBorrowing) share.borrowed += holder.chips ?? 0;
  }
  for (const request of pool.requests) {
    const share = shareOf(request);
    share.waitingJobs++;
    share.waitingChips += chipsOf(request.units) ?? 0;
  }
  return [...shares.values()].toSorted(
    (a, b) =>
      b.chips - a.chips || b.waitingChips - a.waitingChips || (a.user + a.project < b.user + b.project ? -1 : 1),
  );
}

interface Verified {
  readonly isVerified?: boolean;
}

/** Undefined if a type is not a Cloud TPU type. */
function chipsOf(units: QuotaUnits): number | undefined {
  const chips = Object.entries(units).map(([type, amount]) => chipsOfUnits(type, amount));
  return chips.reduce((sum, each) => (sum === undefined || each === undefined ? undefined : sum + each), 0);
}

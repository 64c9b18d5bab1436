import { addUnits, isWithin, type QuotaUnits } from '../../domain/units.js';
import { tierOf } from '../../quota/quota-config.js';
import { holds, type LeaseRow, unitsInUse } from './lease-row.js';

/** For the job's user. */
export const CLAIMED_TOO_LATE =
  "its pool lost its memory and did not hear of this lease in time: its chips may be another job's";

/**
 * Leases to revoke that were taken from their jobs' claims and have no chips, in each tier in which more is leased than it has
 * (docs/adr/0035). All of them are revoked: nothing tells which one was granted twice.
 * @param leased all leases that count against the pool
 * @param tiers units of each tier; leases of tiers behind the last one count in the last one
 */
export function unconfirmedBeyond(leased: readonly LeaseRow[], tiers: readonly QuotaUnits[]): readonly LeaseRow[] {
  const unconfirmed = leased.filter((row) => row.isUnconfirmed && holds(row));
  const isFull = (tier: number): boolean => {
    const units = leased
      .filter((row) => tierOf(row, tiers.length) === tier)
      .reduce<QuotaUnits>((sum, row) => addUnits(sum, unitsInUse(row)), {});
    return !isWithin(units, tiers[tier] ?? {});
  };
  return [...new Set(unconfirmed.map((row) => tierOf(row, tiers.length)))]
    .filter(isFull)
    .flatMap((tier) => unconfirmed.filter((row) => tierOf(row, tiers.length) === tier));
}

import { addUnits, isWithin, type QuotaUnits } from '../../domain/units.js';
import { tierOf } from '../../quota/quota-config.js';
import { holds, type LeaseRow, unitsInUse } from './lease-row.js';

/** For the job's user. */
export const CLAIMED_TOO_LATE =
  "its pool lost its memory and did not hear of this lease in time: its chips may be another job's";

/**
 * Leases to be asked back that were taken from their jobs' word and have no chips, in each tier in which more is leased than there
 * is (docs/adr/0035). All of them: nothing tells which one was granted twice.
 * @param leased all that counts against the pool
 * @param tiers what each tier has; the last one has all tiers behind it too
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

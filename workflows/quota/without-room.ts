import { leaseKey } from '../../domain/lease.js';
import { addUnits, isWithin, type QuotaUnits } from '../../domain/units.js';
import { type QuotaConfig, tierOf } from '../../quota/quota-config.js';
import { gangsBeside, type LeaseRow, unitsInUse, unitsOfGangs, holds } from './lease-row.js';

/** For the job's user. */
export const NO_ROOM_BESIDE = 'its pool has no room for a second request';

/**
 * Returns asking leases for whose gangs beside the first there is no room (docs/adr/0101), even if such a gang is only asked for.
 * There is no room if another job waits for chips of their types, or if their tier has fewer chips than they would take. A gang
 * that exists comes before one that is asked for, and counts until it is seen gone, whether there is room for it or not. Earlier
 * grants come first.
 * @param leased all leases that count against the pool
 * @param asked slices that ask now, by lease key
 */
export function withoutRoomBeside(
  leased: readonly LeaseRow[],
  waiting: readonly LeaseRow[],
  config: QuotaConfig,
  asked: ReadonlyMap<string, readonly string[]> = new Map(),
): readonly LeaseRow[] {
  const askedBy = (row: LeaseRow): readonly string[] => asked.get(leaseKey(row.lease)) ?? [];
  const there = (row: LeaseRow): number =>
    gangsBeside({ slices: row.slices.filter(({ name }) => !askedBy(row).includes(name)) });
  // A slice beside the first gang may ask before the first one does.
  const gangsOf = (row: LeaseRow): number => Math.max(gangsBeside(row), askedBy(row).length > 0 ? 1 : 0);
  const beside = leased
    .filter((row) => row.state === 'asking' && gangsOf(row) > 0)
    .toSorted((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0));
  if (beside.length === 0 || config.kind === 'unlimited') return [];
  const wanted = new Set(waiting.flatMap(({ demand }) => Object.keys(demand.units)));
  const tiers = config.tiers.length;
  const used = config.tiers.map((_, tier) =>
    leased
      .filter((row) => tierOf(row, tiers) === tier)
      .reduce<QuotaUnits>((sum, row) => addUnits(sum, beside.includes(row) ? row.demand.units : unitsInUse(row)), {}),
  );
  const without = new Set<LeaseRow>();
  const claim = (row: LeaseRow, gangs: number, isThere: boolean): void => {
    const tier = tierOf(row, tiers);
    const all = addUnits(used[tier] ?? {}, unitsOfGangs(row, gangs));
    const isWanted = Object.keys(row.demand.units).some((type) => wanted.has(type));
    const isRoom = !isWanted && isWithin(all, config.tiers[tier] ?? {});
    if (!isRoom) without.add(row);
    if (isRoom || isThere) used[tier] = all;
  };
  for (const row of beside) if (there(row) > 0) claim(row, there(row), true);
  for (const row of beside) if (askedBy(row).length > 0) claim(row, gangsOf(row) - there(row), false);
  return [...without];
}

/** For the job's user. */
export const CLAIMED_TOO_LATE =
  "its pool lost its memory and did not hear of this lease in time: its chips may be another job's";

/**
 * Leases to revoke that were taken from their jobs' claims and have no chips, in each tier in which more is leased than it has
 * (docs/adr/0035). All of them are revoked: nothing tells which one was granted twice.
 * @param leased all leases that count against the pool
 * @param tiers units of each tier; leases of later tiers count in the last one
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

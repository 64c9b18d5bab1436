import { leaseKey } from '../../domain/lease.js';
import { addUnits, isWithin, type QuotaUnits } from '../../domain/units.js';
import type { QuotaConfig } from '../../quota/quota-config.js';
import { gangsBeside, type LeaseRow, tierOf, unitsInUse, unitsOfGangs } from './lease-row.js';

/** For the job's user. */
export const NO_ROOM_BESIDE = 'its pool has no room for a second request';

/**
 * Leases that ask for chips and have gangs beside the first (docs/adr/0101) for which there is no room: another job waits for chips
 * of their types, or their tier has fewer than all of it would take. Whoever was granted first keeps them first.
 * @param leased all that counts against the pool
 * @param asked keys of leases of which a slice asks now
 */
export function withoutRoomBeside(
  leased: readonly LeaseRow[],
  waiting: readonly LeaseRow[],
  config: QuotaConfig,
  asked: ReadonlySet<string> = new Set(),
): readonly LeaseRow[] {
  // A slice beside the first gang may ask before the first one does.
  const gangsOf = (row: LeaseRow): number => Math.max(gangsBeside(row), asked.has(leaseKey(row.lease)) ? 1 : 0);
  const beside = leased.filter((row) => row.state === 'asking' && gangsOf(row) > 0);
  if (beside.length === 0 || config.kind === 'unlimited') return [];
  const wanted = new Set(waiting.flatMap(({ demand }) => Object.keys(demand.units)));
  const tiers = config.tiers.length;
  const used = config.tiers.map((_, tier) =>
    leased
      .filter((row) => tierOf(row, tiers) === tier)
      .reduce<QuotaUnits>((sum, row) => addUnits(sum, beside.includes(row) ? row.demand.units : unitsInUse(row)), {}),
  );
  const without: LeaseRow[] = [];
  for (const row of beside.toSorted((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0))) {
    const tier = tierOf(row, tiers);
    const all = addUnits(used[tier] ?? {}, unitsOfGangs(row, gangsOf(row)));
    const isWanted = Object.keys(row.demand.units).some((type) => wanted.has(type));
    if (isWanted || !isWithin(all, config.tiers[tier] ?? {})) without.push(row);
    else used[tier] = all;
  }
  return without;
}

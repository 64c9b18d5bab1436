import type { QuotaConfig, QuotaMemory, TierRule } from './quota-config.js';

/** From a tier's place in the former files to its place in the present ones. */
export type TierMoves = ReadonlyMap<number, number>;

/**
 * The tiers that have another place now. Leases name their tier by its place, and an operator may put a tier before others. A
 * tier is known by the purchase of its units. A tier that shares its purchase with another keeps its place.
 */
export function tierMoves(before: QuotaConfig | undefined, after: QuotaConfig | undefined): TierMoves {
  const [from, to] = [purchasesOf(before), purchasesOf(after)];
  const moves = [...from].flatMap(([purchase, place]) => {
    const now = to.get(purchase);
    return now === undefined || now === place ? [] : [[place, now] as const];
  });
  return new Map(moves);
}

/** The place of each tier whose purchase no other tier shares, by that purchase. */
function purchasesOf(config: QuotaConfig | undefined): ReadonlyMap<string, number> {
  if (config?.kind !== 'limited') return new Map();
  const keys = config.tiers.map((_, place) => purchaseKey(config.rules?.tiers[place] ?? {}));
  const single = keys.flatMap((key, place) =>
    keys.indexOf(key) === keys.lastIndexOf(key) ? [[key, place] as const] : [],
  );
  return new Map(single);
}

const purchaseKey = ({ pricing, reservation }: TierRule): string => JSON.stringify([pricing ?? '', reservation ?? '']);

/** The memory of decisions, with tiers at their present places. */
export function moveMemory(memory: QuotaMemory, moves: TierMoves): QuotaMemory {
  const moved = <T extends { readonly tier: number }>(entry: T): T => ({
    ...entry,
    tier: moves.get(entry.tier) ?? entry.tier,
  });
  return { ...memory, reservations: memory.reservations.map(moved), coolDowns: memory.coolDowns.map(moved) };
}

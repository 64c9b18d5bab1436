import type { Demand } from '../../domain/lease.js';
import type { EpochMs } from '../../domain/units.js';
import type { CoolDown, PoolRules, QuotaLease, QuotaMemory } from '../quota-config.js';
import { compareIds } from './time-order.js';
import { unitsOf } from '../../domain/units.js';

/**
 * End of a demand's cool-down in a tier. A demand cools down if all zones that it names gave no chips of one of its types.
 * Undefined if it does not cool down, or if it names no zones.
 * @param coolDowns cool-downs that are not over
 */
export function coolsDownUntil(
  coolDowns: readonly CoolDown[],
  { units, zones = [] }: Pick<Demand, 'units' | 'zones'>,
  tier: number,
): EpochMs | undefined {
  if (coolDowns.length === 0 || zones.length === 0) return undefined;
  const ends = Object.keys(units).flatMap((type) => {
    const ofZones = zones.map((zone) => findCoolDown(coolDowns, { type, tier, zone })?.until);
    return ofZones.every((until) => until !== undefined) ? [Math.min(...ofZones)] : [];
  });
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** Cool-downs that still run at `now`. */
export function runningCoolDowns(memory: QuotaMemory, now: EpochMs): readonly CoolDown[] {
  return memory.coolDowns.filter(({ until }) => until > now);
}

/** Drops cool-downs that ended so long ago that their count of failures no longer matters. */
export function rememberedCoolDowns(memory: QuotaMemory, rules: PoolRules, now: EpochMs): readonly CoolDown[] {
  return memory.coolDowns.filter(({ until }) => until + rules.coolDownMaxMs > now);
}

/**
 * The cool-downs after leases were returned without chips. A running cool-down is not extended: leases that asked at the same
 * time count as one failure.
 */
export function withFailures(
  coolDowns: readonly CoolDown[],
  leases: readonly QuotaLease[],
  rules: PoolRules,
  now: EpochMs,
): readonly CoolDown[] {
  const all = new Map(coolDowns.map((each) => [placeKey(each), each]));
  for (const place of leases.flatMap(placesOf)) {
    const known = all.get(placeKey(place));
    if (known !== undefined && known.until > now) continue;
    const failures = (known?.failures ?? 0) + 1;
    all.set(placeKey(place), { ...place, failures, until: now + coolDownMs(rules, failures) });
  }
  return [...all.values()].toSorted((a, b) => compareIds(placeKey(a), placeKey(b)));
}

/** The memory after a lease got its chips in `zone`, which ends that place's cool-down. Called when a job reports its chips. */
export function afterChips(memory: QuotaMemory, lease: Pick<QuotaLease, 'units' | 'tier'>, zone: string): QuotaMemory {
  const gave = (each: CoolDown): boolean =>
    each.tier === lease.tier && each.zone === zone && unitsOf(lease.units, each.type) > 0;
  if (!memory.coolDowns.some(gave)) return memory;
  return { ...memory, coolDowns: memory.coolDowns.filter((each) => !gave(each)) };
}

type Place = Pick<CoolDown, 'type' | 'tier' | 'zone'>;

/** The place in which the lease asked last, or all zones that it may ask in if that is not known. */
function placesOf({ units, tier, zone, zones = [] }: QuotaLease): Place[] {
  const asked = zone === undefined ? zones : [zone];
  return Object.keys(units).flatMap((type) => asked.map((each) => ({ type, tier, zone: each })));
}

/** Length of a cool-down. It doubles with each failure in a row. */
function coolDownMs({ coolDownMs: first, coolDownMaxMs }: PoolRules, failures: number): number {
  return Math.min(first * 2 ** (failures - 1), coolDownMaxMs);
}

function findCoolDown(coolDowns: readonly CoolDown[], place: Place): CoolDown | undefined {
  return coolDowns.find(({ type, tier, zone }) => type === place.type && tier === place.tier && zone === place.zone);
}

const placeKey = ({ type, tier, zone }: Place): string => JSON.stringify([type, tier, zone]);

import {
  type AcceleratorType,
  type Generation,
  GENERATIONS,
  quotaUnitsOf,
  findAccelerator,
  acceleratorNamed,
} from '../../accelerators.js';
import { regionOf } from '../../job-file/cloud-path.js';
import type { PoolDefaults } from '../../job-file/pool-defaults.js';
import type { Report } from '../../job-file/report.js';
import type { Path } from '../../problem.js';
import { unitsOf } from '../../units.js';
import type { Pricing } from '../../slice.js';
import { ANY_ZONE, type CloudTpuRequest } from './words.js';

/**
 * Zones in which Google offers each generation (cloud.google.com/tpu/docs/regions-zones and types-zones, 2026-11; with zones of
 * single tenants and AI zones). The list changes often and is only a help: a zone missing here is asked if a pool lists it.
 */
const ZONES: Readonly<Record<Generation, readonly string[]>> = {
  v2: ['us-central1-a', 'us-central1-b', 'us-central1-c', 'europe-west4-a', 'asia-east1-c'],
  v3: ['us-central1-a', 'us-central1-b', 'europe-west4-a'],
  v4: ['us-central2-b'],
  v5litepod: [
    ...['us-central1-a', 'us-south1-a', 'us-west1-c', 'us-west4-a', 'us-west4-b'],
    ...['europe-west4-b', 'asia-southeast1-b', 'asia-southeast1-c'],
  ],
  v5p: ['us-central1-a', 'us-east5-a', 'europe-west4-b'],
  v6e: [
    ...['us-central1-b', 'us-east1-d', 'us-east5-a', 'us-east5-b', 'europe-west4-a', 'asia-northeast1-b'],
    ...['southamerica-west1-a', 'us-east5-c', 'us-east4-a', 'us-east4-b', 'us-west1-c'],
    ...['us-central1-ai1a', 'us-south1-ai1b'],
  ],
};

/** The first listed zone with this type, however its name is written. Undefined if the type is unknown. */
export function firstZoneWith(accelerator: string): string | undefined {
  const type = acceleratorNamed(accelerator);
  return type && ZONES[type.generation][0];
}

/** Undefined if no list has the zone. If a region has a price but no listed zone, all its zones have the generation. */
function hasGeneration(zone: string, generation: Generation): boolean | undefined {
  if (ZONES[generation].includes(zone)) return true;
  const region = regionOf(zone);
  const isListed = ZONES[generation].some((each) => regionOf(each) === region);
  if (!isListed && hasPrice(generation, region)) return true;
  return GENERATIONS.some((each) => ZONES[each].includes(zone)) ? false : undefined;
}

/** The pool file's statement about a zone counts more than the lists. */
function mayHave(zone: string, type: AcceleratorType, { largestSlice }: Pick<PoolDefaults, 'largestSlice'>): boolean {
  const bounds = largestSlice?.[zone];
  if (bounds !== undefined && Object.hasOwn(bounds, type.generation))
    return unitsOf(bounds, type.generation) >= quotaUnitsOf(type);
  return hasGeneration(zone, type.generation) !== false;
}

/**
 * Zones of a pool for a job that takes any: those that have its type, in the order of the pool file. `validate`, `submit` and the
 * worker that accepts the job all use this function.
 * @param type undefined: not known, which is reported elsewhere
 */
export function zonesWith(type: AcceleratorType | undefined, pool: PoolDefaults, report: Report): readonly string[] {
  const { listedZones: all = [] } = pool;
  if (all.length === 0) {
    report.problem(
      ['tpu', 'zones'],
      ANY_ZONE,
      noZones(pool),
      `list them: ${listHint(type)}; or, for all jobs of the pool, write them into its pool file (docs/pool-file.md)`,
    );
    return [];
  }
  if (type === undefined) return all;
  const having = all.filter((zone) => mayHave(zone, type, pool));
  if (having.length === 0) {
    const message = `no zone of pool '${pool.pool}' has ${type.type}: its zones are ${all.join(', ')}`;
    const hint = [
      `${type.generation} is in ${ZONES[type.generation].join(', ')}`,
      `take another type, or let ${pool.file ?? 'the pool file'} have one of these in zones; [largest_slice.ZONE] ${type.generation} says that a zone has it`,
    ].join('\n');
    report.problem(['tpu', 'zones'], ANY_ZONE, message, hint);
  }
  return having;
}

/** Describes the contents of a pool file that names no zone. */
function noZones({ pool, file, googleProject, tpu }: PoolDefaults): string {
  const means = `means every zone of the pool, and`;
  if (file === undefined) return `${means} pool '${pool}' has no pool file`;
  const has = [
    ...(googleProject === undefined ? [] : ['google_project']),
    ...(tpu === undefined ? [] : [`[tpu] with ${Object.keys(tpu).join(', ') || 'nothing'}`]),
  ];
  return `${means} ${file}, the file of pool '${pool}', names none${has.length === 0 ? '' : `: it has ${has.join(' and ')}`}`;
}

const listHint = (type: AcceleratorType | undefined): string =>
  `zones: [${type === undefined ? 'us-central1-a, ..' : ZONES[type.generation].slice(0, MOST_SHOWN).join(', ')}]`;
const MOST_SHOWN = 3;

/** Warns if no zone is known to have the type. Google may have opened one since, so the zones are still asked as written. */
export function warnOfZones(type: AcceleratorType, zones: readonly string[], { path, report }: WarnedAt): void {
  if (zones.length === 0) return;
  if (!zones.every((zone) => hasGeneration(zone, type.generation) === false)) return;
  const which =
    zones.length === 1 ? `${zones.join('')} is not known to have` : `none of ${zones.join(', ')} is known to have`;
  report.warn(path, `${which} ${type.type}; ${type.generation} is in ${ZONES[type.generation].join(', ')}`);
}

interface WarnedAt {
  /** The place of the zones in the file. */
  readonly path: Path;
  readonly report: Report;
}

/** USD for one chip for one hour. */
interface ChipHour {
  readonly ondemand: number;
  readonly spot?: number;
}

/**
 * Estimates for people, by region. A price that is not listed is unknown. v5litepod, v5p and v6e: skypilot-catalog v8 @006059e0
 * (2025-26). Gaps, and v4, are filled from gpuhunt's tpu_pricing.json (2024-12-23). Reserved and preemptible chips have no
 * listed price. v2 and v3 have other prices for a single host: `SINGLE_HOST`.
 */
const PRICES: Partial<Record<Generation, Readonly<Record<string, ChipHour>>>> = {
  v3: { 'europe-west4': { ondemand: 2.0 } },
  v4: { 'us-central2': { ondemand: 3.22 } },
  v5litepod: {
    'us-central1': { ondemand: 1.2, spot: 0.2449 },
    'us-east1': { ondemand: 1.2, spot: 0.2449 },
    'us-west1': { ondemand: 1.2, spot: 0.2449 },
    'us-west4': { ondemand: 1.2, spot: 0.48 },
    'us-east4': { ondemand: 1.2, spot: 0.6 },
    'us-east5': { ondemand: 1.2, spot: 0.6 },
    'us-south1': { ondemand: 1.416, spot: 0.5664 },
    'europe-west4': { ondemand: 1.56, spot: 0.663 },
    'asia-southeast1': { ondemand: 1.56, spot: 0.78 },
  },
  v5p: {
    'us-central1': { ondemand: 4.2, spot: 0.8357 },
    'us-east1': { ondemand: 4.2, spot: 0.8357 },
    'us-east5': { ondemand: 4.2, spot: 1.68 },
    'europe-west4': { ondemand: 4.2525, spot: 1.3485 },
    'us-south1': { ondemand: 4.779, spot: 1.3161 },
  },
  v6e: {
    'us-central1': { ondemand: 2.7, spot: 0.5442 },
    'us-east1': { ondemand: 2.7, spot: 0.5442 },
    'us-west1': { ondemand: 2.7, spot: 0.5442 },
    'us-east4': { ondemand: 2.7, spot: 0.5777 },
    'us-east5': { ondemand: 2.7, spot: 1.215 },
    'us-south1': { ondemand: 2.7, spot: 1.35 },
    'europe-west4': { ondemand: 2.97, spot: 1.0375 },
    'asia-northeast1': { ondemand: 3.24, spot: 0.9435 },
    'asia-southeast1': { ondemand: 2.97, spot: 0.3629 },
  },
};

const SINGLE_HOST: Partial<Record<Generation, Readonly<Record<string, ChipHour>>>> = {
  v2: { 'europe-west4': { ondemand: 1.2375 }, 'asia-east1': { ondemand: 1.305 } },
  v3: { 'europe-west4': { ondemand: 2.2 } },
};

/** USD for one chip-hour, or undefined if no price is known. @param zone such as us-central1-a; its region's price counts */
export function usdPerChipHour(
  { generation, hosts }: AcceleratorType,
  zone: string | undefined,
  pricing: Pricing | 'any',
): number | undefined {
  if (zone === undefined || !isListed(pricing)) return undefined;
  const region = zone.slice(0, zone.lastIndexOf('-'));
  const hasOwnList = generation === 'v2' || generation === 'v3';
  const prices = hasOwnList && hosts === 1 ? SINGLE_HOST : PRICES;
  return prices[generation]?.[region]?.[pricing];
}

/** Returns whether the generation has a known price in a region. */
const hasPrice = (generation: Generation, region: string): boolean =>
  PRICES[generation]?.[region] !== undefined || SINGLE_HOST[generation]?.[region] !== undefined;

function isListed(pricing: Pricing | 'any'): pricing is keyof ChipHour {
  return pricing === 'spot' || pricing === 'ondemand';
}

/** The type that a job requests. @throws RangeError for a spec that was not resolved */
export function acceleratorOf({ accelerator }: Pick<CloudTpuRequest, 'accelerator'>): AcceleratorType {
  const type = findAccelerator(accelerator);
  if (type === undefined) throw new RangeError(`tpu.accelerator: '${accelerator}' is no Cloud TPU type`);
  return type;
}

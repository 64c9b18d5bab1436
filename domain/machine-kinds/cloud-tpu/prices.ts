import { type AcceleratorType, findAccelerator, type Generation } from '../../accelerators.js';
import type { Pricing } from '../../slice.js';
import type { CloudTpuRequest } from './words.js';

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
export const hasPrice = (generation: Generation, region: string): boolean =>
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

import { askedMachines, askedSize, machineKind, kindOfJob } from '../machines.js';
import type { JobSpec } from '../job-spec.js';
import type { MachineRequest } from '../machine-kinds/registry.js';
import { type ChargedChips, type ChipPlace, inSeconds, chargedOf, type ShownUsage, type Usage } from './usage.js';
import type { Pricing } from '../slice.js';

/** One row of an operator's price list (docs/counted.md). The first row that fits counts. */
export interface Price {
  /** A type such as `v6e-8`, `h100-8` or `a3-highgpu-8g`; or all sizes of a type: `v6e`, `h100`. */
  readonly machines: string;
  /** A zone, or a region with all its zones. Absent: everywhere. */
  readonly zone?: string;
  /** Absent: however they are bought. */
  readonly pricing?: string;
  readonly usdPerHour: number;
  readonly per: 'chip' | 'host' | 'slice';
}

/** The rows of a price list that may fit a job, frozen when the job is accepted. */
export interface PriceList {
  /** For people: where the prices are from, and of which day. */
  readonly source: string;
  readonly prices: readonly Price[];
}

type Sized = MachineRequest & Pick<JobSpec, 'slices'>;

/** Chips of a job; its hosts if it asks for no accelerator. */
export function countedUnits(spec: Sized): { readonly unit: 'chip' | 'host'; readonly count: number } {
  const { chips, hosts } = askedSize(spec);
  return chips > 0 ? { unit: 'chip', count: chips } : { unit: 'host', count: hosts };
}

/** Names under which a price list may have a job's machines: its type, and the types of its units. */
const namesOf = (spec: Sized): readonly string[] => [
  askedMachines(spec).accelerator,
  ...Object.keys(askedSize(spec).units),
];

/** The rows of a list that may ever fit the job: the others are not carried. */
export function pricesFor(spec: Sized, { source, prices }: PriceList): PriceList | undefined {
  const names = namesOf(spec);
  const own = prices.filter(({ machines }) => names.includes(machines));
  return own.length === 0 ? undefined : { source, prices: own };
}

/** The list of jobctl itself (domain/machine-kinds/cloud-tpu/type-zones.ts). */
const LIST_SOURCE = "jobctl's list of public prices, 2026-11";

interface UnitPrice {
  /** US dollars for one counted unit for one hour. */
  readonly usd: number;
  readonly source: string;
}

/** The price of one chip (or host) of the job there, or undefined if none is known. Unknown is never 0. */
export function priceOf(spec: Sized, place: ChipPlace, own?: PriceList): UnitPrice | undefined {
  const { count } = countedUnits(spec);
  const row = own?.prices.find((price) => fits(price, namesOf(spec), place));
  if (own !== undefined && row !== undefined)
    return { usd: (row.usdPerHour * timesOf(row, spec)) / count, source: own.source };
  const listed = machineKind(kindOfJob(spec)).usdPerHour(spec, place.zone, place.pricing as Pricing);
  return listed === undefined ? undefined : { usd: listed / count, source: LIST_SOURCE };
}

function fits({ machines, zone, pricing }: Price, names: readonly string[], at: ChipPlace): boolean {
  if (!names.includes(machines) || (pricing !== undefined && pricing !== at.pricing)) return false;
  return zone === undefined || zone === at.zone || at.zone.startsWith(`${zone}-`);
}

function timesOf({ per }: Price, spec: Sized): number {
  const { hosts } = askedSize(spec);
  return { chip: countedUnits(spec).count, host: hosts, slice: spec.slices }[per];
}

interface Cost {
  /** Absent: nothing has a price. */
  readonly usd?: number;
  /** Charged chip-milliseconds without a price. */
  readonly unpricedMs: number;
  readonly sources: readonly string[];
}

const HOUR_MS = 3_600_000;

export function costOf(spec: Sized, charged: readonly ChargedChips[], own?: PriceList): Cost {
  let usd: number | undefined;
  let unpricedMs = 0;
  const sources = new Set<string>();
  for (const { chipMs, ...place } of charged) {
    const price = priceOf(spec, place, own);
    if (price === undefined) {
      unpricedMs += chipMs;
      continue;
    }
    usd = (usd ?? 0) + (chipMs / HOUR_MS) * price.usd;
    sources.add(price.source);
  }
  return { ...(usd !== undefined && { usd }), unpricedMs, sources: [...sources] };
}

/** US dollars an hour of what is charged now. 0 if nothing is, or nothing has a price. */
export function usdPerHourNow(spec: Sized, { flows }: Pick<Usage, 'flows'>, own?: PriceList): number {
  return flows.reduce(
    (sum, { chips, place }) => sum + (place === undefined ? 0 : chips * (priceOf(spec, place, own)?.usd ?? 0)),
    0,
  );
}

export function shownUsage(
  spec: Sized,
  { at, parts, charged }: Usage,
  { lost, prices }: { readonly lost: ShownUsage['lost']; readonly prices?: PriceList | undefined },
): ShownUsage {
  const { usd, unpricedMs, sources } = costOf(spec, charged, prices);
  return {
    unit: countedUnits(spec).unit,
    at,
    parts: inSeconds(parts),
    charged: chargedOf(parts) / 1000,
    lost,
    places: charged.map(({ chipMs, ...place }) => {
      const own = costOf(spec, [{ ...place, chipMs }], prices).usd;
      return { ...place, charged: chipMs / 1000, ...(own !== undefined && { usd: rounded(own) }) };
    }),
    ...(usd !== undefined && { usd: rounded(usd) }),
    ...(unpricedMs > 0 && { unpriced: unpricedMs / 1000 }),
    ...(sources.length > 0 && { prices: sources }),
  };
}

/** To a millionth of a dollar: a sum of fractions is no exact decimal. */
const rounded = (usd: number): number => Math.round(usd * 1e6) / 1e6;

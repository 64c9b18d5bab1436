import type { EpochMs } from '../units.js';

/**
 * The parts of the chip-time of a job's leases (docs/counted.md). A chip is in one of them at each moment:
 * - `waiting`: the lease is held and the chip is not there: its slice is asked for, or will be.
 * - `setUp`: the modules of the first attempt run.
 * - `useful`: the command runs, and nothing shows that its work was lost.
 * - `lost`: the command ran, and a later attempt did this work again.
 * - `restart`: the chip waits for another start after a first one: for slices in the place of lost ones, and for their set-up.
 * - `idle`: the chip is there and none of that happens on it: other slices of a first start are awaited, or the job is stopped,
 *   keeps its slices after its end, or runs its hooks.
 * - `draining`: its slice was lost or told to end, and is not seen gone. The lease counts it until then.
 */
export const PARTS = ['waiting', 'setUp', 'useful', 'lost', 'restart', 'idle', 'draining'] as const;
export type Part = (typeof PARTS)[number];
export type Parts = Readonly<Record<Part, number>>;

/**
 * The parts in which chips cost money. A provider charges a slice from the time at which it is ready until it is deleted or
 * taken: Google charges a TPU in the state READY alone (cloud.google.com/tpu/pricing).
 */
export const CHARGED_PARTS = ['setUp', 'useful', 'lost', 'restart', 'idle'] as const satisfies readonly Part[];

export const NO_PARTS: Parts = { waiting: 0, setUp: 0, useful: 0, lost: 0, restart: 0, idle: 0, draining: 0 };

export const sumOf = (parts: Parts): number => PARTS.reduce((sum, part) => sum + parts[part], 0);
export const chargedOf = (parts: Parts): number => CHARGED_PARTS.reduce((sum, part) => sum + parts[part], 0);
export const addParts = (a: Parts, b: Parts): Parts =>
  Object.fromEntries(PARTS.map((part) => [part, a[part] + b[part]])) as unknown as Parts;

/** The place and purchase of chips, which decide their price. */
export interface ChipPlace {
  readonly zone: string;
  readonly pricing: string;
}

/** Chips that are in one part from some moment on. */
export interface Flow {
  readonly part: Part;
  readonly chips: number;
  /** Only in a part that is charged. */
  readonly place?: ChipPlace;
}

/** Charged chip-milliseconds of one place. */
export interface ChargedChips extends ChipPlace {
  readonly chipMs: number;
}

/**
 * A running account of chip-milliseconds. Plain JSON, which a job carries from run to run. Its size does not grow with the job's
 * life, but with the number of its zones.
 */
export interface Usage {
  /** The account is made up to this time. From then on chips are in `flows`. */
  readonly at: EpochMs;
  readonly flows: readonly Flow[];
  readonly parts: Parts;
  readonly charged: readonly ChargedChips[];
  /** Chip-milliseconds in `useful` of the attempt that is under way, or of the last one. */
  readonly ran: number;
}

export const noUsage = (at: EpochMs): Usage => ({ at, flows: [], parts: NO_PARTS, charged: [], ran: 0 });

/** The account at a later time. A time before the account's changes nothing, so no time is ever counted twice. */
export function usageAt(usage: Usage, at: EpochMs): Usage {
  const elapsed = at - usage.at;
  if (!(elapsed > 0)) return usage;
  const parts: Record<Part, number> = { ...usage.parts };
  let { charged, ran } = usage;
  for (const { part, chips, place } of usage.flows) {
    const chipMs = chips * elapsed;
    parts[part] += chipMs;
    if (part === 'useful') ran += chipMs;
    if (place !== undefined) charged = withCharged(charged, place, chipMs);
  }
  return { ...usage, at, parts, charged, ran };
}

function withCharged(all: readonly ChargedChips[], place: ChipPlace, chipMs: number): readonly ChargedChips[] {
  const isHere = ({ zone, pricing }: ChipPlace): boolean => zone === place.zone && pricing === place.pricing;
  if (!all.some(isHere)) return [...all, { zone: place.zone, pricing: place.pricing, chipMs }];
  return all.map((each) => (isHere(each) ? { ...each, chipMs: each.chipMs + chipMs } : each));
}

/** The account at `at`, with other flows from then on. */
export const usageWith = (usage: Usage, flows: readonly Flow[], at: EpochMs): Usage => ({
  ...usageAt(usage, at),
  flows,
});

/** Moves chip-time from `useful` to `lost`: at most what is useful, and never less than 0. */
export function withLost({ parts, ...usage }: Usage, chipMs: number): Usage {
  const lost = Math.floor(Math.min(Math.max(chipMs, 0), parts.useful));
  return { ...usage, parts: { ...parts, useful: parts.useful - lost, lost: parts.lost + lost } };
}

// Work of chips -----------------------------------------------------------------------------------------

/** Chips of one slice request that were ready, until they are seen gone. */
export interface HeldChips {
  readonly chips: number;
  /** Lost, or told to end. */
  readonly isLeaving: boolean;
  readonly place: ChipPlace;
}

export interface ChipFacts {
  /** Chips of the lease; 0 if none is held. */
  readonly leased: number;
  readonly held: readonly HeldChips[];
  readonly doing: Exclude<Part, 'waiting' | 'draining' | 'lost'>;
}

/**
 * The part of each chip. A chip of the lease for which nothing is held waits. Chips that are held beside the lease, of another
 * zone that was asked too, are counted where they are.
 */
export function flowsOf({ leased, held, doing }: ChipFacts): readonly Flow[] {
  const flows: Flow[] = [];
  let present = 0;
  for (const { chips, isLeaving, place } of held) {
    present += chips;
    flows.push(isLeaving ? { part: 'draining', chips } : { part: doing, chips, place });
  }
  const missing = leased - present;
  return missing > 0 ? [...flows, { part: 'waiting', chips: missing }] : flows;
}

export interface WorkFacts {
  readonly attempt: 'closed' | 'setting-up' | 'running' | 'stopped';
  /** Number of the attempt that is under way, or of the last one; 0: there was none. */
  readonly number: number;
  /** Nothing is going to be started, as far as it is known: slices are kept, an attempt has just ended, or the job has. */
  readonly isKept: boolean;
}

/** The part in which the ready chips of a job are. */
export function doingOf({ attempt, number, isKept }: WorkFacts): ChipFacts['doing'] {
  if (attempt === 'running') return 'useful';
  if (attempt === 'setting-up') return number > 1 ? 'restart' : 'setUp';
  if (isKept || attempt === 'stopped') return 'idle';
  return number > 0 ? 'restart' : 'idle';
}

// Shown --------------------------------------------------------------------------------------------------------------

/** The account as people and programs see it. Chip-seconds; in a job without chips, host-seconds. */
export interface ShownUsage {
  /** The thing that is counted: a host, in a job that asks for no accelerator. */
  readonly unit: 'chip' | 'host';
  /** The account is made up to this time. */
  readonly at: EpochMs;
  readonly parts: Parts;
  /** The sum of the parts that cost money. */
  readonly charged: number;
  /**
   * Whether `lost` is known. `none`: there was one attempt, so nothing was lost. `unknown`: the command prints no counter of its
   * steps, or the job has not ended; then `useful` may hold work that was lost.
   */
  readonly lost: 'none' | 'counted' | 'unknown';
  readonly places: readonly (ChipPlace & { readonly charged: number; readonly usd?: number })[];
  /** US dollars of what has a price. Absent: nothing has. */
  readonly usd?: number;
  /** Charged chip-seconds without a known price. Absent: none. */
  readonly unpriced?: number;
  /** Sources of the prices, with their dates. */
  readonly prices?: readonly string[];
}

export const inSeconds = (parts: Parts): Parts =>
  Object.fromEntries(PARTS.map((part) => [part, parts[part] / 1000])) as unknown as Parts;

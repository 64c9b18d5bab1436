import type { Draws } from '../../chaos/random.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const ZONES = ['us-central1-a', 'us-west4-a', 'us-south1-a', 'us-west1-c'] as const;
export type Zone = (typeof ZONES)[number];

/** A period in which the provider has chips of one type for one more gang. Times are ms since the start of the month. */
export interface Window {
  readonly from: number;
  readonly to: number;
}
export type Availability = Readonly<Record<Zone, readonly Window[]>>;

export interface AskedJob {
  readonly number: number;
  readonly submitAt: number;
  readonly chips: number;
  readonly accelerator: string;
  /** The job's zones, in an order that differs from job to job. */
  readonly zones: readonly Zone[];
}

/** Mean lengths of the periods with and without chips; lengths are exponential. Three droughts in ten are long. */
const SPELL_MS = 8 * HOUR;
const SHORT_DROUGHT_MS = 3 * HOUR;
const LONG_DROUGHT_MS = 36 * HOUR;
const LONG = 0.3;
const SHORTEST_MS = 10 * MINUTE;
/** Chips of a v5litepod slice. A size that is listed more often is drawn more often: most jobs are small. */
const CHIPS = [8, 8, 8, 8, 16, 16, 16, 32, 64, 128] as const;
/** Jobs are submitted in this first part of the month, and want chips until the month ends. */
const SUBMITTED = 1 / 3;

export function drawAvailability(draws: Draws, days: number): Availability {
  const of = (index: number): readonly Window[] => windows(draws.part(index), days * DAY);
  return { 'us-central1-a': of(1), 'us-west4-a': of(2), 'us-south1-a': of(3), 'us-west1-c': of(4) };
}

function windows(draws: Draws, endMs: number): readonly Window[] {
  const found: Window[] = [];
  let isThere = draws.chance(0.5);
  for (let at = 0; at < endMs; isThere = !isThere) {
    const meanMs = isThere ? SPELL_MS : draws.chance(LONG) ? LONG_DROUGHT_MS : SHORT_DROUGHT_MS;
    const to = at + SHORTEST_MS + Math.round(exponential(draws) * meanMs);
    if (isThere) found.push({ from: at, to: Math.min(to, endMs) });
    at = to;
  }
  return found;
}

export function drawJobs(draws: Draws, count: number, days: number): readonly AskedJob[] {
  return Array.from({ length: count }, (_, number) => {
    const own = draws.part(number + 1);
    const chips = own.pick(CHIPS);
    const submitAt = Math.floor(own.next() * days * DAY * SUBMITTED);
    return { number, submitAt, chips, accelerator: `v5litepod-${chips}`, zones: shuffled(own) };
  });
}

function shuffled(draws: Draws): readonly Zone[] {
  const left: Zone[] = [...ZONES];
  return ZONES.map(() => left.splice(draws.between(0, left.length - 1), 1)[0] as Zone);
}

/** A draw from the exponential distribution with mean 1. */
export const exponential = (draws: Draws): number => -Math.log(1 - draws.next());

import { percentile } from '../start/statistics.js';
import type { AskedJob, Window } from './availability.js';
import type { Bound } from './oracle.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The month of one job under one strategy. */
export interface Lived {
  readonly job: AskedJob;
  readonly held: readonly Window[];
  readonly requests: number;
  /** Most requests that were open at the same time. */
  readonly most: number;
}

export interface Figures {
  /** Minutes from the submit to the first chips, or to the end of the month for a job that never had any. */
  readonly first: { readonly p50: number; readonly p95: number };
  readonly chipHours: number;
  /** Chip-hours short of the bound, as a part of the bound (0 to 1). */
  readonly loss: number;
  readonly requests: number;
  readonly most: number;
  readonly starts: number;
  /** Jobs that never had chips. */
  readonly never: number;
}

export function figuresOf(lived: readonly Lived[], bounds: readonly Bound[], endMs: number): Figures {
  const firsts = lived.map(({ job, held }) => ((held[0]?.from ?? endMs) - job.submitAt) / MINUTE);
  const chipHours = sum(lived.map(({ job, held }) => (job.chips * unionMs(held)) / HOUR));
  return {
    first: { p50: percentile(firsts, 50), p95: percentile(firsts, 95) },
    chipHours,
    loss: 1 - chipHours / chipHoursOf(lived, bounds),
    requests: sum(lived.map(({ requests }) => requests)),
    most: Math.max(...lived.map(({ most }) => most)),
    starts: sum(lived.map(({ held }) => held.length)),
    never: lived.filter(({ held }) => held.length === 0).length,
  };
}

export const chipHoursOf = (lived: readonly Pick<Lived, 'job'>[], bounds: readonly Bound[]): number =>
  sum(lived.map(({ job }, index) => (job.chips * (bounds[index]?.heldMs ?? 0)) / HOUR));

/** Total time in ms. Chips held in two zones at the same time count once. */
function unionMs(held: readonly Window[]): number {
  let [all, until] = [0, 0];
  for (const { from, to } of held.toSorted((a, b) => a.from - b.from)) {
    all += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return all;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

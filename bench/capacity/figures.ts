import { percentile } from '../start/statistics.js';
import type { AskedJob, Window } from './availability.js';
import type { Bound } from './oracle.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** What one job came to. */
export interface Lived {
  readonly job: AskedJob;
  readonly held: readonly Window[];
  readonly requests: number;
  /** Requests at a time. */
  readonly most: number;
}

export interface Figures {
  /** From the submit to the first chips, in minutes; of a job that never had any, to the end of the month. */
  readonly first: { readonly p50: number; readonly p95: number };
  readonly chipHours: number;
  /** Of the chip-hours of the bound. */
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

/** Chips of two zones at a time are those of one. */
function unionMs(held: readonly Window[]): number {
  let [all, until] = [0, 0];
  for (const { from, to } of held.toSorted((a, b) => a.from - b.from)) {
    all += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return all;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

import { DEFAULT_TIMINGS, type Timings } from '../../domain/timings.js';

/** How long everything takes: production's times, divided by one factor. */
export interface Tier {
  readonly name: 'stack' | 'full';
  readonly factor: number;
}

export const TIERS: Readonly<Record<Tier['name'], Tier>> = {
  stack: { name: 'stack', factor: 12 },
  full: { name: 'full', factor: 1 },
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** In production's time, ms. */
export const SPANS = {
  /** Jobs come in the first part of the window in which chaos is at work. */
  window: 5 * MINUTE,
  submits: 90 * SECOND,
  line: 5 * SECOND,
  /** A fault that lasts. */
  shortestFault: 12 * SECOND,
  longestFault: 50 * SECOND,
  notice: 30 * SECOND,
  queue: 20 * SECOND,
  provisioning: 20 * SECOND,
  deleting: 10 * SECOND,
  /** `gang_timeout` of pods. */
  gang: 2 * MINUTE,
  /** After which a job that is still open, or a resource that is still there, is stuck. */
  settle: 45 * MINUTE,
} as const;

/** What is not divided with the rest: the time a pool's workflow task may take, reconnects, the pace of this computer. */
const LEAST_SETTLE_MS = 240 * SECOND;

export const spanOf = ({ factor }: Tier, span: keyof typeof SPANS): number => SPANS[span] / factor;
export const settleMs = (tier: Tier): number => Math.max(spanOf(tier, 'settle'), LEAST_SETTLE_MS);

/** Of the worker: each time divided, each number of events or bytes as it is. */
export function timingsOf({ factor }: Tier): Timings {
  const all = Object.entries(DEFAULT_TIMINGS) as [keyof Timings, number][];
  const divided = all.map(([name, value]) => [name, name.endsWith('Ms') ? Math.ceil(value / factor) : value] as const);
  return Object.fromEntries<number>(divided) as Record<keyof Timings, number>;
}

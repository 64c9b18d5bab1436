import { DEFAULT_TIMINGS, type Timings } from '../../domain/timings.js';

/** Speed of a stack: production's times are divided by one factor. */
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

/** Times in production, ms. */
export const SPANS = {
  /** Time in which chaos does deeds. Jobs are submitted in its first part (`submits`). */
  window: 5 * MINUTE,
  submits: 90 * SECOND,
  line: 5 * SECOND,
  /** Bounds for the length of a lasting fault. */
  shortestFault: 12 * SECOND,
  longestFault: 50 * SECOND,
  notice: 30 * SECOND,
  queue: 20 * SECOND,
  provisioning: 20 * SECOND,
  deleting: 10 * SECOND,
  /** `gang_timeout` of jobs of pods. */
  gang: 2 * MINUTE,
  /** Time after which a job that is still open, or a resource that still exists, is stuck. */
  settle: 45 * MINUTE,
} as const;

/** Lower bound for what no factor divides: a pool's workflow tasks, reconnects, the speed of this computer. */
const LEAST_SETTLE_MS = 240 * SECOND;

export const spanOf = ({ factor }: Tier, span: keyof typeof SPANS): number => SPANS[span] / factor;
export const settleMs = (tier: Tier): number => Math.max(spanOf(tier, 'settle'), LEAST_SETTLE_MS);

/** Timings of a worker. Times are divided; numbers of events or bytes are kept. */
export function timingsOf({ factor }: Tier): Timings {
  const all = Object.entries(DEFAULT_TIMINGS) as [keyof Timings, number][];
  const divided = all.map(([name, value]) => [name, name.endsWith('Ms') ? Math.ceil(value / factor) : value] as const);
  return Object.fromEntries<number>(divided) as Record<keyof Timings, number>;
}

import { unitsOf } from '../../domain/units.js';
import type { Story } from '../../test/quota/simulation.js';
import { DAY, POOL_UNITS, TYPE } from './month.js';
import { type Played, sum } from './play.js';

/** Percentiles of waits, in minutes. */
export interface Waits {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Whether a job is in quota by the definition of entitled.ts, the same for every policy. */
export type Group = 'inQuota' | 'overQuota';

/** Figures of one month under one policy. */
export interface Figures {
  /** Part of the pool's unit-hours in the month that jobs held (0 to 1). */
  readonly utilisation: number;
  /** Utilisation without work that had to be repeated, whoever took the chips. */
  readonly goodput: number;
  /** From the submit to the first grant. */
  readonly firstWait: Readonly<Record<Group, Waits>>;
  /** All time without a lease, also in the queue after a preemption. */
  readonly allWait: Readonly<Record<Group, Waits>>;
  readonly lostUnitHours: number;
  readonly preemptions: number;
  readonly preemptedJobs: number;
  readonly mostPreemptionsOfOneJob: number;
  /** When the last job ended, in days since the start of the month. */
  readonly lastEndDays: number;
}

const HOUR = 3_600_000;
const MINUTE = 60_000;

export function figuresOf(
  { stories, heldInMonth, lost }: Played,
  entitled: ReadonlySet<string>,
  days: number,
): Figures {
  const groups: Readonly<Record<Group, readonly Story[]>> = {
    inQuota: stories.filter(({ job }) => entitled.has(job.id)),
    overQuota: stories.filter(({ job }) => !entitled.has(job.id)),
  };
  const evictions = stories.map(({ stays }) => stays.filter(({ cause }) => cause === 'quota').length);
  const capacity = POOL_UNITS * days * DAY;
  const held = sum(stories, ({ job, heldMs }) => unitsOf(job.units, TYPE) * heldMs);
  return {
    utilisation: heldInMonth / capacity,
    goodput: ((heldInMonth / capacity) * (held - lost.quota - lost.provider)) / held,
    firstWait: waits(groups, ({ job, stays }) => (stays[0]?.grantedAt ?? 0) - job.submitAt),
    allWait: waits(groups, ({ stays }) => sum(stays, ({ grantedAt, waitedSince }) => grantedAt - waitedSince)),
    lostUnitHours: lost.quota / HOUR,
    preemptions: sum(evictions, (count) => count),
    preemptedJobs: evictions.filter((count) => count > 0).length,
    mostPreemptionsOfOneJob: Math.max(...evictions),
    lastEndDays: Math.max(...stories.map(({ endedAt = 0 }) => endedAt)) / DAY,
  };
}

function waits(
  { inQuota, overQuota }: Readonly<Record<Group, readonly Story[]>>,
  waitMs: (story: Story) => number,
): Record<Group, Waits> {
  return { inQuota: percentiles(inQuota.map(waitMs)), overQuota: percentiles(overQuota.map(waitMs)) };
}

function percentiles(waitsMs: readonly number[]): Waits {
  const sorted = waitsMs.toSorted((a, b) => a - b);
  const at = (part: number): number => (sorted[Math.floor(part * (sorted.length - 1))] ?? 0) / MINUTE;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

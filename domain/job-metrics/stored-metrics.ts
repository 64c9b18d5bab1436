import { z } from 'zod';
import type { EpochMs } from '../units.js';
import { isMetricName } from './metric-lines.js';
import { MOST_METRICS, MOST_POINTS, type MetricSeries } from './metric-series.js';

/**
 * The metrics of one host in one attempt, as a worker keeps them in the store: one object, which it rewrites. It is bounded, so
 * its reader needs no other (docs/adr/0161).
 */
export interface StoredMetrics {
  readonly v: 1;
  /** Time of the last write. */
  readonly at: EpochMs;
  /** Bytes of the output and of `$JOBCTL_METRICS_FILE` that are in the series. Another worker continues from there. */
  readonly read: { readonly output: number; readonly file: number };
  readonly series: readonly MetricSeries[];
  readonly refused: number;
  readonly beyondNames: number;
  /** Bytes of output that nobody looked through, after the death of a worker. */
  readonly missedBytes: number;
}

/** Largest object that a worker writes, with room: 100 metrics of 1,000 points of 40 bytes are 4 MB. */
export const MOST_METRICS_BYTES = 8 * 1024 * 1024;

const count = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const time = z.number().int().nonnegative().max(8.64e15);
const value = z.number().nullable();
const point = z.object({ step: count, time, value });
const column = <T extends z.ZodType>(of: T) => z.array(of).max(MOST_POINTS);
const series = z
  .object({
    name: z.string().refine(isMetricName),
    count,
    every: count.min(1),
    isCounted: z.literal(true).exactOptional(),
    falls: count.exactOptional(),
    last: point,
    least: point.exactOptional(),
    most: point.exactOptional(),
    points: z.object({ step: column(count), time: column(time), value: column(value) }),
  })
  .refine(({ points }) => points.time.length === points.step.length && points.value.length === points.step.length);
const stored = z.object({
  v: z.literal(1),
  at: time,
  read: z.object({ output: count, file: count }),
  series: z
    .array(series)
    .max(MOST_METRICS)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length),
  refused: count,
  beyondNames: count,
  missedBytes: count,
});

/** Returns undefined for a text that no worker of this version writes: hosts may write into the bucket of their job too. */
export function readStoredMetrics(text: string): StoredMetrics | undefined {
  try {
    return stored.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

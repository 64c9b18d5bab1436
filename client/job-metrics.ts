import { readAtMost, type StoreReader } from '../cloud/store/port.js';
import { type MergedMetric, type MetricAxis, mergedMetrics } from '../domain/job-metrics/merged-metrics.js';
import { MOST_METRICS_BYTES, readStoredMetrics, type StoredMetrics } from '../domain/job-metrics/stored-metrics.js';
import { attemptOfMetrics, hostMetricsPrefix, metricsObject } from '../domain/store-layout.js';

export interface MetricsChoice {
  /** Position among all hosts of all slices. Absent: 0, where most programs print. */
  readonly host?: number | undefined;
  /** Absent: all. */
  readonly names?: readonly string[] | undefined;
  /** Absent: `step`. */
  readonly axis?: MetricAxis | undefined;
  /** Most points of a metric. Absent: 500. 0: only what is known of each metric. */
  readonly points?: number | undefined;
  /** Only the newest attempt that told a metric, for its last values. */
  readonly isLastAttempt?: boolean;
}

/** The metrics that a job's program told on one host, over all attempts. */
export interface JobMetrics {
  readonly host: number;
  /** Attempts that told metrics, in order. Empty: none did. */
  readonly attempts: readonly number[];
  /** In the order in which they were told first. */
  readonly metrics: readonly MergedMetric[];
  /** Values without a usable name or number, and lines that were not read. */
  readonly refused: number;
  /** Values of metrics beyond the first hundred of an attempt. */
  readonly beyondNames: number;
  /** Bytes of output that nobody looked through, after the death of a worker. */
  readonly missedBytes: number;
}

export const DEFAULT_METRIC_POINTS = 500;
/** Attempts that are read: the last ones. A job may be preempted hundreds of times. */
const MOST_ATTEMPTS = 50;
/** Objects that are read at the same time. */
const WIDTH = 8;
/** Limit of listed objects: a host could write any number of them. */
const MOST_LISTED = 10_000;

/** Takes one listing, and a read for each attempt. @throws the store's errors */
export async function jobMetrics(store: StoreReader, job: string, choice: MetricsChoice = {}): Promise<JobMetrics> {
  const { host = 0, names, axis = 'step', points = DEFAULT_METRIC_POINTS, isLastAttempt = false } = choice;
  const listed = await store.list(hostMetricsPrefix(job, host), undefined, MOST_LISTED);
  const attempts = listed
    .flatMap(({ name }) => attemptOfMetrics(job, host, name) ?? [])
    .toSorted((a, b) => a - b)
    .slice(isLastAttempt ? -1 : -MOST_ATTEMPTS);
  const read: (readonly [attempt: number, stored: StoredMetrics])[] = [];
  for (let at = 0; at < attempts.length; at += WIDTH) {
    const some = attempts.slice(at, at + WIDTH);
    const found = await Promise.all(some.map((attempt) => storedMetrics(store, metricsObject(job, attempt, host))));
    for (const [index, stored] of found.entries()) if (stored !== undefined) read.push([some[index] as number, stored]);
  }
  const all = read.map(([, stored]) => stored);
  const sum = (count: (stored: StoredMetrics) => number): number => all.reduce((total, each) => total + count(each), 0);
  return {
    host,
    attempts: read.map(([attempt]) => attempt),
    metrics: mergedMetrics(
      all.map(({ series }) => series),
      { names, axis, points },
    ),
    refused: sum(({ refused }) => refused),
    beyondNames: sum(({ beyondNames }) => beyondNames),
    missedBytes: sum(({ missedBytes }) => missedBytes),
  };
}

/** Undefined for an object that is gone, or that no worker wrote: hosts write into the bucket too. */
async function storedMetrics(store: StoreReader, name: string): Promise<StoredMetrics | undefined> {
  const content = await readAtMost(store, name, MOST_METRICS_BYTES).catch((error: unknown) => {
    if ((error as Error).name === 'ObjectTooLong') return undefined;
    throw error;
  });
  return content && readStoredMetrics(content.toString('utf8'));
}

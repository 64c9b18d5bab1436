import { metricMeter } from '@temporalio/workflow';
import type { Outcome } from '../domain/job-state.js';
import { counterName, Metric } from '../domain/metric-names.js';
import type { RefusalScope } from '../domain/slice.js';

/** Metrics that workflows count of their own work (`domain/metric-names.ts`). A replay counts nothing twice. */
export const meter = {
  queued(pool: string, ms: number): void {
    metricMeter.createHistogram(Metric.QueueTime, 'float').record(ms / 1000, { pool });
  },
  attemptEnded(end: string): void {
    metricMeter.createCounter(counterName(Metric.Attempts)).add(1, { end });
  },
  ended({ result, cause }: Outcome): void {
    metricMeter.createCounter(counterName(Metric.JobsEnded)).add(1, { result, by: cause?.by ?? 'none' });
  },
  /** Counts a slice of a job that the provider refused. */
  refused(scope: RefusalScope): void {
    metricMeter.createCounter(counterName(Metric.Refusals)).add(1, { scope });
  },
  /** Counts a machine that was at fault and is no longer used. */
  machineReplaced(pool: string, kind: string): void {
    metricMeter.createCounter(counterName(Metric.BrokenMachines)).add(1, { pool, kind });
  },
  /** @param reason `malformed`: dropped; `unknown-version`: kept for a later version of this workflow */
  refusedMessage(workflow: string, signal: string, reason: 'malformed' | 'unknown-version'): void {
    metricMeter.createCounter(counterName(Metric.RefusedMessages)).add(1, { workflow, signal, reason });
  },
  granted(pool: string): void {
    metricMeter.createCounter(counterName(Metric.Grants)).add(1, { pool });
  },
  /** @param cause of the preemption; `drain`: an admin drains the pool */
  revoked(pool: string, cause: string): void {
    metricMeter.createCounter(counterName(Metric.Revocations)).add(1, { pool, cause });
  },
};

import { metricMeter } from '@temporalio/workflow';
import type { Outcome } from '../../domain/job-state.js';
import { Metric } from '../../domain/metric-names.js';

/** What jobs count of themselves: `domain/metric-names.ts`. Nothing is counted twice by a replay. */
export const jobMeter = {
  queued(pool: string, ms: number): void {
    metricMeter.createHistogram(Metric.QueueTime, 'float', 's').record(ms / 1000, { pool });
  },
  attemptEnded(end: string): void {
    metricMeter.createCounter(Metric.Attempts).add(1, { end });
  },
  ended({ result, cause }: Outcome): void {
    metricMeter.createCounter(Metric.JobsEnded).add(1, { result, by: cause?.by ?? 'none' });
  },
};

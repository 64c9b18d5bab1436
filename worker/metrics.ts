import type { MetricMeter } from '@temporalio/common';
import type { WorkMeter } from '../activities/work-meter.js';
import { counterName, Metric } from '../domain/metric-names.js';

/** One call to Google: which API, which method, and gRPC's name of the code or the port's own error. */
export type CloudCallHook = (method: string, code: string) => void;

export interface WorkerMeter extends WorkMeter {
  cloudCalls(api: 'tpu' | 'storage'): CloudCallHook;
  openJobs(phase: string, count: number): void;
}

/** The worker's own metrics, beside those of the SDK, on the same endpoint (docs/metrics.md). */
export function createWorkerMeter(meter: MetricMeter): WorkerMeter {
  const counter = (name: Metric) => meter.createCounter(counterName(name));
  const seconds = (name: Metric) => meter.createHistogram(name, 'float');
  const open = meter.createGauge(Metric.OpenJobs);
  const waiting = meter.createGauge(Metric.WaitingJobs);
  const leased = meter.createGauge(Metric.LeasedUnits);
  const setUpTime = seconds(Metric.SetUpTime);
  const logLag = seconds(Metric.LogLag);
  const calls = counter(Metric.CloudCalls);
  const [found, reclaimed, sweeps] = [
    counter(Metric.LeaksFound),
    counter(Metric.LeaksReclaimed),
    counter(Metric.Sweeps),
  ];
  return {
    setUp: (time, end) => setUpTime.record(time, { end }),
    logLag: (time) => logLag.record(time),
    waitingJobs: (pool, count) => waiting.set(count, { pool }),
    leasedUnits: (pool, { units, ...labels }) => leased.set(units, { pool, ...labels }),
    swept: (report) => {
      sweeps.add(1);
      // Zero too: an alert on the increase of a series that is not there yet would miss its first value.
      found.add(report.unknown.length);
      reclaimed.add(report.reclaimed.length);
    },
    cloudCalls: (api) => (method, code) => calls.add(1, { api, method, code }),
    openJobs: (phase, count) => open.set(count, { phase }),
  };
}

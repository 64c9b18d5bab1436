import { setTimeout as sleep } from 'node:timers/promises';
import type { MetricMeter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import type { WorkMeter } from '../activities/work-meter.js';
import { counterName, Metric } from '../domain/metric-names.js';
import { isDone, JobPhase } from '../domain/job-state.js';

/** Called after each request to Google with the method and the result: gRPC's name of the code, or the port's own error. */
export type CloudCallHook = (method: string, code: string) => void;

export interface WorkerMeter extends WorkMeter {
  /** @param api a kind's `metricsName`, or `storage` */
  cloudCalls(api: string): CloudCallHook;
  openJobs(phase: string, count: number): void;
}

/** The worker's metrics, served by the same endpoint as the SDK's (docs/metrics.md). */
export function createWorkerMeter(meter: MetricMeter): WorkerMeter {
  const counter = (name: Metric) => meter.createCounter(counterName(name));
  const seconds = (name: Metric) => meter.createHistogram(name, 'float');
  const open = meter.createGauge(Metric.OpenJobs);
  const waiting = meter.createGauge(Metric.WaitingJobs);
  const undeleted = meter.createGauge(Metric.StuckDeletions);
  const leased = meter.createGauge(Metric.LeasedUnits);
  const setUpTime = seconds(Metric.SetUpTime);
  const logLag = seconds(Metric.LogLag);
  const calls = counter(Metric.CloudCalls);
  const [found, reclaimed, stuck, sweeps] = [
    counter(Metric.LeaksFound),
    counter(Metric.LeaksReclaimed),
    counter(Metric.StuckSlices),
    counter(Metric.Sweeps),
  ];
  return {
    setUp: (time, end) => setUpTime.record(time, { end }),
    logLag: (time) => logLag.record(time),
    waitingJobs: (pool, count) => waiting.set(count, { pool }),
    stuckDeletions: (pool, count) => undeleted.set(count, { pool }),
    leasedUnits: (pool, { units, ...labels }) => leased.set(units, { pool, ...labels }),
    swept: (report) => {
      sweeps.add(1);
      // Zeros are added too. An alert on the increase of a series would miss the first value of a new series.
      found.add(report.unknown.length);
      reclaimed.add(report.reclaimed.length);
      stuck.add(report.stuck.length);
    },
    cloudCalls: (api) => (method, code) => calls.add(1, { api, method, code }),
    openJobs: (phase, count) => open.set(count, { phase }),
  };
}

const COUNT_EVERY_MS = 60_000;
const OPEN_PHASES = Object.values(JobPhase).filter((phase) => !isDone(phase));

/**
 * Counts the open jobs of the namespace by phase, once a minute, until `stop`. A server allows ten list calls a second
 * (docs/facts.md, "Temporal"). A dozen workers stay far below that.
 */
export async function countOpenJobs(
  { workflowService }: Pick<NativeConnection, 'workflowService'>,
  namespace: string,
  meter: Pick<WorkerMeter, 'openJobs'>,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    for (const phase of OPEN_PHASES) {
      const query = `ExecutionStatus = 'Running' AND JobPhase = '${phase}'`;
      // After a failed count the gauge keeps its value. The SDK's metrics show that the server is away.
      await workflowService
        .countWorkflowExecutions({ namespace, query })
        .then(({ count }) => meter.openJobs(phase, Number(count)))
        .catch(() => undefined);
    }
    await sleep(COUNT_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}

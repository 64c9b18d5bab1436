import { DefaultLogger, type LogLevel, Runtime, type NativeConnection } from '@temporalio/worker';
import pino from 'pino';
import { HISTOGRAM_BUCKETS, counterName, Metric } from '../domain/metric-names.js';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MetricMeter } from '@temporalio/common';
import type { WorkMeter } from '../activities/dependencies.js';
import { isDone, JobPhase } from '../domain/job-state.js';
import { messageOf } from '../domain/errors.js';

export interface WorkerLog {
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
}

interface TelemetrySettings {
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  /** The port on which Prometheus reads `/metrics`. Absent: no metrics are served. */
  readonly metricsPort?: number | undefined;
  readonly listenHost: string;
}

/**
 * Writes one JSON line per record on stdout, including records of the SDK, activities and workflows. Call once per process.
 * @throws Error if the metrics port is taken
 */
export function installTelemetry(settings: TelemetrySettings): WorkerLog {
  const log = openLog(settings.logLevel);
  installRuntime(log, settings);
  return {
    info: (message, fields = {}) => log.info(fields, message),
    warn: (message, fields = {}) => log.warn(fields, message),
  };
}

function installRuntime(log: pino.Logger, { logLevel, metricsPort, listenHost }: TelemetrySettings): void {
  const sdkLevel = logLevel.toUpperCase() as LogLevel;
  const address = metricsPort === undefined ? undefined : `${listenHost}:${metricsPort}`;
  try {
    Runtime.install({
      logger: new DefaultLogger(sdkLevel, ({ level: at, message, meta }) => {
        const fields = Object.fromEntries(Object.entries(meta ?? {}).filter(([, value]) => typeof value !== 'bigint'));
        log[PINO_LEVEL[at]](fields, message);
      }),
      telemetryOptions: {
        logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
        ...(address === undefined ? {} : { metrics: prometheus(address) }),
      },
      // The process itself turns signals into a graceful stop.
      shutdownSignals: [],
    });
  } catch (error) {
    if (address === undefined || !/metrics exporter/.test(messageOf(error))) throw error;
    throw new Error(
      `metrics port ${address} cannot be listened on: ${messageOf(error)}; choose another by metricsPort or JOBCTL_METRICS_PORT`,
      { cause: error },
    );
  }
}

function openLog(level: TelemetrySettings['logLevel']): pino.Logger {
  const destination = pino.destination({ dest: 1, maxLength: MOST_UNWRITTEN_BYTES });
  const log = pino(
    {
      level,
      base: { name: 'jobctl-worker' },
      timestamp: pino.stdTimeFunctions.isoTime,
      // JSON leaves out an Error's message and stack.
      serializers: { error: (error: unknown) => (error instanceof Error ? error.stack || String(error) : error) },
    },
    destination,
  );
  let lost = 0;
  let why = '';
  // A full disk must not end the worker. Unwritten records are kept and tried again with the next record.
  destination.on('error', ({ message }: Error) => (why = message));
  destination.on('drop', () => (lost += 1));
  destination.on('drain', () => {
    if (lost === 0) return;
    const records = lost;
    lost = 0;
    log.warn(`${records} records of this log are lost: ${why}`);
  });
  return log;
}

/** Memory for unwritten records; records beyond it are counted and lost. */
const MOST_UNWRITTEN_BYTES = 1024 * 1024;

const PINO_LEVEL = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

const prometheus = (bindAddress: string) => ({
  prometheus: {
    bindAddress,
    countersTotalSuffix: true,
    unitSuffix: true,
    useSecondsForDurations: true,
    histogramBucketOverrides: Object.fromEntries(
      Object.entries(HISTOGRAM_BUCKETS).map(([name, bounds]) => [name, [...bounds]]),
    ),
  },
});

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
  // A counter is exported from its first record on, and an alert on the increase of a series would miss the first value of a new
  // one.
  for (const unlabelled of [found, reclaimed, stuck, sweeps]) unlabelled.add(0);
  return {
    setUp: (time, end) => setUpTime.record(time, { end }),
    logLag: (time) => logLag.record(time),
    waitingJobs: (pool, count) => waiting.set(count, { pool }),
    stuckDeletions: (pool, count) => undeleted.set(count, { pool }),
    leasedUnits: (pool, { units, ...labels }) => leased.set(units, { pool, ...labels }),
    swept: (report) => {
      sweeps.add(1);
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

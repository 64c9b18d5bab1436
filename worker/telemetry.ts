import { DefaultLogger, type LogLevel, Runtime } from '@temporalio/worker';
import pino from 'pino';
import { HISTOGRAM_BUCKETS } from '../domain/metric-names.js';

export interface WorkerLog {
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
}

export interface TelemetrySettings {
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  /** The port on which Prometheus reads `/metrics`. Absent: no metrics are served. */
  readonly metricsPort?: number | undefined;
  readonly listenHost: string;
}

/** Writes one JSON line per record on stdout, including records of the SDK, activities and workflows. Call once per process. */
export function installTelemetry({ logLevel: level, metricsPort, listenHost }: TelemetrySettings): WorkerLog {
  const log = openLog(level);
  const sdkLevel = level.toUpperCase() as LogLevel;
  Runtime.install({
    logger: new DefaultLogger(sdkLevel, ({ level: at, message, meta }) => {
      const fields = Object.fromEntries(Object.entries(meta ?? {}).filter(([, value]) => typeof value !== 'bigint'));
      log[PINO_LEVEL[at]](fields, message);
    }),
    telemetryOptions: {
      logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
      ...(metricsPort === undefined ? {} : { metrics: prometheus(`${listenHost}:${metricsPort}`) }),
    },
    // The process itself turns signals into a graceful stop.
    shutdownSignals: [],
  });
  return {
    info: (message, fields = {}) => log.info(fields, message),
    warn: (message, fields = {}) => log.warn(fields, message),
  };
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

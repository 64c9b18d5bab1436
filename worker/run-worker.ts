import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../activities/index.js';
import { PoolFileReader } from '../activities/pool-file-reader.js';
import { poolSource } from '../activities/pool-source.js';
import { quotaSource } from '../activities/quota-source.js';
import { openCodec } from '../cloud/codec/open-codec.js';
import type { AesGcmPayloadCodec } from '../cloud/codec/payload-codec.js';
import { keyReader } from '../cloud/hosts/private-key.js';
import { openSecretStore } from '../cloud/secrets/open-secret-store.js';
import { createStore } from '../cloud/store/gcs.js';
import { meteredStore } from '../cloud/store/metered-store.js';
import { createTpuPort } from '../cloud/tpu/google-tpu.js';
import { ownerObject } from '../domain/store-layout.js';
import { poolPlacesOf, type WorkerConfig } from './config.js';
import { type InstallationKey, readInstallationKey } from './installation-key.js';
import { createWorkerMeter, type WorkerMeter } from './metrics.js';
import { countOpenJobs } from './open-jobs.js';
import { openHosts } from './open-hosts.js';
import { HealthEndpoint, whatIsMissing } from './readiness.js';
import { connectWorker, type WorkerConnection } from './temporal-connection.js';
import { installTelemetry, type WorkerLog } from './telemetry.js';
import { dataConverterOf, workflowCode } from './workflow-code.js';

/**
 * The worker process: connects, waits until its surroundings are complete, polls, and on `stop` hands its jobs over and
 * ends. It polls two queues: the common one, and one of its own for the attempts whose connections it holds.
 */
export async function runWorker(config: WorkerConfig, stop: AbortSignal): Promise<void> {
  const codec = await openCodec(config.codec ?? {}, { onUnknownKey: 'fail' });
  const key = readInstallationKey(config.ssh);
  const log = installTelemetry(config);
  const meter = createWorkerMeter(Runtime.instance().metricMeter);
  const health =
    config.healthPort === undefined ? undefined : await HealthEndpoint.listen(config.listenHost, config.healthPort);
  const temporal = await connectWorker(config);
  const ports = openPorts(config, meter);
  try {
    const run: WorkerRun = { config, codec, key, temporal, ports, meter, health, log, stop };
    await untilComplete(run);
    if (!stop.aborted) await poll(run);
  } finally {
    health?.close();
    ports.hosts.release();
    await ports.tpu.close();
    // Refused while a Worker holds it, which is so when another Worker could not be made: that cause is the news.
    await temporal.connection.close().catch(() => undefined);
    log.info('worker stopped');
  }
}

type Ports = ReturnType<typeof openPorts>;

/** What one life of the process has in hand. */
interface WorkerRun {
  readonly config: WorkerConfig;
  readonly codec: AesGcmPayloadCodec;
  readonly key: InstallationKey;
  readonly temporal: WorkerConnection;
  readonly ports: Ports;
  readonly meter: WorkerMeter;
  readonly health: HealthEndpoint | undefined;
  readonly log: WorkerLog;
  readonly stop: AbortSignal;
}

function openPorts(config: WorkerConfig, meter: WorkerMeter) {
  const { store: place, cloud, googleProject } = config;
  const openBucket = (bucket: string) =>
    meteredStore(
      createStore({ ...definedOnly({ endpoint: place.endpoint }), bucket, projectId: googleProject }),
      meter.cloudCalls('storage'),
    );
  const store = openBucket(place.bucket);
  const tpu = createTpuPort({
    onCall: meter.cloudCalls('tpu'),
    ...(cloud.tpuEndpoint === undefined ? {} : { endpoint: endpointOf(cloud.tpuEndpoint, cloud.insecure) }),
    ...(cloud.callsPerSecond === undefined ? {} : { budget: callRate(cloud.callsPerSecond) }),
    ...(cloud.listingPeriods === undefined ? {} : { periods: cloud.listingPeriods }),
  });
  const files = new PoolFileReader({ places: poolPlacesOf(config), store, openBucket });
  return {
    store,
    tpu,
    hosts: openHosts(config, store, tpu),
    pools: poolSource(files),
    quota: quotaSource(files, store),
  };
}

/** Bursts of four seconds' worth, as the adapter's own rate has. */
const callRate = (callsPerSecond: number) => ({ callsPerSecond, burst: callsPerSecond * 4 });

function endpointOf(address: string, insecure: boolean) {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)), insecure };
}

/** Takes no job while search attributes, the owner id or rights are missing; says so until they are there. */
async function untilComplete({ config, temporal, ports, health, log, stop }: WorkerRun): Promise<void> {
  let before = '';
  while (!stop.aborted) {
    const reasons = await whatIsMissing({
      ...temporal,
      ...ports,
      googleProject: config.googleProject,
      taskQueue: config.taskQueue,
      poolNames: Object.keys(poolPlacesOf(config)),
    });
    if (reasons.length === 0) return;
    if (health) health.reasons = reasons;
    const now = reasons.join('; ');
    if (now !== before) log.warn(`not ready: ${now}`);
    before = now;
    await sleep(LOOK_AGAIN_MS, undefined, { signal: stop }).catch(() => undefined);
  }
}

const LOOK_AGAIN_MS = 1_000;

async function poll({ config, codec, key, temporal, ports, meter, health, log, stop }: WorkerRun): Promise<void> {
  const claimedQueue = `${config.taskQueue}-${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const owner = (await ports.store.read(ownerObject))?.toString('utf8').trim() ?? '';
  const { secretStore } = config;
  const secrets = secretStore === undefined ? undefined : openSecretStore(secretStore);
  const activities = createActivities({
    ...ports,
    meter,
    installation: {
      owner,
      ...definedOnly({ label: config.label, loginUser: config.ssh.user }),
      googleProject: config.googleProject,
      ...key,
      keys: keyReader,
      ...(secrets === undefined ? {} : { secrets }),
      taskQueue: config.taskQueue,
      claimedQueue,
      timings: config.timings,
    },
  });
  const { setUpHosts, stopSetUp, superviseAttempt, ...common } = activities;
  const base = {
    connection: temporal.connection,
    namespace: temporal.namespace,
    shutdownForceTime: '30s',
    dataConverter: dataConverterOf(codec),
  } as const;
  const workers = await Promise.all([
    Worker.create({
      ...base,
      taskQueue: config.taskQueue,
      activities: common,
      ...workflowCode(codec),
      ...COMMON_LIMITS,
    }),
    Worker.create({
      ...base,
      taskQueue: claimedQueue,
      activities: { setUpHosts, stopSetUp, superviseAttempt },
      maxConcurrentActivityTaskExecutions: 1_000,
    }),
  ]);
  const shutDown = (): void => workers.forEach((worker) => worker.getState() === 'RUNNING' && worker.shutdown());
  stop.addEventListener('abort', shutDown, { once: true });
  if (health) health.reasons = [];
  log.info('worker polls', {
    taskQueue: config.taskQueue,
    claimedQueue,
    temporal: temporal.address,
    namespace: temporal.namespace,
    owner,
  });
  if (config.metricsPort !== undefined) void countOpenJobs(temporal.connection, temporal.namespace, meter, stop);
  const running = workers.map((worker) => worker.run());
  if (stop.aborted) shutDown();
  // One that dies takes the other along: half a worker would take jobs that it cannot serve.
  await Promise.race(running).catch(() => undefined);
  shutDown();
  await Promise.all(running);
}

/**
 * Slices that are waited for or deleted hold an activity slot each. A cached workflow is about half a megabyte, in V8 and in
 * the SDK's core (`npm run bench:load`, docs/runs.md), so the cache is what a worker's memory is; one that is not in it is
 * replayed at its next message, in milliseconds, since waiting jobs have short histories. A pool's own workflow has the
 * longest, and is used too often to fall out.
 */
const COMMON_LIMITS = {
  maxConcurrentActivityTaskExecutions: 2_000,
  maxCachedWorkflows: 200,
} as const satisfies Partial<WorkerOptions>;

function definedOnly<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

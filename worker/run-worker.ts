import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../activities/index.js';
import type { Trust } from '../activities/authorization.js';
import { placeReader, PoolFileReader } from '../activities/operator-file.js';
import { poolWatch } from '../activities/quota.js';
import { SweepWatch } from '../activities/sweep-watch.js';
import { machinesOfPool, poolSource } from '../activities/pool-source.js';
import { priceSource } from '../activities/price-source.js';
import { quotaSource } from '../activities/quota-source.js';
import { openCodec, type AesGcmPayloadCodec } from '../cloud/codec/payload-codec.js';
import { keyReader } from '../cloud/hosts/private-key.js';
import { pySpyFrom } from '../cloud/hosts/stacks/py-spy.js';
import type { JobKeys } from '../cloud/job-keys/port.js';
import type { Outlets } from '../cloud/notices/port.js';
import { openSecretStore } from '../cloud/secrets/open-secret-store.js';
import {
  bucketPlace,
  openStore,
  meteredStore,
  splitStore,
  type Strays,
  strayObjects,
} from '../cloud/store/open-store.js';
import { logSides } from '../cloud/store/log-starts.js';
import { MachineVisits } from '../cloud/machines/own/machine-visits.js';
import { OwnMachinesOperator } from '../cloud/machines/own/operator.js';
import { OwnMachines } from '../cloud/machines/own/own-machines.js';
import { PoolRecords } from '../cloud/machines/own/pool-record.js';
import { machinesOf } from '../cloud/machines/bounded-texts.js';
import { NO_ACCOUNT } from '../domain/machine-kinds/kind.js';
import { MACHINE_KINDS } from '../domain/machines.js';
import { ownerObject } from '../domain/store-layout.js';
import { isGoogleBucket, storePlace } from '../domain/store-place.js';
import { poolPlacesOf, rehearsedMachinesOf, type WorkerConfig } from './config.js';
import { type InstallationKey, keyFinder, readInstallationKey, readJobKeys, trustOf } from './keys.js';
import { countOpenJobs, createWorkerMeter, type WorkerMeter, installTelemetry, type WorkerLog } from './telemetry.js';
import { guestAttributesOf, openHosts, openBuilds, openMachines } from './open-machines.js';
import { WorkerChanges } from './change-switches.js';
import { ForeignQueue, QueueGuard, connectWorker, followApiKey, type WorkerConnection } from './temporal-connection.js';
import { HealthEndpoint, whatIsMissing } from './readiness.js';
import { outletsOf } from './outlets.js';
import { dataConverterOf, LOADING, workflowCode } from './workflow-code.js';

/**
 * The worker process. It connects, waits until everything that it needs is there, and polls. On `stop` it hands its jobs over and
 * ends. It polls two queues: the common one, and a private one for the attempts whose connections it holds.
 */
export async function runWorker(config: WorkerConfig, stop: AbortSignal): Promise<void> {
  const codec = await openCodec(config.codec ?? {}, { onUnknownKey: 'fail' });
  const key = readInstallationKey(config.ssh);
  const trust = trustOf(config);
  const jobKeys = await readJobKeys(config);
  const outlets = outletsOf(config);
  const log = installTelemetry(config);
  const meter = createWorkerMeter(Runtime.instance().metricMeter);
  const health =
    config.healthPort === undefined ? undefined : await HealthEndpoint.listen(config.listenHost, config.healthPort);
  const temporal = await connectWorker(config);
  const unfollow = followApiKey(config, temporal, (text) => log.warn(text));
  const ports = openPorts(config, key, jobKeys, meter);
  try {
    const changes = new WorkerChanges(ports.store);
    const run: WorkerRun = {
      ...{ config, codec, key, jobKeys, trust, outlets, temporal, ports, changes, meter, health, log, stop },
    };
    for (let isFirst = true; !stop.aborted; isFirst = false) {
      const guard = await untilComplete(run, isFirst);
      if (guard === undefined || (await pollWhileAllowed(run, guard)) === 'stopped') break;
    }
  } finally {
    health?.close();
    unfollow();
    ports.hosts.release();
    for (const kind of MACHINE_KINDS) await ports.machinesOf(kind).close();
    // Fails while a Worker holds the connection, which happens if another Worker could not be created: that error matters more.
    await temporal.connection.close().catch(() => undefined);
    log.info('worker stopped');
  }
}

const NO_STRAYS: Strays = { names: [], isWhole: true };

type Ports = ReturnType<typeof openPorts>;

/** Everything that one run of the process works with. */
interface WorkerRun {
  readonly config: WorkerConfig;
  readonly codec: AesGcmPayloadCodec;
  readonly key: InstallationKey;
  readonly trust: Trust;
  readonly jobKeys: JobKeys;
  readonly outlets: Outlets;
  readonly temporal: WorkerConnection;
  readonly ports: Ports;
  readonly changes: WorkerChanges;
  readonly meter: WorkerMeter;
  readonly health: HealthEndpoint | undefined;
  readonly log: WorkerLog;
  readonly stop: AbortSignal;
}

function openPorts(config: WorkerConfig, key: InstallationKey, jobKeys: JobKeys, meter: WorkerMeter) {
  const { store: place, googleProject } = config;
  const kind = storePlace(place.bucket).kind;
  const openBucket = (bucket: string) => {
    // A pool's files may lie in Cloud Storage even if everything else lies elsewhere.
    const endpoint = storePlace(bucket).kind === kind ? place.endpoint : undefined;
    const store = openStore({ ...definedOnly({ endpoint, projectId: googleProject }), bucket });
    return meteredStore(store, meter.cloudCalls('storage'));
  };
  const jobs = openBucket(place.bucket);
  const store = place.systemBucket === undefined ? jobs : splitStore(jobs, openBucket(place.systemBucket));
  const { secretStore } = config;
  const secrets = secretStore === undefined ? undefined : openSecretStore(secretStore);
  const ofProviders = openMachines(config, meter, () => ({ fleet: ssh, keyOf: keyFinder(key, jobKeys) }));
  const { hosts, ssh } = openHosts(config, store, guestAttributesOf(ofProviders), secrets);
  const files = new PoolFileReader({ places: poolPlacesOf(config), store, openBucket });
  const pools = poolSource(files, new Map([[config.pool, rehearsedMachinesOf(config)]]));
  const inventory = async (pool: string) => machinesOfPool(await pools.load(pool));
  const looked = { records: new PoolRecords(store), visits: new MachineVisits({ fleet: ssh, key: key.sshKey }) };
  const machines = { ...ofProviders, machines: new OwnMachines({ inventory, ...looked }) };
  return {
    store,
    strays: async () => (jobs === store ? NO_STRAYS : strayObjects(jobs)),
    secrets,
    machines,
    operatorFor: (owner: string) => new OwnMachinesOperator({ ...looked, owner }),
    machinesOf: machinesOf(machines),
    builds: openBuilds(config, meter),
    hosts,
    pools,
    quota: quotaSource(files, store),
    ...(config.priceFile !== undefined && { prices: priceSource(placeReader(config.priceFile, openBucket)) }),
    pySpy: pySpyFrom(undefined),
    logSides: (prefix: string, host: number, most: number) => logSides(store, prefix, host, most),
    placeOfBucket: async (bucket: string, signal: AbortSignal, login: 'own' | 'none') =>
      isGoogleBucket(bucket)
        ? bucketPlace(bucket, {
            ...definedOnly({ endpoint: kind === 'google' ? place.endpoint : undefined }),
            ...{ signal, login },
          })
        : undefined,
  };
}

/**
 * Takes no job while search attributes, the owner id or rights are missing, and reports it until they are there. Then claims the
 * task queue.
 * @returns undefined if it is stopped
 * @throws ForeignQueue if another installation holds the queue before the first poll: a person has to look. Later the server may
 * have been replaced for a while, so the claim is repeated.
 */
async function untilComplete(run: WorkerRun, isFirst: boolean): Promise<QueueGuard | undefined> {
  const { config, temporal, ports, changes, health, log, stop } = run;
  let before = '';
  while (!stop.aborted) {
    const reasons: string[] = await whatIsMissing({
      ...temporal,
      ...ports,
      changes,
      ...definedOnly({ googleProject: config.googleProject }),
      taskQueue: config.taskQueue,
      poolNames: Object.keys(poolPlacesOf(config)),
    });
    const guard = new QueueGuard({ ...temporal, taskQueue: config.taskQueue }, await ownerIn(ports.store));
    const unclaimed = reasons.length > 0 ? undefined : await whyUnclaimed(guard, isFirst);
    if (reasons.length === 0 && unclaimed === undefined) {
      await warnOfStrays(ports, log);
      return guard;
    }
    if (unclaimed !== undefined) reasons.push(unclaimed);
    if (health) health.reasons = reasons;
    const now = reasons.join('; ');
    if (now !== before) log.warn(`not ready: ${now}`);
    before = now;
    await sleep(LOOK_AGAIN_MS, undefined, { signal: stop }).catch(() => undefined);
  }
  return undefined;
}

async function whyUnclaimed(guard: QueueGuard, isFirst: boolean): Promise<string | undefined> {
  try {
    await guard.claim();
    return undefined;
  } catch (error) {
    if (isFirst && error instanceof ForeignQueue) throw error;
    return error instanceof ForeignQueue ? error.message : `whose task queue it is: ${String(error)}`;
  }
}

/** Empty while the store does not answer; with an empty owner the worker creates and deletes nothing. */
const ownerIn = async (store: Ports['store']): Promise<string> =>
  (await store.read(ownerObject).catch(() => undefined))?.toString('utf8').trim() ?? '';

/** Stray objects decide nothing. If a move did not leave them behind, a person must find out who wrote them. */
async function warnOfStrays({ store, strays }: Ports, log: WorkerLog): Promise<void> {
  const { names, isWhole } = await strays().catch(() => NO_STRAYS);
  if (names.length === 0) return;
  const shown = `${names.join(', ')}${isWhole ? '' : ', and perhaps more'}`;
  log.warn(`bucket ${store.bucket} holds what belongs into the system bucket, and is not read: ${shown}`);
}

const LOOK_AGAIN_MS = 1_000;

/**
 * Polls until it is stopped, or until a change of workflow code is switched on that this build does not know: it could not replay
 * a history that a newer worker writes then (docs/adr/0037). Also ends if another installation gets the queue.
 */
async function pollWhileAllowed(run: WorkerRun, guard: QueueGuard): Promise<'stopped' | 'outdated'> {
  const { config, temporal, changes, log, stop } = run;
  const place = { connection: temporal.connection, namespace: temporal.namespace, taskQueue: config.taskQueue };
  const [ended, outdated] = [new AbortController(), new AbortController()];
  const watch = changes.untilRefused(place, ended.signal).then((refusals) => {
    if (refusals.length === 0) return;
    log.warn(`takes no more work: ${refusals.join('; ')}`);
    outdated.abort();
  });
  void guard.lost.then((why) => {
    log.warn(`takes no more work: ${why}`);
    if (run.health) run.health.reasons = [why];
    outdated.abort();
  });
  const guarding = guard.watch(ended.signal);
  try {
    await poll({ ...run, stop: AbortSignal.any([stop, outdated.signal]) }, guard);
  } finally {
    ended.abort();
    await Promise.all([watch, guarding]);
  }
  return outdated.signal.aborted && !stop.aborted ? 'outdated' : 'stopped';
}

async function poll(run: WorkerRun, guard: QueueGuard): Promise<void> {
  const { config, codec, key, trust, jobKeys, outlets, temporal, ports, changes, meter, health, log, stop } = run;
  const claimedQueue = `${config.taskQueue}-${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const { owner } = guard;
  const { secrets, operatorFor, ...outside } = ports;
  const dependencies = {
    ...outside,
    machinesOperator: operatorFor(owner),
    meter,
    installation: {
      owner,
      ...definedOnly({ label: config.label, loginUser: config.ssh.user }),
      googleProject: config.googleProject ?? NO_ACCOUNT,
      ...key,
      jobKeys,
      keys: keyReader,
      readsKeyFiles: config.ssh.readsKeyFiles,
      ...(secrets === undefined ? {} : { secrets }),
      trust,
      outlets,
      taskQueue: config.taskQueue,
      claimedQueue,
      timings: config.timings,
    },
  };
  const watch = poolWatch(dependencies);
  const activities = createActivities(dependencies, watch);
  const { setUpHosts, stopSetUp, superviseAttempt, ...common } = activities;
  const base = {
    connection: temporal.connection,
    namespace: temporal.namespace,
    identity: `${process.pid}@${hostname()}/${owner}`,
    shutdownForceTime: '30s',
    dataConverter: dataConverterOf(codec),
    // Each heartbeat is an action. The SDK sends one after 0.8 of an activity's timeout, or earlier after this interval. So this
    // is longer than 0.8 of an attempt's timeout.
    maxHeartbeatThrottleInterval: config.timings.heartbeatTimeoutMs,
  } as const;
  const workers = await Promise.all([
    Worker.create({
      ...base,
      taskQueue: config.taskQueue,
      activities: common,
      ...guarded(workflowCode(codec), guard),
      patchActivationCallback: changes.isActive,
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
  const client = new Client({ ...temporal, dataConverter: dataConverterOf(codec) });
  void new SweepWatch(client, dependencies, log).run(stop);
  void watch.watchAll({ client, log }, config.taskQueue);
  if (config.metricsPort !== undefined) void countOpenJobs(temporal.connection, temporal.namespace, meter, stop);
  const running = workers.map((worker) => worker.run());
  if (stop.aborted) shutDown();
  // If one of them dies, the other is shut down: half a worker would take jobs that it cannot serve.
  await Promise.race(running).catch(() => undefined);
  shutDown();
  await Promise.all(running);
}

const guarded = (code: ReturnType<typeof workflowCode>, guard: QueueGuard): Partial<WorkerOptions> => ({
  ...code,
  interceptors: { ...('interceptors' in code && code.interceptors), activity: [guard.interceptor] },
});

/**
 * A slice that is being waited for or deleted holds an activity slot. A cached workflow takes about half a megabyte, in V8 and in
 * the SDK's core (`npm run bench:load`, docs/runs.md), so the cache decides a worker's memory. A workflow outside the cache is
 * replayed at its next message, in milliseconds, since waiting jobs have short histories. A pool's own workflow has the longest
 * history, of 2,000 events at most (`quotaHistoryEvents`). A quiet one wakes every ten minutes, and may be evicted in between.
 */
const COMMON_LIMITS = {
  ...LOADING,
  maxConcurrentActivityTaskExecutions: 2_000,
  maxCachedWorkflows: 200,
} as const satisfies Partial<WorkerOptions>;

function definedOnly<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, type WorkflowHandle, WithStartWorkflowOperation as WithStart } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { PoolFileReader } from '../../activities/operator-file.js';
import type { PoolMeter } from '../../activities/quota-publisher.js';
import { quotaActivities } from '../../activities/quota.js';
import { type QuotaSource, quotaSource } from '../../activities/quota-source.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import { createCloudTpu } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import { providersWithout } from '../no-own-machines.js';
import { machinesOf } from '../../cloud/machines/bounded-texts.js';
import { poolHistoryPrefix, poolStateObject } from '../../domain/store-layout.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { type PackedPoolState, type PoolSnapshot, unpackState } from '../../quota/published-state.js';
import type { Rehearsal } from '../../rehearsal/index.js';
import { startTestRehearsal } from '../../rehearsal/test/test-rehearsal.js';
import { applyUpdate, quotaStart } from '../../contract/quota.js';
import { quotaWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import { poolState } from '../end-to-end/pool-watch.js';
import { testServer } from '../temporal-server.js';
import { until } from '../until.js';
import type { TenantInput, TenantView } from './tenants.js';
import { LOADING } from '../../worker/workflow-code.js';

const QUEUE = 'a pool and its tenants';
export const QUOTA_FILE = `[toml-schema]
version = "1"
[total_resources]
v4 = 16
[project_membership]
owner = [".*"]
guest = [".*"]
[project_resources.owner]
v4 = 1.0
[project_resources.guest]
v4 = 0.0
`;
export const POOL_FILE = `[quota]
min_runtime = "1s"
`;
/** Long enough for a loaded computer; nothing waits so long when it works. */
export const SOON_MS = 30_000;

/** Long enough to be seen while it lasts. */
export const REBUILD_BOUND_MS = 6_000;

/** A line of a pool's history. */
interface HistoryEntry {
  readonly kind: string;
  readonly job?: string;
  readonly by?: string;
  readonly for?: string;
  readonly reason?: string;
}

/** The real quota workflow and its activities, on a real server and a real store; jobs and slices are simple (tenants.ts). */
export class LivePool {
  /** Another one for each test (`renew`). */
  pool = '';
  firstPool = '';
  /** Slices that live, and the most that did at a time. */
  readonly seen = { live: 0, most: 0 };
  client!: Client;
  store!: StorePort;
  #source!: QuotaSource;
  readonly #directory = mkdtempSync(join(tmpdir(), 'jobctl-pool-'));
  readonly #ends: (() => Promise<unknown>)[] = [];

  async start(): Promise<void> {
    const server = await testServer();
    const rehearsal = await startTestRehearsal({
      stateDir: join(this.#directory, 'rehearsal'),
    });
    this.#ends.unshift(() => rehearsal.stop());
    this.store = await newStore(rehearsal);
    this.forgetFiles();
    const connection = await NativeConnection.connect({ address: server.address });
    this.#ends.unshift(() => connection.close());
    const [host = '', port] = rehearsal.endpoints.tpu.split(':');
    const tpu = createCloudTpu({ endpoint: { host, port: Number(port), insecure: true } });
    this.#ends.unshift(() => tpu.close());
    const worker = await Worker.create({
      connection,
      namespace: server.namespace,
      taskQueue: QUEUE,
      ...LOADING,
      workflowsPath: fileURLToPath(new URL('./tenants.ts', import.meta.url)),
      activities: { ...this.#activities(tpu), live: (slices: number) => this.#noteLive(slices) },
    });
    const running = worker.run();
    this.#ends.unshift(() => {
      worker.shutdown();
      return running;
    });
    this.client = new Client({ connection: server.connection, namespace: server.namespace });
  }

  async stop(): Promise<void> {
    for (const end of this.#ends) await end();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  renew(): void {
    this.pool = `p-${randomBytes(3).toString('hex')}`;
    this.firstPool ||= this.pool;
    Object.assign(this.seen, { live: 0, most: 0 });
  }

  /** From now on as a worker that has read no files yet. */
  forgetFiles(): void {
    const { store } = this;
    this.#source = quotaSource(new PoolFileReader({ places: {}, store, openBucket: () => store }), store);
  }

  handle(): WorkflowHandle {
    return this.client.workflow.getHandle(quotaWorkflowId(this.pool));
  }

  /** Of garbage too. */
  startQuota(input: unknown): Promise<WorkflowHandle> {
    return this.client.workflow.start(WorkflowType.Quota, { ...quotaStart(this.pool, QUEUE), args: [input] });
  }

  /** Workflow tasks of the pool's present run that failed, by their messages. */
  async failedTasks(): Promise<readonly string[]> {
    const { events } = await this.handle().fetchHistory();
    return (events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
      failed ? [failed.failure?.message ?? 'without a message'] : [],
    );
  }

  state(): ReturnType<typeof poolState> {
    return poolState(this.client, this.pool);
  }

  apply(quota: string, by = 'alice', poolFile = POOL_FILE): Promise<{ readonly message: string }> {
    const [quotaFile, file] = [
      { name: 'quota.toml', text: quota },
      { name: 'pool.toml', text: poolFile },
    ];
    return this.client.workflow.executeUpdateWithStart(applyUpdate, {
      args: [{ v: 1, by, quotaFile, poolFile: file }],
      startWorkflowOperation: new WithStart(WorkflowType.Quota, {
        ...quotaStart(this.pool, QUEUE),
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    });
  }

  /** @returns its id */
  async tenant(name: string, project: string, more: Partial<TenantInput> = {}): Promise<string> {
    const id = `${this.pool}-${name}`;
    const demand = { project, user: name, priority: 3, units: { v4: 16 } };
    const input: TenantInput = { pool: this.pool, demand, ...more };
    await this.client.workflow.start('job', { taskQueue: QUEUE, workflowId: id, args: [input] });
    return id;
  }

  view(id: string): Promise<TenantView> {
    return this.client.workflow.getHandle(id).query<TenantView>('tenant');
  }

  becomes(id: string, state: TenantView['state']): Promise<TenantView> {
    return until(
      `${id} is ${state}`,
      async () => ((await this.view(id)).state === state ? this.view(id) : undefined),
      SOON_MS,
    );
  }

  async finish(id: string): Promise<void> {
    const job = this.client.workflow.getHandle(id);
    await job.signal('go');
    await job.signal('finish');
    await job.result();
  }

  isEmpty(): Promise<unknown> {
    return until('nothing is leased', async () => (await this.state())?.leases.length === 0, SOON_MS);
  }

  async published(): Promise<PoolSnapshot | undefined> {
    const content = await this.store.read(poolStateObject(this.pool));
    return content && unpackState(JSON.parse(content.toString('utf8')) as PackedPoolState);
  }

  async history(): Promise<readonly HistoryEntry[]> {
    const { store } = this;
    const objects = await store.list(poolHistoryPrefix(this.pool));
    const texts = await Promise.all(objects.map(async ({ name }) => (await store.read(name))?.toString('utf8') ?? ''));
    return texts.flatMap((text) => text.split('\n').filter(Boolean)).map((line) => JSON.parse(line) as HistoryEntry);
  }

  #activities(tpu: ReturnType<typeof createCloudTpu>): object {
    const short = {
      // What a pool hears in less time it was woken for (docs/adr/0151).
      reconcileMs: 3_600_000,
      poolLookMs: 1_500,
      rebuildSettleMs: 300,
      rebuildBoundMs: REBUILD_BOUND_MS,
      quotaHistoryEvents: 300,
      quotaHistoryBytes: 400_000,
    };
    const timings = { ...DEFAULT_TIMINGS, ...short };
    const quota: QuotaSource = {
      load: (name) => this.#source.load(name),
      lastGood: (name) => this.#source.lastGood(name),
      inForce: (name) => this.#source.inForce(name),
      applyFiles: (name, call) => this.#source.applyFiles(name, call),
    };
    return quotaActivities({
      installation: { owner: 'test', googleProject: 'rehearsal', taskQueue: QUEUE, timings },
      quota,
      machinesOf: machinesOf({ ...providersWithout(this.store), 'cloud-tpu': tpu }),
      store: this.store,
      meter: {
        waitingJobs: () => undefined,
        stuckDeletions: () => undefined,
        leasedUnits: () => undefined,
      } satisfies PoolMeter,
    } as never);
  }

  async #noteLive(slices: number): Promise<void> {
    this.seen.live += slices;
    this.seen.most = Math.max(this.seen.most, this.seen.live);
  }
}

async function newStore({ endpoints }: Rehearsal): Promise<StorePort> {
  const bucket = `pool-${randomBytes(4).toString('hex')}`;
  const options = { endpoint: endpoints.store, bucket, projectId: 'rehearsal' };
  await ensureBucket(options);
  return createStore(options);
}

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, WithStartWorkflowOperation as WithStart, WorkflowUpdateFailedError } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { PoolFileReader } from '../../activities/pool-file-reader.js';
import type { PoolMeter } from '../../activities/pool-gauges.js';
import { quotaActivities } from '../../activities/quota.js';
import { type QuotaSource, quotaSource } from '../../activities/quota-source.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import { createTpuPort } from '../../cloud/tpu/google-tpu.js';
import {
  appliedFileObject,
  lastGoodFilesObject,
  poolBookObject,
  poolHistoryPrefix,
  poolStateObject,
} from '../../domain/store-layout.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { type PackedPoolState, type PoolSnapshot, unpackState } from '../../quota/published-state.js';
import { type Rehearsal, startRehearsal } from '../../rehearsal/index.js';
import {
  admissionUpdate,
  applyUpdate,
  leaseMessagesSignal,
  priorityUpdate,
  publishedQuery,
  quotaStart,
  quotaWorkflowId,
  WorkflowType,
} from '../../workflows/messages.js';
import { poolState } from '../end-to-end/pool-watch.js';
import { TEMPORAL_START_MS, type TestServer, testServer } from '../temporal-server.js';
import { until } from '../until.js';
import type { TenantInput, TenantView } from './tenants.js';

const QUEUE = 'a pool and its tenants';
const QUOTA_FILE = `[toml-schema]
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
const POOL_FILE = `[quota]
min_runtime = "1s"
`;
/** Long enough for a loaded computer; nothing waits so long when it works. */
const SOON_MS = 30_000;

/** The real quota workflow and its activities, on a real server and a real store; jobs and slices are simple (tenants.ts). */
describe('a pool', function () {
  this.timeout(120_000);
  let server: TestServer;
  let rehearsal: Rehearsal;
  let connection: NativeConnection;
  let worker: Worker;
  let running: Promise<void>;
  let client: Client;
  let store: StorePort;
  let source: QuotaSource;
  let tpu: ReturnType<typeof createTpuPort>;
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-pool-'));
  const seen = { live: 0, most: 0 };

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    server = await testServer();
    rehearsal = await startRehearsal({
      stateDir: join(directory, 'rehearsal'),
      subnetOctet: 70 + (Number(process.env['MOCHA_WORKER_ID'] ?? 0) % 2),
      sshPort: 2298,
    });
    const bucket = `pool-${randomBytes(4).toString('hex')}`;
    const storeOptions = { endpoint: rehearsal.endpoints.store, bucket, projectId: 'rehearsal' };
    await ensureBucket(storeOptions);
    store = createStore(storeOptions);
    source = sourceWithoutMemory();
    const [host = '', port] = rehearsal.endpoints.tpu.split(':');
    tpu = createTpuPort({ endpoint: { host, port: Number(port), insecure: true } });
    connection = await NativeConnection.connect({ address: server.address });
    const short = { reconcileMs: 1_500, rebuildSettleMs: 300, quotaHistoryEvents: 300, quotaHistoryBytes: 400_000 };
    const timings = { ...DEFAULT_TIMINGS, ...short };
    worker = await Worker.create({
      connection,
      namespace: server.namespace,
      taskQueue: QUEUE,
      workflowsPath: fileURLToPath(new URL('./tenants.ts', import.meta.url)),
      activities: {
        ...quotaActivities({
          installation: { owner: 'test', googleProject: 'rehearsal', taskQueue: QUEUE, timings },
          quota: {
            load: (name) => source.load(name),
            lastGood: (name) => source.lastGood(name),
            inForce: (name) => source.inForce(name),
            applyFiles: (name, call) => source.applyFiles(name, call),
          } satisfies QuotaSource,
          tpu,
          store,
          meter: { waitingJobs: () => undefined, leasedUnits: () => undefined } satisfies PoolMeter,
        } as never),
        live: async (slices: number) => {
          seen.live += slices;
          seen.most = Math.max(seen.most, seen.live);
        },
      },
    });
    running = worker.run();
    client = new Client({ connection: server.connection, namespace: server.namespace });
  });
  after(async () => {
    worker.shutdown();
    await running;
    await tpu.close();
    await connection.close();
    await rehearsal.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  /** As a worker has it that has read nothing yet. */
  const sourceWithoutMemory = (): QuotaSource =>
    quotaSource(new PoolFileReader({ places: {}, store, openBucket: () => store }), store);

  // ----------------------------------------------------------------------------------------------------------------

  let pool: string;
  let firstPool = '';
  beforeEach(() => {
    pool = `p-${randomBytes(3).toString('hex')}`;
    firstPool ||= pool;
    Object.assign(seen, { live: 0, most: 0 });
  });
  const handle = () => client.workflow.getHandle(quotaWorkflowId(pool));
  const apply = (quota: string, by = 'alice', poolFile = POOL_FILE) =>
    client.workflow.executeUpdateWithStart(applyUpdate, {
      args: [
        {
          v: 1,
          by,
          quotaFile: { name: 'quota.toml', text: quota },
          poolFile: { name: 'pool.toml', text: poolFile },
        },
      ],
      startWorkflowOperation: startOperation(),
    });
  const startOperation = () =>
    new WithStart(WorkflowType.Quota, { ...quotaStart(pool, QUEUE), workflowIdConflictPolicy: 'USE_EXISTING' });
  const tenant = async (name: string, project: string, more: Partial<TenantInput> = {}): Promise<string> => {
    const id = `${pool}-${name}`;
    const demand = { project, user: name, priority: 3, units: { v4: 16 } };
    const input: TenantInput = { pool, demand, ...more };
    await client.workflow.start('job', { taskQueue: QUEUE, workflowId: id, args: [input] });
    return id;
  };
  const view = (id: string) => client.workflow.getHandle(id).query<TenantView>('tenant');
  const becomes = (id: string, state: TenantView['state']): Promise<TenantView> =>
    until(`${id} is ${state}`, async () => ((await view(id)).state === state ? view(id) : undefined), SOON_MS);
  const finish = async (id: string): Promise<void> => {
    const job = client.workflow.getHandle(id);
    await job.signal('go');
    await job.signal('finish');
    await job.result();
  };
  const isEmpty = () =>
    until('nothing is leased', async () => (await poolState(client, pool))?.leases.length === 0, SOON_MS);
  const published = async (): Promise<PoolSnapshot | undefined> => {
    const content = await store.read(poolStateObject(pool));
    return content && unpackState(JSON.parse(content.toString('utf8')) as PackedPoolState);
  };
  const history = async (): Promise<{ kind: string; job?: string; by?: string; for?: string; reason?: string }[]> => {
    const objects = await store.list(poolHistoryPrefix(pool));
    const texts = await Promise.all(objects.map(async ({ name }) => (await store.read(name))?.toString('utf8') ?? ''));
    return texts.flatMap((text) => text.split('\n').filter(Boolean)).map((line) => JSON.parse(line) as never);
  };
  const refused = (text: RegExp) => (error: unknown) => {
    assert.ok(error instanceof WorkflowUpdateFailedError, String(error));
    const messages = [error.cause?.message, error.cause?.cause].join(' ');
    assert.match(messages, text);
    return true;
  };

  it('takes lent chips back from a borrower, and grants them to their owner only when they are gone', async () => {
    await apply(QUOTA_FILE);
    const guest = await tenant('guest', 'guest', { isStubborn: true });
    await becomes(guest, 'holding');
    const owner = await tenant('owner', 'owner');
    const { revoked } = await becomes(guest, 'giving-back');
    assert.match(revoked ?? '', /project guest borrowed these chips, and job .*-owner of project owner/);
    const state = await poolState(client, pool);
    assert.deepEqual(
      [state?.leases.map(({ state: one }) => one), state?.waiting.map(({ lease }) => lease.job)],
      [['draining'], [owner]],
    );
    await client.workflow.getHandle(guest).signal('go');
    await becomes(owner, 'holding');
    assert.equal(seen.most, 1, 'slices that were live at a time, each of the whole pool');
    const again = await becomes(guest, 'waiting');
    assert.equal(again.number, 2);
    await finish(owner);
    await becomes(guest, 'holding');
    await finish(guest);
    await isEmpty();
    assert.equal(seen.live, 0);
  });

  it('reads files that stay the same without writing them into its history again', async () => {
    const many = Array.from({ length: 100 }, (_, index) => `project-${index}`);
    const table = (line: (name: string) => string) => many.map(line).join('\n');
    const members = table((name) => `${name} = ["${name}-.*"]`);
    const shares = table((name) => `[project_resources.${name}]\nv4 = 0.01`);
    await apply(
      `[toml-schema]\nversion = "1"\n[total_resources]\nv4 = 1600\n[project_membership]\n${members}\n${shares}\n`,
    );
    const size = async (): Promise<number> => (await handle().describe()).historySize ?? 0;
    const open = () =>
      client.workflow
        .getHandle(quotaWorkflowId(pool))
        .executeUpdate(admissionUpdate, { args: [{ v: 1, by: 'alice', admission: 'open' }] });
    await open();
    const before = await size();
    // Each of them reads the files again.
    for (let times = 0; times < 3; times++) await open();
    const each = ((await size()) - before) / 3;
    const config = JSON.stringify((await poolState(client, pool))?.config).length;
    assert.ok(config > 5_000 && each < config, `${each} bytes for each reading of a configuration of ${config}`);
  });

  it('that lost its memory while a file is broken goes on with the files that were good last', async () => {
    await apply(QUOTA_FILE);
    await until('they are kept', async () => (await store.stat(lastGoodFilesObject(pool))) !== undefined, SOON_MS);
    await handle().terminate('its history is lost');
    await store.replace(appliedFileObject(pool, 'quota'), QUOTA_FILE.replace('v4 = 16', 'v4 = -16'), 'text/plain');
    source = sourceWithoutMemory();
    const holder = await tenant('holder', 'owner');
    await becomes(holder, 'holding');
    const { config, problem } = (await poolState(client, pool)) ?? {};
    assert.deepEqual(config?.kind === 'limited' ? config.tiers : config, [{ v4: 16 }]);
    assert.match(problem ?? '', /-16/);
    await finish(holder);
    await isEmpty();
  });

  it('refuses a broken file, and nothing moves', async () => {
    await apply(QUOTA_FILE);
    const holder = await tenant('holder', 'owner');
    await becomes(holder, 'holding');
    await assert.rejects(apply(QUOTA_FILE.replace('v4 = 16', 'v4 = -16')), refused(/quota\.toml.*-16/s));
    const state = await poolState(client, pool);
    assert.deepEqual(
      [state?.config?.kind === 'limited' && state.config.tiers, state?.problem, state?.leases[0]?.state],
      [[{ v4: 16 }], undefined, 'held'],
    );
    const { message } = await apply(QUOTA_FILE.replace('v4 = 16', 'v4 = 32'));
    assert.match(message, /in force/);
    const after = await poolState(client, pool);
    assert.deepEqual(after?.config?.kind === 'limited' && after.config.tiers, [{ v4: 32 }]);
    await finish(holder);
  });

  it('hears its admins alone, and a job’s own user on its priority', async () => {
    const anybodys = await apply(QUOTA_FILE, 'mallory');
    assert.match(anybodys.message, /warning: pool \S+ has no admins, so anybody may apply files to it/);
    const { message } = await apply(QUOTA_FILE, 'alice', `${POOL_FILE}admins = ["alice"]\n`);
    assert.doesNotMatch(message, /warning/);
    const job = await tenant('bob', 'owner');
    await becomes(job, 'holding');
    const by = (who: string, priority: number) =>
      handle().executeUpdate(priorityUpdate, { args: [{ v: 1, by: who, job, priority }] });
    await assert.rejects(by('mallory', 1), refused(/no admin of pool .*alice/));
    await assert.rejects(by('alice', 6), refused(/priority 6 is no whole number/));
    await assert.rejects(apply(QUOTA_FILE, 'mallory'), refused(/may not apply files/));
    await assert.rejects(
      handle().executeUpdate(admissionUpdate, { args: [{ v: 1, by: 'mallory', admission: 'frozen' }] }),
      refused(/may not freeze/),
    );
    assert.match((await by('bob', 2)).message, /priority 2/);
    await until('the job heard', async () => (await view(job)).priority === 2, SOON_MS);
    assert.match((await by('alice', 1)).message, /priority 1/);
    await finish(job);
  });

  it('grants nothing while it is frozen, stays so when its workflow is terminated, and gives all back when drained', async () => {
    await apply(QUOTA_FILE);
    const holder = await tenant('holder', 'owner');
    await becomes(holder, 'holding');
    const admit = (admission: 'open' | 'frozen' | 'draining') =>
      handle().executeUpdate(admissionUpdate, { args: [{ v: 1, by: 'alice', admission, reason: 'maintenance' }] });
    assert.match((await admit('frozen')).message, /frozen: nothing new is granted, 1 with a lease go on/);
    await until('it is published', async () => (await published())?.admission === 'frozen', SOON_MS);
    await handle().terminate('test');
    const waiter = await tenant('waiter', 'owner');
    await finish(holder);
    await until('it is rebuilt', async () => (await poolState(client, pool))?.waitingCount === 1, SOON_MS);
    await isEmpty();
    const frozen = await until('it is published again', async () => {
      const state = await published();
      return state && state.view.requests.length === 1 && state.view.leases.length === 0 ? state : undefined;
    });
    assert.deepEqual([frozen.admission, frozen.admissionReason], ['frozen', 'maintenance']);
    await admit('open');
    await becomes(waiter, 'holding');
    await admit('draining');
    const again = await until('it waits again', async () =>
      (await view(waiter)).number === 2 ? view(waiter) : undefined,
    );
    assert.equal(again.state, 'waiting');
    await admit('open');
    await becomes(waiter, 'holding');
    await finish(waiter);
  });

  it('shows nobody half a pool: while it is rebuilt, what was published before stays', async () => {
    await apply(QUOTA_FILE);
    const mute = await tenant('mute', 'owner', { isMute: true });
    await becomes(mute, 'holding');
    const before = await until('the lease is published', async () => {
      const state = await published();
      return state?.view.leases.length === 1 ? state : undefined;
    });
    await handle().terminate('test');
    const waiter = await tenant('waiter', 'owner');
    await until('it hears all but one', async () => (await poolState(client, pool))?.waitingCount === 1, SOON_MS);
    await assert.rejects(handle().query(publishedQuery, 0), /is being rebuilt/);
    assert.equal((await published())?.epoch, before.epoch);
    await finish(mute);
    await becomes(waiter, 'holding');
    await until('the rebuilt one is published', async () => (await published())?.epoch !== before.epoch, SOON_MS);
    await finish(waiter);
  });

  it('SAFETY: terminated between a grant and its slice, and in the middle of a revocation, grants no chip twice', async () => {
    await apply(QUOTA_FILE);
    const guest = await tenant('guest', 'guest', { isSlow: true });
    await becomes(guest, 'granted');
    await handle().terminate('between grant and create');
    const owner = await tenant('owner', 'owner', { isStubborn: true });
    await client.workflow.getHandle(guest).signal('go');
    await becomes(owner, 'holding');
    assert.equal(seen.most, 1, 'live at a time after the first loss');
    const rival = await tenant('rival', 'owner', {
      demand: { project: 'owner', user: 'r', priority: 1, units: { v4: 16 } },
    });
    await becomes(owner, 'giving-back');
    const epoch = (await poolState(client, pool))?.epoch ?? 0;
    await handle().terminate('in the middle of a revocation');
    const other = await tenant('other', 'owner');
    const rebuilt = await until('it is rebuilt', async () => {
      const state = await poolState(client, pool);
      return state && state.epoch > epoch && state.waitingCount + state.leases.length === 4 ? state : undefined;
    });
    assert.deepEqual(
      rebuilt.leases.map(({ lease }) => lease.job),
      [owner],
    );
    await client.workflow.getHandle(owner).signal('go');
    for (const id of [rival, owner, other, guest]) {
      await becomes(id, 'holding');
      await finish(id);
    }
    await isEmpty();
    assert.equal(seen.most, 1, 'live at a time');
  });

  it('hands a book that is too long for a payload to its next run through the store', async () => {
    await apply(QUOTA_FILE);
    await handle().executeUpdate(admissionUpdate, { args: [{ v: 1, by: 'alice', admission: 'frozen' }] });
    const first = (await handle().describe()).runId;
    // Their messages are more history than a run may have, and so is their book alone, which goes through the store.
    const many = 8_000;
    const messages = Array.from({ length: many }, (_, index) => ({
      lease: {
        pool,
        job: `${pool}-job-${index}`,
        run: `01a1fe4e-0000-7000-8000-${String(index).padStart(12, '0')}`,
        number: 1,
      },
      sender: 'job',
      sequence: 1_795_274_000_000 + index,
      body: {
        kind: 'request' as const,
        demand: {
          project: 'owner',
          user: `u${index % 50}`,
          priority: 3,
          submittedAt: 1_795_274_000_000,
          units: { v4: 8 },
        },
        slices: [],
      },
    }));
    for (let from = 0; from < many; from += 500)
      await handle().signal(leaseMessagesSignal, messages.slice(from, from + 500));
    const kept = await until(
      'a later run has them all',
      async () => {
        const [{ runId }, state] = [await handle().describe(), await poolState(client, pool)];
        return runId !== first && (await store.list(poolBookObject(pool, ''))).length > 0 ? state : undefined;
      },
      60_000,
    );
    // The comparison of leases has begun to take away those without a job.
    assert.ok(kept.waitingCount > many / 2, `${kept.waitingCount} are left`);
    await until('a run with more than its limit handed over works on', hasCompared, 30_000);
    await handle().terminate('test');
  });

  /** A run that ends at once never gets so far. */
  async function hasCompared(): Promise<boolean> {
    const { runId } = await handle().describe();
    const { events } = await client.workflow.getHandle(quotaWorkflowId(pool), runId).fetchHistory();
    const called = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
    return called.includes('readBook') && called.includes('findStrays');
  }

  it('kept who got what when in its history, each line once', async () => {
    pool = firstPool;
    const lines = await until(
      'the lines are written',
      async () => {
        const all = await history();
        return all.filter(({ kind }) => kind === 'freed').length === 3 ? all : undefined;
      },
      60_000,
    );
    const [guest, owner] = [`${pool}-guest`, `${pool}-owner`];
    const applied = lines.find(({ kind }) => kind === 'applied');
    assert.equal(applied?.reason, 'quota.toml and pool.toml (no admins were named)');
    assert.deepEqual(
      lines.map(({ kind, job = 'alice' }) => `${kind} ${job}`),
      [
        'applied alice',
        `granted ${guest}`,
        `chips ${guest}`,
        `revoked ${guest}`,
        `freed ${guest}`,
        `granted ${owner}`,
        `chips ${owner}`,
        `freed ${owner}`,
        `granted ${guest}`,
        `chips ${guest}`,
        `freed ${guest}`,
      ],
    );
    assert.equal(lines.find(({ kind }) => kind === 'revoked')?.for?.split('/')[0], owner);
  });
});

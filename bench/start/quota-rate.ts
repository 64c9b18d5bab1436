import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { eachOf } from '../../activities/workflow-lookup.js';
import { quotaActivities } from '../../activities/quota.js';
import { PoolFileReader } from '../../activities/pool-file-reader.js';
import { quotaSource } from '../../activities/quota-source.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { createTpuPort } from '../../cloud/tpu/google-tpu.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { startRehearsal } from '../../rehearsal/index.js';
import { startTestServer } from '../../test/temporal-server.js';
import { type PoolHistory, poolHistory } from '../load/pool-history.js';

/** Request and release of each job. */
const MESSAGES_PER_JOB = 2;

export interface RateOptions {
  /** Of a round. */
  readonly jobs?: number;
  readonly rounds?: number;
}

export interface QuotaRates {
  /** Jobs a second, one figure a round. */
  readonly bare: number[];
  readonly quota: number[];
  /** Of the last round. */
  readonly signals: number;
  readonly messages: number;
  readonly pool: PoolHistory;
  /** Events in the history of one job, without a lease and with one. */
  readonly jobEvents: { readonly bare: number; readonly quota: number };
}

/** The same workflow with and without a lease, in turn, on one server (file database, as `dev up` runs it) and one worker. */
export async function quotaRates({ jobs = 500, rounds = 3 }: RateOptions = {}): Promise<QuotaRates> {
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-bench-quota-'));
  const server = await startTestServer({ databaseFile: join(directory, 'temporal.db') });
  const rehearsal = await startRehearsal({ stateDir: join(directory, 'rehearsal'), subnetOctet: 126, sshPort: 2299 });
  const connection = await NativeConnection.connect({ address: server.address });
  const [host = '', port] = rehearsal.endpoints.tpu.split(':');
  const tpu = createTpuPort({ endpoint: { host, port: Number(port), insecure: true } });
  const storeOptions = { endpoint: rehearsal.endpoints.store, bucket: 'bench-quota', projectId: 'bench' };
  await ensureBucket(storeOptions);
  const store = createStore(storeOptions);
  const installation = { ...INSTALLATION, timings: { ...DEFAULT_TIMINGS, rebuildSettleMs: 1 } };
  const worker = await Worker.create({
    connection,
    taskQueue: INSTALLATION.taskQueue,
    workflowsPath: fileURLToPath(new URL('./quick-jobs.ts', import.meta.url)),
    activities: {
      ...quotaActivities({
        installation,
        quota: quotaSource(new PoolFileReader({ places: {}, store, openBucket: () => store }), store),
        tpu,
        store,
      } as never),
      step: async () => undefined,
    },
    maxCachedWorkflows: 1_000,
  });
  const client = new Client({ connection: server.connection, namespace: server.namespace });
  const rates: { bare: number[]; quota: number[] } = { bare: [], quota: [] };
  await worker.runUntil(async () => {
    await rate(client, 'warm-up', { pool: 'default' }, 50);
    for (let round = 0; round < rounds; round++) {
      rates.bare.push(await rate(client, `bare-${round}`, {}, jobs));
      rates.quota.push(await rate(client, `quota-${round}`, { pool: `bench-${round}` }, jobs));
    }
  });
  const pool = await poolHistory(client, `bench-${rounds - 1}`);
  const jobEvents = { bare: await eventsOf(client, 'bare-0-0'), quota: await eventsOf(client, 'quota-0-0') };
  await tpu.close();
  await connection.close();
  await rehearsal.stop();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
  return { ...rates, signals: pool.signals, messages: jobs * MESSAGES_PER_JOB, pool, jobEvents };
}

const INSTALLATION = {
  owner: 'bench',
  googleProject: 'bench',
  sshKey: { privateKey: '' },
  publicKey: '',
  taskQueue: 'bench',
  claimedQueue: 'bench-claimed',
};

async function rate(client: Client, name: string, input: { readonly pool?: string }, jobs: number): Promise<number> {
  const start = performance.now();
  await eachOf(
    Array.from({ length: jobs }, (_, index) => index),
    100,
    async (index) => {
      const handle = await client.workflow.start('quickJob', {
        taskQueue: INSTALLATION.taskQueue,
        workflowId: `${name}-${index}`,
        args: [input],
      });
      await handle.result();
    },
  );
  return (jobs * 1000) / (performance.now() - start);
}

async function eventsOf(client: Client, workflowId: string): Promise<number> {
  return (await client.workflow.getHandle(workflowId).describe()).historyLength;
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { QuotaActivities } from '../../contract/quota-activities.js';
import { PoolFileReader } from '../../activities/operator-file.js';
import type { PoolMeter } from '../../activities/quota-publisher.js';
import { quotaActivities } from '../../activities/quota.js';
import { quotaSource } from '../../activities/quota-source.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { createCloudTpu } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import { providersWithout } from '../../test/no-own-machines.js';
import { machinesOf } from '../../cloud/machines/bounded-texts.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { startRehearsal } from '../../rehearsal/index.js';
import { startTestServer } from '../../test/temporal-server.js';

export const BENCH_QUEUE = 'bench';

const INSTALLATION = {
  owner: 'bench',
  googleProject: 'bench',
  sshKey: { privateKey: '' },
  publicKey: '',
  taskQueue: BENCH_QUEUE,
  claimedQueue: 'bench-claimed',
  timings: { ...DEFAULT_TIMINGS, rebuildSettleMs: 1 },
};

const NO_METER: PoolMeter = {
  waitingJobs: () => undefined,
  stuckDeletions: () => undefined,
  leasedUnits: () => undefined,
};

/** A page of a history may be larger than gRPC's default limit of 4 MB. */
const LONG_HISTORIES = { 'grpc.max_receive_message_length': -1 };

/**
 * Runs `work` beside a server (file database, as `dev up` runs it), a rehearsed store and cloud, and one worker with the quota
 * workflow and `quickJob`. All are removed afterwards.
 * @param instead replaces activities that would ask for something that is not there
 */
export async function withPoolWorker<T>(
  work: (client: Client) => Promise<T>,
  instead: Partial<QuotaActivities> = {},
): Promise<T> {
  // The runtime is one for the process: a second bench in it finds it there.
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-bench-quota-'));
  const server = await startTestServer({ databaseFile: join(directory, 'temporal.db') });
  const rehearsal = await startRehearsal({ stateDir: join(directory, 'rehearsal'), subnetOctet: 126, sshPort: 2299 });
  const connection = await NativeConnection.connect({ address: server.address });
  const [host = '', port] = rehearsal.endpoints.tpu.split(':');
  const tpu = createCloudTpu({ endpoint: { host, port: Number(port), insecure: true } });
  const storeOptions = { endpoint: rehearsal.endpoints.store, bucket: 'bench-quota', projectId: 'bench' };
  await ensureBucket(storeOptions);
  const store = createStore(storeOptions);
  const quota = quotaSource(new PoolFileReader({ places: {}, store, openBucket: () => store }), store);
  const worker = await Worker.create({
    connection,
    taskQueue: BENCH_QUEUE,
    workflowsPath: fileURLToPath(new URL('./quick-jobs.ts', import.meta.url)),
    activities: {
      ...quotaActivities({
        installation: INSTALLATION,
        quota,
        machinesOf: machinesOf({ ...providersWithout(store), 'cloud-tpu': tpu }),
        store,
        meter: NO_METER,
      } as never),
      ...instead,
      step: async () => undefined,
    },
    maxCachedWorkflows: 1_000,
  });
  const reading = await Connection.connect({ address: server.address, channelArgs: LONG_HISTORIES });
  try {
    return await worker.runUntil(work(new Client({ connection: reading, namespace: server.namespace })));
  } finally {
    await reading.close();
    await tpu.close();
    await connection.close();
    await rehearsal.stop();
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

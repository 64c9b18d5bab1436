import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { ActivityDependencies } from '../../activities/dependencies.js';
import { jobRecordActivities } from '../../activities/job-records.js';
import { PoolFileReader } from '../../activities/operator-file.js';
import { poolSource } from '../../activities/pool-source.js';
import { quotaSource } from '../../activities/quota-source.js';
import { keyReader } from '../../cloud/hosts/private-key.js';
import { openSecretStore } from '../../cloud/secrets/open-secret-store.js';
import type { SecretStore } from '../../cloud/secrets/port.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import { JobClient } from '../../client/job-client.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { startTestRehearsal } from '../../rehearsal/test/test-rehearsal.js';
import { writeKeyPair } from '../end-to-end/key-pair.js';
import { testServer } from '../temporal-server.js';
import { workflowBundle } from '../workflow-bundle.js';
import { rehearsedMachinesOf, type WorkerConfig } from '../../worker/config.js';
import { trustOf } from '../../worker/keys.js';
import { LOADING } from '../../worker/workflow-code.js';

type Parts = Pick<AcceptingWorker, 'client' | 'jobs' | 'taskQueue' | 'store' | 'secrets'>;

/**
 * The job workflow as it ships, on a real server and a real store, with the real acceptance of jobs under a pool's files. No pool
 * grants anything: jobs that are taken wait. Nothing of a cloud is there.
 */
export class AcceptingWorker {
  readonly client: Client;
  readonly jobs: JobClient;
  readonly taskQueue: string;
  readonly store: StorePort;
  readonly secrets: SecretStore;
  readonly #ends: readonly (() => Promise<unknown>)[];

  private constructor(parts: Parts, ends: readonly (() => Promise<unknown>)[]) {
    this.client = parts.client;
    this.jobs = parts.jobs;
    this.taskQueue = parts.taskQueue;
    this.store = parts.store;
    this.secrets = parts.secrets;
    this.#ends = ends;
  }

  /** @param more of the worker's configuration; other pools than `pool` have no files */
  static async start(
    pool: string,
    files: { readonly quota: string; readonly pool: string },
    more: Partial<Pick<WorkerConfig, 'verified' | 'pools' | 'label' | 'rehearsedMachines'>> = {},
  ): Promise<AcceptingWorker> {
    const server = await testServer();
    const directory = mkdtempSync(join(tmpdir(), 'jobctl-accepting-'));
    const rehearsal = await startTestRehearsal({ stateDir: join(directory, 'r') });
    const options = { endpoint: rehearsal.endpoints.store, bucket: 'accepting', projectId: 'p' };
    await ensureBucket(options);
    const store = createStore(options);
    const [quotaFile, poolFile] = [join(directory, 'quota.toml'), join(directory, 'pool.toml')];
    writeFileSync(quotaFile, files.quota);
    writeFileSync(poolFile, files.pool);
    const reader = new PoolFileReader({
      places: { [pool]: { quotaFile, poolFile }, ...more.pools },
      store,
      openBucket: () => store,
    });
    const rehearsed = rehearsedMachinesOf({ rehearsedMachines: more.rehearsedMachines ?? [] });
    const key = writeKeyPair(directory);
    const secrets = openSecretStore(pathToFileURL(join(directory, 'secrets')).href);
    const taskQueue = `accepting-${process.pid}`;
    const dependencies = {
      ...{ store, quota: quotaSource(reader, store), pools: poolSource(reader, new Map([[pool, rehearsed]])) },
      installation: {
        ...{ owner: 'o', googleProject: 'workers-project', keys: keyReader, readsKeyFiles: false, taskQueue },
        trust: trustOf({ verified: more.verified }),
        label: more.label,
        secrets,
        jobKeys: { secretIds: [], newest: () => undefined, find: () => undefined },
        sshKey: { privateKey: readFileSync(key.privateKeyFile, 'utf8') },
        ...{ publicKey: readFileSync(key.publicKeyFile, 'utf8'), claimedQueue: taskQueue, timings: DEFAULT_TIMINGS },
      },
    } as unknown as ActivityDependencies;
    const connection = await NativeConnection.connect({ address: server.address });
    const activities = {
      ...jobRecordActivities(dependencies),
      sendLease: async () => undefined,
      createSlice: async () => {
        throw ApplicationFailure.nonRetryable('there is no cloud');
      },
      deleteUntilGone: async () => undefined,
      isJobOpen: async () => true,
    };
    const worker = await Worker.create({
      connection,
      namespace: server.namespace,
      taskQueue,
      ...LOADING,
      workflowBundle: await workflowBundle(),
      activities,
    });
    const running = worker.run();
    const client = new Client({ connection: server.connection, namespace: server.namespace });
    const jobs = await JobClient.connect({ client, taskQueue, store });
    return new AcceptingWorker({ client, jobs, taskQueue, store, secrets }, [
      async () => {
        worker.shutdown();
        await running;
      },
      () => connection.close(),
      () => rehearsal.stop(),
      async () => rmSync(directory, { recursive: true, force: true }),
    ]);
  }

  async stop(): Promise<void> {
    for (const end of this.#ends) await end();
  }
}

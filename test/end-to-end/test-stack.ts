import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client, isGrpcServiceError } from '@temporalio/client';
import { ensureOwner } from '../../client/installation.js';
import { jobDataConverter } from '../../client/connect.js';
import { JobClient } from '../../client/job-client.js';
import type { CodecReferences } from '../../cloud/codec/codec-key.js';
import { newKeyLine } from '../../cloud/keys/key-reference.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import { CHANGES } from '../../contract/changes.js';
import { changesObject } from '../../domain/store-layout.js';
import type { Timings } from '../../domain/timings.js';
import { type Rehearsal, startRehearsal } from '../../rehearsal/index.js';
import { programArguments } from '../built.js';
import { recordHistories } from '../replay/recording.js';
import { takeOctet, type TakenOctet } from '../../rehearsal/test/subnet-octets.js';
import { freePort, type TestServer, testServer } from '../temporal-server.js';
import { Hopeless, until } from '../until.js';
import { type CloudApart, startCloudApart } from './cloud-apart.js';
import { writeKeyPair } from './key-pair.js';

export { writeKeyPair } from './key-pair.js';

/** Everything that `jobctl dev up` makes, with short timings: the shared Temporal server, a rehearsal of its own, a worker process. */
export class TestStack {
  /** Run ids; see test/replay/recording.ts. */
  readonly answeredByTest = new Set<string>();
  readonly server: TestServer;
  readonly rehearsal: Rehearsal & Partial<CloudApart>;
  readonly client: Client;
  readonly jobs: JobClient;
  readonly store: StorePort;
  readonly owner: string;
  readonly taskQueue: string;
  readonly #directory: string;
  /** Of addresses that no other test's stack may have meanwhile, in whatever process. */
  readonly #addresses: TakenOctet;
  readonly #config: { readonly ssh: object };
  readonly #healthPort: number;
  readonly #metricsPort: number;
  readonly #codecKey: string | undefined;
  /** Node's arguments that run the program whose worker is started next. */
  program = programArguments('cli/main');
  /** Of the configuration of the worker that is started next, beside its own. */
  workerConfig: object = {};
  #worker: ChildProcess | undefined;

  private constructor(parts: StackParts) {
    this.server = parts.server;
    this.rehearsal = parts.rehearsal;
    this.client = parts.client;
    this.jobs = parts.jobs;
    this.store = parts.store;
    this.owner = parts.owner;
    this.taskQueue = parts.taskQueue;
    this.#directory = parts.directory;
    this.#addresses = parts.addresses;
    this.#config = parts.config;
    this.#healthPort = parts.healthPort;
    this.#metricsPort = parts.metricsPort;
    this.#codecKey = parts.codecKey;
  }

  static async start(options: StackOptions = {}): Promise<TestStack> {
    const server = options.server ?? (await testServer());
    const directory = mkdtempSync(join(tmpdir(), 'jobctl-e2e-'));
    const addresses = await takeOctet();
    const place = { stateDir: join(directory, 'rehearsal'), subnetOctet: addresses.octet, sshPort: 2222 };
    const rehearsal = await (options.isCloudApart
      ? startCloudApart(place)
      : startRehearsal({ ...place, ...(options.kubernetes === true ? { kubernetesPort: 0 } : {}) }));
    const { kubeconfig } = rehearsal.endpoints;
    const bucket = `e2e-${randomBytes(4).toString('hex')}`;
    const storeOptions = { endpoint: rehearsal.endpoints.store, bucket, projectId: 'rehearsal' };
    await ensureBucket(storeOptions);
    const store = createStore(storeOptions);
    const { id: owner } = await ensureOwner(store);
    await activateAllChanges(store);
    const key = writeKeyPair(directory);
    const [healthPort, metricsPort] = [await freePort(), await freePort()];
    const taskQueue = `e2e-${bucket}`;
    const pool = options.pool ?? 'default';
    const quotaFile = options.quota === undefined ? undefined : join(directory, 'quota.toml');
    if (quotaFile !== undefined) writeFileSync(quotaFile, options.quota as string);
    const codec = options.codec ?? codecOfAllTests();
    const poolFile = options.poolFile === undefined ? undefined : join(directory, 'pool.toml');
    if (poolFile !== undefined) writeFileSync(poolFile, options.poolFile as string);
    const config = {
      temporal: { address: server.address, namespace: server.namespace },
      taskQueue,
      store: { endpoint: rehearsal.endpoints.store, bucket },
      cloud: {
        tpuEndpoint: rehearsal.endpoints.tpu,
        tpuRestEndpoint: rehearsal.endpoints.rest,
        insecure: true,
        callsPerSecond: 200,
      },
      ...(kubeconfig === undefined ? {} : { kubernetes: { kubeconfig, listingPeriods: LISTING_PERIODS } }),
      ssh: {
        port: rehearsal.endpoints.sshPort,
        ...key,
        jobKeySecret: jobKeySecretIn(directory, FIRST_JOB_KEY_SECRET),
        readsKeyFiles: options.readsKeyFiles ?? true,
      },
      googleProject: 'rehearsal',
      secretStore: pathToFileURL(join(directory, 'secrets')).href,
      label: 'REHEARSAL',
      pool,
      ...(quotaFile === undefined ? {} : { quotaFile }),
      ...(codec === undefined ? {} : { codec }),
      ...(poolFile === undefined ? {} : { poolFile }),
      healthPort,
      metricsPort,
      logLevel: 'debug',
      timings: { ...SHORT, ...options.timings },
    };
    const dataConverter = await jobDataConverter(codec ?? {});
    const client = new Client({ connection: server.connection, namespace: server.namespace, dataConverter });
    const jobs = await JobClient.connect({ client, taskQueue, store });
    const stack = new TestStack({
      server,
      rehearsal,
      client,
      jobs,
      store,
      owner,
      taskQueue,
      directory,
      addresses,
      config,
      healthPort,
      metricsPort,
      codecKey: keyInEnvironment(codec),
    });
    if (!options.isNotReady) {
      await stack.startWorker().catch(async (error: unknown) => {
        const tail = stack.tail();
        await stack.stop();
        throw new Error(`${String(error)}\n${tail}`, { cause: error });
      });
    }
    return stack;
  }

  async startWorker(): Promise<void> {
    this.spawnWorker();
    const worker = this.#worker;
    const isReady = async (): Promise<boolean> => {
      const end = worker?.exitCode ?? worker?.signalCode ?? undefined;
      if (end !== undefined) throw new Hopeless(`the worker ended with ${end}`);
      return (await this.readiness()).ready;
    };
    await until('the worker is ready', isReady, 60_000);
  }

  async readiness(): Promise<{ readonly ready: boolean; readonly reasons: readonly string[] }> {
    const response = await fetch(`http://127.0.0.1:${this.#healthPort}/ready`);
    const answer = (await response.json()) as { ready: boolean; reasons: string[] };
    return { ...answer, ready: response.status === 200 && answer.ready };
  }

  /** The worker's page for Prometheus. */
  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#metricsPort}/metrics`)).text();
  }

  spawnWorker(): void {
    const file = join(this.#directory, 'worker.json');
    writeFileSync(file, JSON.stringify({ ...this.#config, ...this.workerConfig }));
    const log = openSync(this.workerLog, 'a');
    const args = [...this.program, 'worker', '--config', file];
    this.#worker = spawn(process.execPath, args, { env: withoutConfiguration(), stdio: ['ignore', log, log] });
  }

  /** SIGKILL: nothing of it is handed over. Killed while its pool decided, the pool grants nothing for up to `QUOTA_TASK_TIMEOUT_MS`. */
  async killWorker(): Promise<void> {
    await this.#endWorker('SIGKILL');
  }

  /** SIGTERM: it hands its jobs over. */
  async stopWorker(): Promise<void> {
    await this.#endWorker('SIGTERM');
  }

  async stop(): Promise<void> {
    await this.#endWorker('SIGTERM');
    await this.#record();
    await this.#endWorkflows();
    await this.rehearsal.stop();
    this.#addresses.release();
    this.#keepLog();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Among the logs of the test file, which stay if it fails (test/reporter.cjs). */
  #keepLog(): void {
    const folder = process.env['JOBCTL_TEST_LOGS'];
    if (folder === undefined || !existsSync(this.workerLog)) return;
    const kept = join(folder, `worker-${this.taskQueue}.log`);
    copyFileSync(this.workerLog, kept);
    console.log(`${kept}, its end:\n${this.tail()}`);
  }

  /** Where this stack's operator files are, as a configuration names them. */
  get poolFiles(): { readonly pool?: string; readonly quotaFile?: string; readonly poolFile?: string } {
    const { pool, quotaFile, poolFile } = this.#config as {
      readonly [Key in 'pool' | 'quotaFile' | 'poolFile']?: string;
    };
    return {
      ...(pool !== undefined && { pool }),
      ...(quotaFile !== undefined && { quotaFile }),
      ...(poolFile !== undefined && { poolFile }),
    };
  }

  /** Reference of the worker's secret store. */
  get secretStore(): string {
    return pathToFileURL(join(this.#directory, 'secrets')).href;
  }

  /** The worker that is started next has these secrets of job keys, each made at its first use. @param current of new jobs */
  useJobKeySecrets(current: string | undefined, ...former: readonly string[]): void {
    const ssh = {
      ...this.#config.ssh,
      jobKeySecret: current && this.jobKeySecret(current),
      formerJobKeySecrets: former.map((name) => this.jobKeySecret(name)),
    };
    this.workerConfig = { ...this.workerConfig, ssh };
  }

  /** Reference of a secret of job keys. */
  jobKeySecret(name = FIRST_JOB_KEY_SECRET): string {
    return jobKeySecretIn(this.#directory, name);
  }

  /** The installation's key, which logs in to own machines and to the hosts of jobs without a key of their own. */
  get privateKeyFile(): string {
    return join(this.#directory, 'id_ed25519');
  }

  /** The rehearsal's state, with the disks of its VMs. */
  get rehearsalDirectory(): string {
    return join(this.#directory, 'rehearsal');
  }

  /** Of the rehearsal: this process, unless it is apart. */
  get cloudPid(): number {
    return this.rehearsal.pid ?? process.pid;
  }

  /** Of the worker that runs. */
  get pid(): number | undefined {
    const worker = this.#worker;
    return worker?.exitCode === null && worker.signalCode === null ? worker.pid : undefined;
  }

  get workerLog(): string {
    return join(this.#directory, 'worker.log');
  }

  /** Replaces the pool file that the stack was started with. */
  writePoolFile(text: string): void {
    writeFileSync(join(this.#directory, 'pool.toml'), text);
  }

  /** Changes the quota file that the stack was started with. */
  writeQuotaFile(change: (text: string) => string): void {
    const file = join(this.#directory, 'quota.toml');
    writeFileSync(file, change(readFileSync(file, 'utf8')));
  }

  /** What the worker wrote, for a failure's message. */
  tail(lines = 40): string {
    return readFileSync(this.workerLog, 'utf8').split('\n').slice(-lines).join('\n');
  }

  /**
   * A pool's workflow is one per namespace and keeps the task queue of who started it: left open it would take the requests of
   * the next stack's jobs, to a queue that nobody polls any more. A job left open, by a test that failed, would be asked by the
   * next stack's pool what it holds, and the pool would wait for its answer.
   */
  async #endWorkflows(): Promise<void> {
    const { workflow } = this.client;
    const query = `TaskQueue = '${this.taskQueue}' AND ExecutionStatus = 'Running'`;
    try {
      for await (const { workflowId } of workflow.list({ query }))
        await workflow.getHandle(workflowId).terminate('its test stack has ended');
    } catch {
      // A server that the test has ended itself has no next stack.
    }
  }

  /** For the replay gate. */
  async #record(): Promise<void> {
    const { client, taskQueue: name } = this;
    const query = `TaskQueue = '${name}'`;
    try {
      await recordHistories({ client, name, query, codecKey: this.#codecKey, answeredByTest: this.answeredByTest });
    } catch (error) {
      // A server that the test has ended itself has no histories any more.
      if (!isServerGone(error)) throw error;
    }
  }

  async #endWorker(signal: NodeJS.Signals): Promise<void> {
    const worker = this.#worker;
    if (!worker || worker.exitCode !== null || worker.signalCode !== null) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.kill(signal);
    await ended;
    this.#worker = undefined;
  }
}

export interface StackOptions {
  /** Another Temporal server than the shared one. */
  readonly server?: TestServer;
  /** The worker is left to the test to start, since it cannot become ready yet. */
  readonly isNotReady?: boolean;
  readonly timings?: Partial<Timings>;
  /** As on a local stack, where it is so. */
  readonly readsKeyFiles?: boolean;
  /** A rehearsed Kubernetes too. */
  readonly kubernetes?: true;
  /** The rehearsal is a process of its own (cloud-apart.ts), without a Kubernetes. */
  readonly isCloudApart?: true;
  /** Keys of the payload codec, for the worker and this stack's clients. */
  readonly codec?: CodecReferences;
  /** Text of a Bastion quota file. */
  readonly quota?: string;
  /** Text of a pool file. */
  readonly poolFile?: string;
  /** The pool they are of. The quota workflow of a pool is one per Temporal server: tests that share one name their own. */
  readonly pool?: string;
}

interface StackParts {
  readonly server: TestServer;
  readonly rehearsal: Rehearsal & Partial<CloudApart>;
  readonly client: Client;
  readonly jobs: JobClient;
  readonly store: StorePort;
  readonly owner: string;
  readonly taskQueue: string;
  readonly directory: string;
  readonly addresses: TakenOctet;
  readonly config: { readonly ssh: object };
  readonly healthPort: number;
  readonly metricsPort: number;
  readonly codecKey: string | undefined;
}

const FIRST_JOB_KEY_SECRET = 'first';

function jobKeySecretIn(directory: string, name: string): string {
  const file = join(directory, `job-key-secret-${name}`);
  if (!existsSync(file)) writeFileSync(file, newKeyLine(new Date(), name), { mode: 0o600 });
  return pathToFileURL(file).href;
}

/** A key of this run: `JOBCTL_TEST_CODEC_KEY=ID:BASE64 npx mocha ..` runs the same tests with encrypted payloads. */
function codecOfAllTests(): CodecReferences | undefined {
  return process.env['JOBCTL_TEST_CODEC_KEY'] ? { key: 'env:JOBCTL_TEST_CODEC_KEY' } : undefined;
}

/** What is tested is what an installation comes to, and the replay gate wants histories with the marker of each change. */
async function activateAllChanges(store: StorePort): Promise<void> {
  const active = { activeFrom: Date.now(), by: 'test' };
  const changes = Object.fromEntries(Object.keys(CHANGES).map((id) => [id, active]));
  if (Object.keys(changes).length > 0) await store.replace(changesObject, JSON.stringify({ v: 1, changes }));
}

/** Tests name their key by `env:NAME`. */
function keyInEnvironment(codec: CodecReferences | undefined): string | undefined {
  return codec?.key === undefined ? undefined : process.env[codec.key.replace(/^env:/, '')];
}

/** gRPC's code UNAVAILABLE. */
const UNAVAILABLE = 14;
const isServerGone = (error: unknown): boolean => isGrpcServiceError(error) && error.code === UNAVAILABLE;

const LISTING_PERIODS = { urgentMs: 300, quietMs: 2_000 };

/** All of jobctl's waits, shortened together; the server's own timers run as they are. */
const SHORT: Partial<Timings> = {
  createSettleMs: 3_000,
  notFoundApartMs: 300,
  heartbeatTimeoutMs: 5_000,
  claimTimeoutMs: 5_000,
  // What a pool hears in less time it was woken for (docs/adr/0151).
  reconcileMs: 3_600_000,
  poolLookMs: 2_000,
  sweepLookMs: 3_600_000,
  rebuildSettleMs: 300,
  rebuildBoundMs: 15_000,
  wedgedSliceMs: 1_000,
  zoneBackoffMs: 500,
  zoneBackoffMaxMs: 2_000,
};

/** The worker takes nothing but its file: not what a developer has set for a stack of his own. */
const withoutConfiguration = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(TEMPORAL_|JOBCTL_(?!TEST_))/.test(name)));

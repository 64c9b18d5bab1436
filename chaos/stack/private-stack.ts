import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DEV_NAMESPACE } from '../../cli/place/stack/context.js';
import { jobDataConverter } from '../../client/connect.js';
import { ensureOwner } from '../../client/installation.js';
import { JobClient } from '../../client/job-client.js';
import { ensureSearchAttributes } from '../../client/namespace.js';
import { openSecretStore } from '../../cloud/secrets/open-secret-store.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { programArguments } from '../../test/built.js';
import { writeKeyPair } from '../../test/end-to-end/key-pair.js';
import { takeOctet, type TakenOctet } from '../../rehearsal/test/subnet-octets.js';
import { until } from '../../test/until.js';
import type { Sources } from '../oracle/gather.js';
import { HOOK_KEY } from '../oracle/notices.js';
import { Gate } from './gate.js';
import { HOOK_SECRET } from './jobs.js';
import type { Part } from './part.js';
import {
  freePorts,
  GOOGLE_PROJECT,
  kubeconfigFile,
  LOOPBACK,
  POOL,
  type Ports,
  rehearsalPart,
  secretStoreOf,
  serverPart,
  withoutConfiguration,
  workerPart,
} from './parts.js';
import { PodsOfStack } from './pods.js';
import { Rack } from './rack/rack.js';
import { type SecondInstallation, startSecond } from './second-installation.js';
import type { Tier } from './tier.js';

export { GOOGLE_PROJECT, POOL };

const READY_MS = 120_000;

/** Additions to a stack of one worker and one installation. */
export interface StackExtras {
  /** A second worker, which reaches hosts only through a gate. */
  readonly secondWorker?: boolean;
  readonly secondInstallation?: boolean;
  /** Machines of the pool's own. */
  readonly rack?: boolean;
}

/** A Temporal server, a rehearsal with its store, and workers. Each is a separate process that nobody else uses. */
export class PrivateStack {
  readonly directory: string;
  readonly server: Part;
  readonly rehearsal: Part;
  /** Workers of the first installation. */
  readonly workers: readonly Part[];
  /** The gate of the second worker, if there is one. */
  readonly gate: Gate | undefined;
  readonly second: SecondInstallation | undefined;
  readonly rack: Rack | undefined;
  readonly client: Client;
  readonly jobs: JobClient;
  readonly sources: Sources;
  readonly pods: PodsOfStack;
  readonly restUrl: string;
  readonly taskQueue = 'jobctl';
  readonly #connection: Connection;
  readonly #addresses: TakenOctet;

  private constructor(
    parts: Pick<
      PrivateStack,
      | 'directory'
      | 'server'
      | 'rehearsal'
      | 'workers'
      | 'gate'
      | 'second'
      | 'rack'
      | 'client'
      | 'jobs'
      | 'sources'
      | 'restUrl'
    >,
    connection: Connection,
    addresses: TakenOctet,
  ) {
    this.directory = parts.directory;
    this.server = parts.server;
    this.rehearsal = parts.rehearsal;
    this.workers = parts.workers;
    this.gate = parts.gate;
    this.second = parts.second;
    this.rack = parts.rack;
    this.client = parts.client;
    this.jobs = parts.jobs;
    this.sources = parts.sources;
    this.pods = new PodsOfStack(kubeconfigFile(parts.directory));
    this.restUrl = parts.restUrl;
    this.#connection = connection;
    this.#addresses = addresses;
  }

  static async start(tier: Tier, seed: number, quota: string, extras: StackExtras = {}): Promise<PrivateStack> {
    const directory = mkdtempSync(join(tmpdir(), `jobctl-chaos-${seed}-`));
    const addresses = await takeOctet();
    const { octet } = addresses;
    const ports = await freePorts();
    writeFileSync(join(directory, 'quota.toml'), quota);
    const server = await serverPart(directory, ports);
    const rehearsal = rehearsalPart(directory, ports, { tier, octet, seed });
    server.spawn();
    rehearsal.spawn();
    await allReady([server, rehearsal]);
    const connection = await Connection.connect({ address: `${LOOPBACK}:${ports.temporal}` });
    await ensureSearchAttributes(connection, DEV_NAMESPACE);
    const store = { endpoint: `http://${LOOPBACK}:${ports.store}`, bucket: `chaos-${seed}`, projectId: GOOGLE_PROJECT };
    await ensureBucket(store);
    await ensureOwner(createStore(store));
    await openSecretStore(secretStoreOf(directory)).put(HOOK_SECRET, HOOK_KEY);
    const gate = extras.secondWorker === true ? new Gate(directory) : undefined;
    const keys = writeKeyPair(directory);
    const rack =
      extras.rack === true ? await Rack.start(directory, readFileSync(keys.publicKeyFile, 'utf8')) : undefined;
    const poolFile = join(directory, 'pool.toml');
    writeFileSync(poolFile, rack?.poolFile ?? '');
    const sources = sourcesOf(directory, ports, store, rack);
    const second =
      extras.secondInstallation === true
        ? await startSecond({ directory, ports, tier, sources }, connection)
        : undefined;
    const place = {
      ...{ namespace: DEV_NAMESPACE, bucket: store.bucket, cloudHost: LOOPBACK, keys },
      ...{ quotaFile: join(directory, 'quota.toml'), poolFile, kubeconfig: kubeconfigFile(directory) },
    };
    const workers = [workerPart(directory, ports, tier, { ...place, name: 'worker', healthPort: ports.health })];
    if (gate !== undefined) {
      const { proxyCommand } = gate;
      const name = 'second worker';
      workers.push(workerPart(directory, ports, tier, { ...place, name, healthPort: ports.health2, proxyCommand }));
    }
    const allWorkers = [...workers, ...(second === undefined ? [] : [second.worker])];
    for (const worker of allWorkers) worker.spawn();
    await allReady(allWorkers);
    const client = new Client({ connection, namespace: DEV_NAMESPACE, dataConverter: await jobDataConverter({}) });
    const jobs = await JobClient.connect({ client });
    const restUrl = `http://${LOOPBACK}:${ports.rest}`;
    const parts = { directory, server, rehearsal, workers, gate, second, rack, client, jobs, sources, restUrl };
    return new PrivateStack(parts, connection, addresses);
  }

  get parts(): readonly Part[] {
    return [this.server, this.rehearsal, ...this.workers, ...(this.second === undefined ? [] : [this.second.worker])];
  }

  writeQuota(text: string): void {
    writeFileSync(join(this.directory, 'quota.toml'), text);
  }

  /** Starts the parts that are down, in order, until each is ready. */
  async allUp(): Promise<void> {
    for (const part of this.parts)
      await until(
        `the ${part.name} is up`,
        () => {
          part.spawn();
          return part.isReady();
        },
        READY_MS,
      );
  }

  /** @param keep whether the folder stays, for a person who looks at a failure */
  async stop(keep: boolean): Promise<void> {
    await this.#connection.close();
    const workers = this.parts.filter((part) => part !== this.server && part !== this.rehearsal);
    await Promise.all(workers.map((worker) => worker.end('SIGTERM')));
    this.gate?.end();
    await this.rack?.end();
    await Promise.all([this.server.end('SIGTERM'), this.rehearsal.end('SIGTERM')]);
    this.#addresses.release();
    if (!keep) rmSync(this.directory, { recursive: true, force: true, maxRetries: 3 });
  }
}

function sourcesOf(
  directory: string,
  ports: Ports,
  { endpoint, bucket }: { readonly endpoint: string; readonly bucket: string },
  rack: Rack | undefined,
): Sources {
  const env = {
    ...withoutConfiguration(),
    JOBCTL_HOME: join(directory, 'home'),
    TEMPORAL_ADDRESS: `${LOOPBACK}:${ports.temporal}`,
    JOBCTL_BUCKET: bucket,
    JOBCTL_STORE_ENDPOINT: endpoint,
  };
  return {
    admin: `http://${LOOPBACK}:${ports.admin}`,
    store: endpoint,
    bucket,
    cloudDirectory: join(directory, 'rehearsal'),
    jobctl: { command: [process.execPath, ...programArguments('cli/main')], env },
    pool: POOL,
    machines: rack?.machines ?? [],
  };
}

async function allReady(parts: readonly Part[]): Promise<void> {
  for (const part of parts) await until(`the ${part.name} is ready`, () => part.isReady(), READY_MS);
}

import { randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { openReservations, type Reservations } from '../../client/cli/dev/loopback.js';
import { resolveTemporalCli } from '../../client/cli/dev/temporal-server/resolve.js';
import { answersCalls, DEV_NAMESPACE, devServerArguments } from '../../client/cli/dev/temporal-server/start-dev.js';
import { jobDataConverter } from '../../client/connect.js';
import { ensureOwner } from '../../client/installation.js';
import { JobClient } from '../../client/job-client.js';
import { ensureSearchAttributes } from '../../client/search-attributes.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { programArguments } from '../../test/built.js';
import { writeKeyPair } from '../../test/end-to-end/key-pair.js';
import { freePort } from '../../test/temporal-server.js';
import { until } from '../../test/until.js';
import type { Sources } from '../oracle/gather.js';
import { Part } from './part.js';
import { spanOf, type Tier, timingsOf } from './tier.js';

export const POOL = 'default';
export const GOOGLE_PROJECT = 'rehearsal';
const READY_MS = 120_000;
const LOOPBACK = '127.0.0.1';

interface Ports {
  readonly temporal: number;
  readonly ui: number;
  readonly tpu: number;
  readonly rest: number;
  readonly store: number;
  readonly admin: number;
  readonly health: number;
}

/** Server, rehearsal with its store, and worker, each a process of its own, used by nobody else. */
export class PrivateStack {
  readonly directory: string;
  readonly server: Part;
  readonly rehearsal: Part;
  readonly worker: Part;
  readonly client: Client;
  readonly jobs: JobClient;
  readonly sources: Sources;
  readonly restUrl: string;
  readonly taskQueue = 'jobctl';
  readonly #connection: Connection;
  readonly #reservations: Reservations;

  private constructor(
    parts: Pick<
      PrivateStack,
      'directory' | 'server' | 'rehearsal' | 'worker' | 'client' | 'jobs' | 'sources' | 'restUrl'
    >,
    connection: Connection,
    reservations: Reservations,
  ) {
    this.directory = parts.directory;
    this.server = parts.server;
    this.rehearsal = parts.rehearsal;
    this.worker = parts.worker;
    this.client = parts.client;
    this.jobs = parts.jobs;
    this.sources = parts.sources;
    this.restUrl = parts.restUrl;
    this.#connection = connection;
    this.#reservations = reservations;
  }

  static async start(tier: Tier, seed: number, quota: string): Promise<PrivateStack> {
    const directory = mkdtempSync(join(tmpdir(), `jobctl-chaos-${seed}-`));
    const reservations = openReservations();
    const octets = Array.from({ length: 44 }, (_, index) => 20 + ((index + randomInt(44)) % 44));
    const octet = await reservations.octet(octets, async () => true);
    if (octet === undefined) throw new Error('127.20.0.0 to 127.63.0.0: each has a stack of a test');
    const ports = await freePorts();
    writeFileSync(join(directory, 'quota.toml'), quota);
    writeFileSync(join(directory, 'settings.json'), JSON.stringify(settingsOf(tier)));
    const server = await serverPart(directory, ports);
    const rehearsal = rehearsalPart(directory, ports, { octet, seed });
    server.spawn();
    rehearsal.spawn();
    await allReady([server, rehearsal]);
    const connection = await Connection.connect({ address: `${LOOPBACK}:${ports.temporal}` });
    await ensureSearchAttributes(connection, DEV_NAMESPACE);
    const bucket = `chaos-${seed}`;
    const endpoint = `http://${LOOPBACK}:${ports.store}`;
    const store = { endpoint, bucket, projectId: GOOGLE_PROJECT };
    await ensureBucket(store);
    await ensureOwner(createStore(store));
    const worker = workerPart(directory, ports, { tier, bucket });
    worker.spawn();
    await allReady([worker]);
    const client = new Client({ connection, namespace: DEV_NAMESPACE, dataConverter: await jobDataConverter({}) });
    const jobs = await JobClient.connect({ client });
    const env = {
      ...withoutConfiguration(),
      JOBCTL_HOME: join(directory, 'home'),
      TEMPORAL_ADDRESS: `${LOOPBACK}:${ports.temporal}`,
      JOBCTL_BUCKET: bucket,
      JOBCTL_STORE_ENDPOINT: endpoint,
    };
    const sources: Sources = {
      admin: `http://${LOOPBACK}:${ports.admin}`,
      store: endpoint,
      bucket,
      cloudDirectory: join(directory, 'rehearsal'),
      jobctl: { command: [process.execPath, ...programArguments('client/cli/main')], env },
      pool: POOL,
    };
    const restUrl = `http://${LOOPBACK}:${ports.rest}`;
    const parts = { directory, server, rehearsal, worker, client, jobs, sources, restUrl };
    return new PrivateStack(parts, connection, reservations);
  }

  get parts(): readonly Part[] {
    return [this.server, this.rehearsal, this.worker];
  }

  writeQuota(text: string): void {
    writeFileSync(join(this.directory, 'quota.toml'), text);
  }

  /** Whatever is down comes up, in order. */
  async allUp(): Promise<void> {
    for (const part of this.parts) part.spawn();
    await allReady(this.parts);
  }

  /** @param keep the folder, for whoever looks at a failure */
  async stop(keep: boolean): Promise<void> {
    await this.#connection.close();
    await this.worker.end('SIGTERM');
    await Promise.all([this.server.end('SIGTERM'), this.rehearsal.end('SIGTERM')]);
    this.#reservations.release();
    if (!keep) rmSync(this.directory, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function freePorts(): Promise<Ports> {
  const names = ['temporal', 'ui', 'tpu', 'rest', 'store', 'admin', 'health'] as const;
  const entries = await Promise.all(names.map(async (name) => [name, await freePort()] as const));
  return Object.fromEntries(entries) as unknown as Ports;
}

async function allReady(parts: readonly Part[]): Promise<void> {
  for (const part of parts) await until(`the ${part.name} is ready`, () => part.isReady(), READY_MS);
}

function settingsOf(tier: Tier): object {
  const upTo = (span: 'queue' | 'provisioning' | 'deleting'): object => ({
    min: Math.round(spanOf(tier, span) / 10),
    max: Math.round(spanOf(tier, span)),
  });
  const notice = Math.round(spanOf(tier, 'notice'));
  return {
    queueMs: upTo('queue'),
    provisioningMs: upTo('provisioning'),
    deletingMs: upTo('deleting'),
    noticeMs: notice,
    guestNoticeMs: Math.round(notice / 2),
  };
}

async function serverPart(directory: string, ports: Ports): Promise<Part> {
  const { path } = await resolveTemporalCli({ onProgress: () => undefined });
  const databaseFile = join(directory, 'temporal.db');
  return new Part({
    name: 'server',
    command: [path, ...devServerArguments({ port: ports.temporal, uiPort: ports.ui, databaseFile })],
    logFile: join(directory, 'server.log'),
    env: withoutConfiguration(),
    isReady: () => answersCalls(`${LOOPBACK}:${ports.temporal}`, DEV_NAMESPACE),
  });
}

function rehearsalPart(
  directory: string,
  ports: Ports,
  cloud: { readonly octet: number; readonly seed: number },
): Part {
  const flags = {
    'state-dir': join(directory, 'rehearsal'),
    'tpu-port': ports.tpu,
    'rest-port': ports.rest,
    'store-port': ports.store,
    'admin-port': ports.admin,
    'ssh-port': SSH_PORT,
    'subnet-octet': cloud.octet,
    seed: cloud.seed,
    settings: join(directory, 'settings.json'),
  };
  mkdirSync(flags['state-dir'], { recursive: true });
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return new Part({
    name: 'rehearsal',
    command: [process.execPath, ...programArguments('rehearsal/main'), ...args],
    logFile: join(directory, 'rehearsal.log'),
    env: withoutConfiguration(),
    isReady: async () => (await fetch(`http://${LOOPBACK}:${ports.admin}/admin/clock`)).ok,
  });
}

const SSH_PORT = 2222;

function workerPart(
  directory: string,
  ports: Ports,
  { tier, bucket }: { readonly tier: Tier; readonly bucket: string },
): Part {
  const config = {
    temporal: { address: `${LOOPBACK}:${ports.temporal}`, namespace: DEV_NAMESPACE },
    store: { endpoint: `http://${LOOPBACK}:${ports.store}`, bucket },
    cloud: {
      tpuEndpoint: `${LOOPBACK}:${ports.tpu}`,
      insecure: true,
      callsPerSecond: 10 * tier.factor,
      listingPeriods: { urgentMs: Math.round(2_000 / tier.factor), quietMs: Math.round(10_000 / tier.factor) },
    },
    ssh: { port: SSH_PORT, ...writeKeyPair(directory) },
    googleProject: GOOGLE_PROJECT,
    secretStore: pathToFileURL(join(directory, 'secrets')).href,
    label: 'REHEARSAL',
    pool: POOL,
    quotaFile: join(directory, 'quota.toml'),
    healthPort: ports.health,
    timings: timingsOf(tier),
  };
  const file = join(directory, 'worker.json');
  writeFileSync(file, JSON.stringify(config));
  return new Part({
    name: 'worker',
    command: [process.execPath, ...programArguments('client/cli/main'), 'worker', '--config', file],
    logFile: join(directory, 'worker.log'),
    env: withoutConfiguration(),
    isReady: async () => (await fetch(`http://${LOOPBACK}:${ports.health}/ready`)).ok,
  });
}

/** Its own files say everything: not what a developer has set for a stack of his own. */
const withoutConfiguration = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TEMPORAL_|JOBCTL_(?!TEMPORAL_CLI))/u.test(name)),
  );

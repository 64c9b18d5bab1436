import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { resolveTemporalCli, answersCalls, devServerArguments } from '../../cli/local/dev/temporal-server/resolve.js';
import { DEV_NAMESPACE } from '../../cli/place/stack/context.js';
import { programArguments } from '../../test/built.js';
import { freePort } from '../../test/temporal-server.js';
import { Part } from './part.js';
import { spanOf, type Tier, timingsOf } from './tier.js';

export const POOL = 'default';
export const GOOGLE_PROJECT = 'rehearsal';
export const LOOPBACK = '127.0.0.1';
const SSH_PORT = 2222;

export interface Ports {
  readonly temporal: number;
  readonly ui: number;
  readonly tpu: number;
  readonly rest: number;
  readonly store: number;
  readonly admin: number;
  readonly kubernetes: number;
  /** Ports for the health of workers: the first, the second, and the second installation's. */
  readonly health: number;
  readonly health2: number;
  readonly health3: number;
}

export async function freePorts(): Promise<Ports> {
  const cloud = ['tpu', 'rest', 'store', 'admin', 'kubernetes'] as const;
  const names = ['temporal', 'ui', ...cloud, 'health', 'health2', 'health3'] as const;
  const entries = await Promise.all(names.map(async (name) => [name, await freePort()] as const));
  return Object.fromEntries(entries) as unknown as Ports;
}

export async function serverPart(directory: string, ports: Ports): Promise<Part> {
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

export function rehearsalPart(
  directory: string,
  ports: Ports,
  { tier, octet, seed }: { readonly tier: Tier; readonly octet: number; readonly seed: number },
): Part {
  const flags = {
    'state-dir': join(directory, 'rehearsal'),
    'tpu-port': ports.tpu,
    'rest-port': ports.rest,
    'store-port': ports.store,
    'admin-port': ports.admin,
    callers: 'login',
    'kubernetes-port': ports.kubernetes,
    'ssh-port': SSH_PORT,
    'subnet-octet': octet,
    seed,
    settings: join(directory, 'settings.json'),
  };
  writeFileSync(flags.settings, JSON.stringify(settingsOf(tier)));
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

/** The kubeconfig that the rehearsal writes. */
export const kubeconfigFile = (directory: string): string => join(directory, 'rehearsal', 'kubernetes', 'kubeconfig');

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

export interface WorkerPlace {
  /** Name of the part, and of its files in the folder. */
  readonly name: string;
  readonly namespace: string;
  readonly bucket: string;
  readonly healthPort: number;
  /** The name by which the worker dials the cloud. */
  readonly cloudHost: string;
  /** Absent: the worker runs no pods. */
  readonly kubeconfig?: string;
  /** Absent: hosts are dialled directly. */
  readonly proxyCommand?: string;
  /** Absent: the pool has no limits. */
  readonly quotaFile?: string;
  /** Absent: the pool has no machines of its own. */
  readonly poolFile?: string;
  readonly keys: { readonly privateKeyFile: string; readonly publicKeyFile: string };
}

export function workerPart(directory: string, ports: Ports, tier: Tier, place: WorkerPlace): Part {
  const { name, namespace, bucket, healthPort, cloudHost, kubeconfig, proxyCommand, quotaFile, poolFile, keys } = place;
  const listingPeriods = { urgentMs: Math.round(2_000 / tier.factor), quietMs: Math.round(10_000 / tier.factor) };
  const config = {
    temporal: { address: `${LOOPBACK}:${ports.temporal}`, namespace },
    store: { endpoint: `http://${LOOPBACK}:${ports.store}`, bucket },
    cloud: {
      tpuEndpoint: `${cloudHost}:${ports.tpu}`,
      tpuRestEndpoint: `http://${cloudHost}:${ports.rest}`,
      insecure: true,
      callsPerSecond: 10 * tier.factor,
      listingPeriods,
    },
    ...(kubeconfig !== undefined && { kubernetes: { kubeconfig, listingPeriods } }),
    ssh: { port: SSH_PORT, ...keys, ...(proxyCommand !== undefined && { proxyCommand }) },
    googleProject: GOOGLE_PROJECT,
    secretStore: secretStoreOf(directory),
    notify: { networks: ['127.0.0.0/8'] },
    label: 'REHEARSAL',
    pool: POOL,
    ...(quotaFile !== undefined && { quotaFile }),
    ...(poolFile !== undefined && { poolFile }),
    healthPort,
    timings: timingsOf(tier),
  };
  const file = join(directory, `${name.replaceAll(' ', '-')}.json`);
  writeFileSync(file, JSON.stringify(config));
  return new Part({
    name,
    command: [process.execPath, ...programArguments('cli/main'), 'worker', '--config', file],
    logFile: file.replace(/json$/u, 'log'),
    env: withoutConfiguration(),
    isReady: async () => (await fetch(`http://${LOOPBACK}:${healthPort}/ready`)).ok,
  });
}

/** The store of secrets of the installation in that folder. */
export const secretStoreOf = (directory: string): string => pathToFileURL(join(directory, 'secrets')).href;

/** Environment without a developer's own settings of jobctl and Temporal: a part is configured by its files alone. */
export const withoutConfiguration = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TEMPORAL_|JOBCTL_(?!TEMPORAL_CLI))/u.test(name)),
  );

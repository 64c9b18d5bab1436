import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { resolveTemporalCli } from '../../client/cli/dev/temporal-server/resolve.js';
import { answersCalls, DEV_NAMESPACE, devServerArguments } from '../../client/cli/dev/temporal-server/start-dev.js';
import { programArguments } from '../../test/built.js';
import { writeKeyPair } from '../../test/end-to-end/key-pair.js';
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
  readonly health: number;
}

export async function freePorts(): Promise<Ports> {
  const names = ['temporal', 'ui', 'tpu', 'rest', 'store', 'admin', 'health'] as const;
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

export function workerPart(
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
export const withoutConfiguration = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(TEMPORAL_|JOBCTL_(?!TEMPORAL_CLI))/u.test(name)),
  );

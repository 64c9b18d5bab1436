import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { stackHome } from '../../cli/terminal/home.js';
import { readStackRecord } from '../../cli/place/stack/stack-record.js';
import { JobClient } from '../../client/index.js';
import { type PostgresTemporal, startPostgresTemporal } from '../../test/long/postgres/temporal-on-postgres.js';
import { JOBCTL } from '../start/local-stack.js';
import type { Scenario } from './arguments.js';

/** A local stack as users start it, with clients. */
export interface LoadStack {
  readonly env: NodeJS.ProcessEnv;
  readonly jobs: JobClient;
  readonly temporal: Client;
  readonly workerPid: number;
  /** Undefined if the server is several processes. */
  readonly serverPid: number | undefined;
}

/** Limits the pool `default`, which one v5litepod-8 fills. All other pools are unlimited. */
const QUOTA_FILE = `[toml-schema]
version = "1"
[[total_resources]]
v5litepod = 8
[project_membership]
bench = [".*"]
[project_resources.bench]
v5litepod = 1.0
`;

/** Runs `work` beside a private stack. Its processes and files are removed afterwards, also on Ctrl-C. */
export async function withLoadStack<T>(server: Scenario['server'], work: (stack: LoadStack) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'jobctl-bench-load-'));
  const env = { ...process.env, JOBCTL_HOME: join(directory, 'home') };
  const jobctl = (...args: string[]) => promisify(execFile)(process.execPath, [JOBCTL, ...args], { env });
  // PostgreSQL's user must be able to pass through it.
  chmodSync(directory, 0o711);
  let postgres: PostgresTemporal | undefined;
  const leave = async (): Promise<void> => {
    await jobctl('dev', 'down');
    await postgres?.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  const onInterrupt = (): void => void leave().finally(() => process.exit(130));
  process.once('SIGINT', onInterrupt);
  try {
    const quotaFile = join(directory, 'quota.toml');
    writeFileSync(quotaFile, QUOTA_FILE);
    if (server === 'postgresql') postgres = await startPostgresTemporal({ directory: join(directory, 'temporal') });
    const where = postgres === undefined ? [] : ['--temporal-address', postgres.address];
    await jobctl('dev', 'up', '--quota', quotaFile, ...where);
    return await withClients(env, work);
  } finally {
    process.removeListener('SIGINT', onInterrupt);
    await leave();
  }
}

async function withClients<T>(env: NodeJS.ProcessEnv, work: (stack: LoadStack) => Promise<T>): Promise<T> {
  const home = stackHome(env);
  const { temporal } = JSON.parse(readFileSync(home.contextFile, 'utf8')) as {
    readonly temporal: { readonly address: string; readonly namespace: string };
  };
  const parts = readStackRecord(home)?.parts;
  const workerPid = parts?.worker?.identity.pid;
  if (workerPid === undefined) throw new Error(`${home.recordFile}: has no worker after \`jobctl dev up\``);
  const connection = await Connection.connect({ address: temporal.address });
  try {
    const client = new Client({ connection, namespace: temporal.namespace });
    const jobs = await JobClient.connect({ client });
    return await work({ env, jobs, temporal: client, workerPid, serverPid: parts?.server?.identity.pid });
  } finally {
    await connection.close();
  }
}

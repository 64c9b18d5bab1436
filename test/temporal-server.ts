import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { openReservations } from '../cli/local/dev/addresses.js';
import {
  resolveTemporalCli,
  answersCalls,
  devServerArguments,
  type DevServerOptions,
} from '../cli/local/dev/temporal-server/resolve.js';
import { DEV_NAMESPACE } from '../cli/place/stack/context.js';
import { ensureSearchAttributes } from '../client/namespace.js';
import { slowness } from './until.js';

/** A real Temporal dev server with jobctl's search attributes. */
export interface TestServer {
  readonly address: string;
  readonly namespace: string;
  readonly connection: Connection;
  readonly uiUrl: string;
  /** Of the server's process; for tests that kill it. Undefined where JOBCTL_TEST_TEMPORAL_ADDRESS names the server. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;
const MOST_OUTPUT = 4_000;
let shared: Promise<TestServer> | undefined;

/**
 * The one server of this mocha process, started by the first call through jobctl's own resolver and ended with the process. Call it in a `before` with `this.timeout(TEMPORAL_START_MS)`. It rejects, never skips, when there is no server.
 */
export function testServer(): Promise<TestServer> {
  shared ??= existingServer() ?? startTestServer();
  return shared;
}

/** The first call may have to build the CLI. */
export const TEMPORAL_START_MS = 10 * 60_000;

/**
 * A server of one's own, to kill or to start again on its database file; without one its data end with it. They are in a file
 * all the same: a database in memory is lost with its one connection when a call is cancelled within a transaction, and the server
 * then knows neither its namespace nor its workflows (github.com/temporalio/temporal/pull/10427 and issue 3784, read 2026-11-30).
 */
export async function startTestServer(options: Partial<DevServerOptions> = {}): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-temporal-'));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  const cli = await resolveTemporalCli({ onProgress: () => undefined });
  const port = options.port ?? (await freePort());
  const uiPort = options.uiPort ?? (await freePort());
  const child = spawn(
    cli.path,
    devServerArguments({ databaseFile: join(folder, 'temporal.db'), ...options, port, uiPort }),
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const killOnExit = (): void => {
    child.kill('SIGKILL');
    removeFolder();
  };
  process.once('exit', killOnExit);
  const address = `127.0.0.1:${port}`;
  await untilAnswering(child, address);
  const connection = await Connection.connect({ address });
  await ensureSearchAttributes(connection, DEV_NAMESPACE);
  const stop = async (): Promise<void> => {
    process.removeListener('exit', killOnExit);
    await connection.close();
    await ended(child);
    removeFolder();
  };
  return { address, namespace: DEV_NAMESPACE, connection, uiUrl: `http://127.0.0.1:${uiPort}`, pid: child.pid, stop };
}

/** Any Temporal that runs already, such as one on PostgreSQL. */
function existingServer(): Promise<TestServer> | undefined {
  const address = process.env['JOBCTL_TEST_TEMPORAL_ADDRESS'];
  return address === undefined || address === '' ? undefined : connectTo(address);
}

async function connectTo(address: string): Promise<TestServer> {
  const connection = await Connection.connect({ address });
  await ensureSearchAttributes(connection, DEV_NAMESPACE);
  return { address, namespace: DEV_NAMESPACE, connection, uiUrl: '', pid: undefined, stop: () => connection.close() };
}

async function untilAnswering(child: ChildProcess, address: string): Promise<void> {
  // The cause stands before the stacks of a panic.
  let output = '';
  const keep = (chunk: Buffer): void => void (output = (output + chunk.toString()).slice(0, MOST_OUTPUT));
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const deadline = Date.now() + START_TIMEOUT_MS * slowness();
  while (!(await answersCalls(address, DEV_NAMESPACE))) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`Temporal dev server at ${address} did not come up:\n${output}`);
    }
    await sleep(50);
  }
  // A test process may end while its server, with nobody waiting for it, still runs: `exit` kills it.
  child.unref();
  for (const pipe of [child.stdout, child.stderr]) (pipe as unknown as { unref(): void } | null)?.unref();
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.ref();
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
  await exit;
  clearTimeout(timer);
}

/**
 * A port on which nothing listens, for a process that is started with it; no other call gets it while this process lives, here or
 * in a test process beside it. Not one of those that the kernel gives to outgoing connections (32768 up on Linux): of the
 * thousands of a test run one may have it before the process listens.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, FIRST_OUTGOING_PORT);
    if (await taken.exactPort(port)) return port;
  }
}

const FIRST_PORT = 20_000;
const FIRST_OUTGOING_PORT = 32_768;
const taken = openReservations();
process.once('exit', () => taken.release());

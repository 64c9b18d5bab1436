import { once } from 'node:events';
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { DevContext } from '../../cli/place/stack/context.js';
import { devDown } from '../../cli/local/dev/down.js';
import { devStatus } from '../../cli/local/dev/status.js';
import type { DevStatus } from '../../cli/local/dev/status.js';
import type { PartName, StackRecord } from '../../cli/place/stack/stack-record.js';
import type * as Up from '../../cli/local/dev/up.js';
import { createStore } from '../../cloud/store/gcs.js';
import { ownerObject } from '../../domain/store-layout.js';
import { load } from '../built.js';

/** Its parts are what it is: built, or sources. */
const { devUp } = await load<typeof Up>('cli/local/dev/up');

/** A stack in a state folder of its own. */
export class Stack {
  readonly root = mkdtempSync(join(tmpdir(), 'jobctl-stack-'));
  readonly said: string[] = [];
  readonly env: Record<string, string | undefined>;

  constructor(more: Record<string, string> = {}) {
    this.env = { ...process.env, JOBCTL_HOME: join(this.root, 'home'), ...more };
  }

  up(options: Up.DevUpOptions = {}): Promise<DevContext> {
    return devUp({ env: this.env, onProgress: (line) => this.said.push(line), ...options });
  }
  down(purge = false): Promise<void> {
    return devDown({ env: this.env, purge });
  }
  status(): Promise<DevStatus> {
    return devStatus({ env: this.env });
  }
  file(name: string): string {
    return join(this.root, 'home', name);
  }
  record(): StackRecord {
    return JSON.parse(readFileSync(this.file('stack.json'), 'utf8')) as StackRecord;
  }
  pid(name: PartName): number {
    return this.record().parts[name]?.identity.pid ?? assert.fail(`${name} is not recorded`);
  }
  kill(...names: readonly PartName[]): void {
    for (const name of names) process.kill(this.pid(name), 'SIGKILL');
  }
  /** Processes of any kind that belong to this stack: its folder is in their command line. */
  processes(): readonly string[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map((pid) => commandLine(pid))
      .filter((line) => line.includes(this.root));
  }
  async remove(): Promise<void> {
    await this.down(true);
    rmSync(this.root, { recursive: true });
  }
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

export async function listenSomewhere(port = 0): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

export async function ownerOf({ store }: DevContext): Promise<string> {
  return (await createStore(store).read(ownerObject))?.toString('utf8') ?? '';
}

export const keyOf = ({ ssh }: DevContext): readonly string[] =>
  [ssh.privateKeyFile, new URL(ssh.jobKeys?.current ?? '')].map((file) => readFileSync(file, 'utf8'));

async function withClient<Result>({ temporal }: DevContext, use: (client: Client) => Promise<Result>): Promise<Result> {
  const connection = await Connection.connect({ address: temporal.address });
  try {
    return await use(new Client({ connection, namespace: temporal.namespace }));
  } finally {
    await connection.close();
  }
}

export const startWorkflow = (context: DevContext, workflowId: string): Promise<unknown> =>
  withClient(context, (client) => client.workflow.start('none', { workflowId, taskQueue: 'nobody-polls' }));

export const statusOfWorkflow = (context: DevContext, workflowId: string): Promise<string> =>
  withClient(context, async (client) => (await client.workflow.getHandle(workflowId).describe()).status.name);

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { janitorScheduleId } from '../../contract/janitor.js';
import { programArguments } from '../built.js';
import { startRack } from '../hosts/rack.js';
import { type KeyPair } from '../hosts/ssh-host.js';
import { everybodysQuota } from '../quota/quota-file-text.js';
import { freePort, type TestServer, testServer } from '../temporal-server.js';
import { until } from '../until.js';
import { JobctlUser } from './jobctl-process.js';
import { writeKeyPair } from './key-pair.js';

/** The machines of its pool. */
interface OwnMachines {
  /** `[[machines]]` of the pool file. */
  readonly poolFile: string;
  readonly units: Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

async function twoMachines(key: KeyPair): Promise<OwnMachines> {
  const rack = await startRack(2, key);
  const machines = rack.inventory.map(
    ({ name, address, port, user, hostKey = '' }) =>
      `[[machines]]\nname = "${name}"\naddress = "${address}:${port}"\nuser = "${user}"\nhost_key = "${hostKey}"\n`,
  );
  return { poolFile: machines.join('\n'), units: { machine: 2 }, stop: rack.stop };
}

/** Temporal, one worker, a rack behind sshd, and a store: set up as an operator does it, and nothing of Google's anywhere. */
export class StackWithoutGoogle {
  readonly user: JobctlUser;
  readonly pool: string;
  readonly #machines: OwnMachines;
  readonly #server: TestServer;
  readonly #folder: string;
  readonly #taskQueue: string;
  readonly #environment: Readonly<Record<string, string>>;
  #worker: ChildProcess | undefined;

  private constructor(
    parts: { readonly server: TestServer; readonly machines: OwnMachines; readonly folder: string },
    environment: Readonly<Record<string, string>>,
  ) {
    const name = `apart-${randomBytes(4).toString('hex')}`;
    this.#server = parts.server;
    this.#folder = parts.folder;
    this.#machines = parts.machines;
    [this.#taskQueue, this.pool] = [name, name];
    this.#environment = {
      ...environment,
      TEMPORAL_ADDRESS: parts.server.address,
      TEMPORAL_NAMESPACE: parts.server.namespace,
      JOBCTL_TASK_QUEUE: name,
      JOBCTL_POOL: name,
      // Whoever asks Google after all has no login.
      GOOGLE_APPLICATION_CREDENTIALS: join(parts.folder, 'no-such-login.json'),
      LANG: 'C.UTF-8',
    };
    this.user = new JobctlUser(this.#environment);
  }

  /** @param environment JOBCTL_BUCKET, and whatever its store needs */
  static async start(
    environment: Readonly<Record<string, string>>,
    machinesOf: (key: KeyPair) => Promise<OwnMachines> = twoMachines,
  ): Promise<StackWithoutGoogle> {
    const folder = mkdtempSync(join(tmpdir(), 'jobctl-apart-'));
    const key = writeKeyPair(folder);
    const pair = { private: readFileSync(key.privateKeyFile, 'utf8'), public: readFileSync(key.publicKeyFile, 'utf8') };
    const stack = new StackWithoutGoogle(
      { server: await testServer(), machines: await machinesOf(pair), folder },
      environment,
    );
    const setUp = await stack.user.run('setup', 'server');
    if (setUp.code !== 0) throw new Error(setUp.stdout + setUp.stderr);
    await stack.#startWorker(key);
    return stack;
  }

  async #startWorker(ssh: object): Promise<void> {
    const at = (name: string): string => join(this.#folder, name);
    const healthPort = await freePort();
    writeFileSync(at('pool.toml'), this.#machines.poolFile);
    writeFileSync(at('quota.toml'), everybodysQuota(this.#machines.units));
    const config = { ssh, pool: this.pool, quotaFile: at('quota.toml'), poolFile: at('pool.toml'), healthPort };
    writeFileSync(at('worker.json'), JSON.stringify(config));
    const log = openSync(at('worker.log'), 'a');
    const args = [...programArguments('cli/main'), 'worker', '--config', at('worker.json')];
    const env = { ...process.env, ...this.#environment };
    this.#worker = spawn(process.execPath, args, { env, stdio: ['ignore', log, log] });
    const ready = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${healthPort}/ready`)).status === 200;
    await until('the worker is ready', ready, 60_000).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.tail()}`);
    });
  }

  /** What the worker wrote last. */
  tail(): string {
    return readFileSync(join(this.#folder, 'worker.log'), 'utf8').split('\n').slice(-60).join('\n');
  }

  async stop(): Promise<void> {
    await this.user.leave();
    const worker = this.#worker;
    if (worker?.exitCode === null && worker.signalCode === null) {
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      worker.kill('SIGTERM');
      await ended;
    }
    const { connection, namespace } = this.#server;
    const client = new Client({ connection, namespace });
    const query = `TaskQueue = '${this.#taskQueue}' AND ExecutionStatus = 'Running'`;
    await client.schedule.getHandle(janitorScheduleId(this.#taskQueue)).delete();
    for await (const { workflowId } of client.workflow.list({ query }))
      await client.workflow.getHandle(workflowId).terminate('its test has ended');
    await this.#machines.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

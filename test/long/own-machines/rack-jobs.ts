import { readFileSync } from 'node:fs';
import type { OwnMachine } from '../../../domain/machine-kinds/machines/words.js';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { TestStack } from '../../end-to-end/test-stack.js';
import { type Rack, startRack } from '../../hosts/rack.js';
import { everybodysQuota } from '../../quota/quota-file-text.js';
import type { TestServer } from '../../temporal-server.js';
import { until } from '../../until.js';

/** A step of a job. Measurements may run beside these tests. */
const STEP_MS = 120_000;

/** A stack whose pool has three machines of its own, behind sshd. */
export class RackJobs {
  readonly rack: Rack;
  readonly stack: TestStack;
  readonly user: JobctlUser;
  readonly pool: string;

  private constructor(rack: Rack, stack: TestStack, pool: string) {
    this.rack = rack;
    this.stack = stack;
    this.pool = pool;
    this.user = JobctlUser.of(stack, { USER: 'operator' });
  }

  static async start(pool: string, server?: TestServer): Promise<RackJobs> {
    const stack = await TestStack.start({
      pool,
      ...(server && { server }),
      quota: everybodysQuota({ machine: 3 }),
      poolFile: '[quota]\n',
      isNotReady: true,
    });
    const keys = {
      private: readFileSync(stack.privateKeyFile, 'utf8'),
      public: readFileSync(`${stack.privateKeyFile}.pub`, 'utf8'),
    };
    const rack = await startRack(3, keys);
    stack.writePoolFile(poolFileOf(rack.inventory));
    await stack.startWorker();
    return new RackJobs(rack, stack, pool);
  }

  async stop(): Promise<void> {
    await this.user.leave();
    await this.stack.stop();
    await this.rack.stop();
  }

  /** @param command a script for bash */
  submit({ command, ...file }: Readonly<Record<string, unknown>>): Promise<string> {
    return this.stack.jobs
      .submit({ job: { pool: this.pool, ...file, command: { run: command } }, user: 'ann' })
      .then(({ id }) => id);
  }

  /** Waits for a claim about a job; a failure tells what the job and the worker say. */
  async told<T>(claim: string, id: string, look: () => Promise<T | undefined | false>): Promise<T> {
    return until(claim, look, STEP_MS).catch(async (error: unknown) => {
      const row = JSON.stringify(await this.stack.jobs.row(id));
      throw new Error(`${String(error)}: ${row}\n${this.stack.tail()}`);
    });
  }

  inPhase(id: string, phase: string): Promise<boolean> {
    return this.told(`${id} is ${phase}`, id, async () => (await this.stack.jobs.row(id)).phase === phase);
  }

  log(id: string, attempt = 1, host = 0): Promise<string> {
    return storedLog(this.stack.store, { id, stream: 'command', host, attempt });
  }

  /** The names of the machines that a job holds, by host. */
  async machinesOf(id: string): Promise<readonly string[]> {
    const { slices } = await this.stack.jobs.describe(id);
    return slices
      .flatMap(({ hosts }) => hosts ?? [])
      .map((host) => (host.reach === 'ssh' ? host.own?.name : undefined) ?? '?');
  }
}

const poolFileOf = (inventory: readonly OwnMachine[]): string =>
  inventory
    .map(
      ({ name, address, port, user, hostKey = '' }) =>
        `[[machines]]\nname = "${name}"\naddress = "${address}:${port}"\nuser = "${user}"\nhost_key = "${hostKey}"\n`,
    )
    .join('\n');

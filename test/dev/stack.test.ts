import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type { DevContext } from '../../client/cli/dev/context.js';
import { devDown } from '../../client/cli/dev/down.js';
import { devLogs } from '../../client/cli/dev/logs.js';
import { statusText } from '../../client/cli/dev/register-dev.js';
import { devStatus } from '../../client/cli/dev/status.js';
import type { DevStatus } from '../../client/cli/dev/status.js';
import type { PartName, StackRecord } from '../../client/cli/dev/stack-record.js';
import { openReservations } from '../../client/cli/dev/loopback.js';
import type * as Up from '../../client/cli/dev/up.js';
import { createStore } from '../../cloud/store/gcs.js';
import { createCloudTpu } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import { ownerObject } from '../../domain/store-layout.js';
import { load } from '../built.js';
import { slicePlan } from '../cloud/cloud-tpu-plan.js';
import { until } from '../until.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';

/** Its parts are what it is: built, or sources. */
const { devUp } = await load<typeof Up>('client/cli/dev/up');

/** A stack in a state folder of its own. */
class Stack {
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

async function listenSomewhere(port = 0): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

describe('the local stack', function () {
  this.timeout(TEMPORAL_START_MS);

  describe('two, brought up at the same time, one on a Temporal server that is configured', () => {
    let first: Stack;
    let second: Stack;
    let context: DevContext;
    let other: DevContext;

    before(async () => {
      first = new Stack();
      second = new Stack();
      const { address } = await testServer();
      const ups = [first.up(), second.up({ temporalAddress: address }), first.up()];
      // All to their end, also when one fails: what comes up later would be left behind.
      await Promise.allSettled(ups);
      [context, other] = (await Promise.all(ups)) as [DevContext, DevContext];
    });
    after(async () => {
      await first.remove();
      await second.remove();
    });

    it('each has all of its parts ready, and starts no Temporal server where one is configured', async () => {
      const states = (status: DevStatus): unknown => [
        status.up,
        status.parts.map(({ name, state }) => `${name} ${state}`),
      ];
      assert.deepEqual(states(await first.status()), [true, ['server ready', 'rehearsal ready', 'worker ready']]);
      assert.deepEqual(states(await second.status()), [true, ['rehearsal ready', 'worker ready']]);
      assert.equal(other.temporal.address, (await testServer()).address);
    });

    it('share no port and no address of a TPU VM', () => {
      const [a, b] = [first.record().addresses, second.record().addresses];
      assert.notEqual(a.subnetOctet, b.subnetOctet);
      for (const name of ['tpu', 'tpuRest', 'store', 'admin', 'health'] as const)
        assert.notEqual(a[name], b[name], name);
    });

    it('have an owner id each, 12 hexadecimal digits in the store', async () => {
      const owners = await Promise.all([context, other].map(ownerOf));
      for (const owner of owners) assert.match(owner, /^[0-9a-f]{12}$/);
      assert.notEqual(owners[0], owners[1]);
    });

    it('a second `up` on the same state folder at the same time waits, and finds it up', () => {
      assert.ok(first.said.some((line) => /^Waiting for process \d+, which is changing this stack$/.test(line)));
      assert.ok(first.said.some((line) => line.startsWith('The local stack runs')));
      assert.equal(first.said.filter((line) => line.startsWith('worker: started')).length, 1);
    });

    it('the Web UI answers where the context says', async () => {
      assert.equal((await fetch(context.temporal.uiUrl ?? '')).status, 200);
    });

    it('the private key and the secret of job keys are for their owner alone, and the worker has both', () => {
      const secret = first.file('ssh/job-key-secret');
      for (const file of [context.ssh.privateKeyFile, secret]) assert.equal(statSync(file).mode & 0o077, 0, file);
      assert.deepEqual(context.ssh.jobKeys, { current: pathToFileURL(secret).href });
      const { ssh } = JSON.parse(readFileSync(first.file('worker.json'), 'utf8')) as { ssh: { jobKeySecret: string } };
      assert.equal(ssh.jobKeySecret, context.ssh.jobKeys?.current);
      assert.match(readFileSync(context.ssh.publicKeyFile, 'utf8'), /^ssh-ed25519 \S+ jobctl-dev /);
    });

    it('status in text has a row for each part', async () => {
      const text = statusText(await first.status(), Date.now());
      assert.match(text, /^PART +STATE +PID +ADDRESS +AGE\nserver +ready +\d+ +127\.0\.0\.1:\d+ +\d+s\n/);
      assert.match(text, /\nTemporal Web UI: http:\/\/127\.0\.0\.1:\d+\nState folder: /);
    });

    it('logs are shown from the end, and followed', async () => {
      const abort = new AbortController();
      const lines: string[] = [];
      const following = devLogs({ env: first.env, part: 'worker', tail: 1, follow: abort }, ({ text }) =>
        lines.push(text),
      );
      writeFileSync(first.file('logs/worker.log'), 'a line from the test\n', { flag: 'a' });
      await until('the line is shown', () => lines.includes('a line from the test')).finally(() => abort.abort());
      await following;
      assert.ok(lines.indexOf('a line from the test') > 0, 'after the last line of before');
    });

    describe('after kill -9', () => {
      it('of every part goes on where it was: same addresses, owner, keys, workflows and objects', async () => {
        const before = { addresses: first.record().addresses, owner: await ownerOf(context), key: keyOf(context) };
        await startWorkflow(context, 'kept-over-kill');
        first.kill('server', 'rehearsal', 'worker');
        assert.deepEqual(await first.up(), context);
        const after = { addresses: first.record().addresses, owner: await ownerOf(context), key: keyOf(context) };
        assert.deepEqual(after, before);
        assert.equal(await statusOfWorkflow(context, 'kept-over-kill'), 'RUNNING');
      });

      it('of one part starts that one alone', async () => {
        const pids = [first.pid('server'), first.pid('rehearsal')];
        const worker = first.pid('worker');
        first.kill('worker');
        const workerState = async (): Promise<unknown> =>
          (await first.status()).parts.find(({ name }) => name === 'worker')?.state;
        await until('the worker is shown as dead', async () => (await workerState()) === 'dead');
        await first.up();
        assert.deepEqual([first.pid('server'), first.pid('rehearsal')], pids);
        assert.notEqual(first.pid('worker'), worker);
      });
    });

    it('a port that a stranger has taken since is replaced, and the worker learns of it', async () => {
      const { store } = second.record().addresses;
      second.kill('rehearsal');
      const stranger = await strangerOn(store);
      try {
        const moved = await second.up();
        assert.notEqual(second.record().addresses.store, store);
        const { store: chosen } = second.record().addresses;
        const isTold = second.said.some(
          (line) =>
            line.startsWith('Ports that are in use, and those chosen instead: ') &&
            line.includes(`store ${store} -> ${chosen}`),
        );
        assert.ok(isTold, second.said.join('\n'));
        assert.equal(moved.store.endpoint, `http://127.0.0.1:${chosen}`);
        assert.equal((await second.status()).up, true);
        assert.ok(stranger?.listening ?? true);
      } finally {
        stranger?.close();
      }
    });

    it('`down` leaves nothing of it, also TPU VMs of a rehearsal that was killed, and does not touch the other', async () => {
      await createSlice(second, other);
      assert.notEqual(second.processes().length, 0);
      second.kill('rehearsal', 'worker');
      await second.down();
      assert.deepEqual(second.processes(), []);
      assert.equal((await first.status()).up, true);
      assert.deepEqual(
        (await second.status()).parts.map(({ state }) => state),
        ['stopped', 'stopped'],
      );
    });

    it('`down --purge` removes the data, and nothing that is not its own', async () => {
      writeFileSync(second.file('notes.txt'), 'of the user');
      await second.down(true);
      assert.deepEqual(readdirSync(second.file('.')), ['notes.txt']);
    });
  });

  describe('fails, and starts nothing, when', () => {
    let stack: Stack;
    beforeEach(() => {
      stack = new Stack({ XDG_CACHE_HOME: '/nowhere', PATH: '/usr/bin:/bin', JOBCTL_TEMPORAL_CLI: '/no/such' });
    });
    afterEach(async () => {
      assert.deepEqual(stack.processes(), []);
      await stack.remove();
    });

    it('the port that was asked for is in use', async () => {
      const { server, port } = await listenSomewhere();
      await assert.rejects(
        stack.up({ temporalPort: port }),
        new RegExp(
          `^PortTaken: port ${port} \\(Temporal server\\) is in use on 127\\.0\\.0\\.1; end what listens there`,
        ),
      );
      server.close();
    });

    it('there is no way to a Temporal server', async () => {
      await assert.rejects(
        stack.up(),
        /^NoTemporalCli: No Temporal server: [^]*JOBCTL_TEMPORAL_CLI: \/no\/such does not exist/,
      );
    });

    it('the quota file does not exist', async () => {
      await assert.rejects(stack.up({ quotaFile: '/no/quota.toml' }), /quota file \/no\/quota\.toml: does not exist/);
      assert.ok(!existsSync(stack.file('stack.json')));
    });
  });
});

async function ownerOf({ store }: DevContext): Promise<string> {
  return (await createStore(store).read(ownerObject))?.toString('utf8') ?? '';
}

const keyOf = ({ ssh }: DevContext): readonly string[] =>
  [ssh.privateKeyFile, new URL(ssh.jobKeys?.current ?? '')].map((file) => readFileSync(file, 'utf8'));

async function withClient<Result>({ temporal }: DevContext, use: (client: Client) => Promise<Result>): Promise<Result> {
  const connection = await Connection.connect({ address: temporal.address });
  try {
    return await use(new Client({ connection, namespace: temporal.namespace }));
  } finally {
    await connection.close();
  }
}

const startWorkflow = (context: DevContext, workflowId: string): Promise<unknown> =>
  withClient(context, (client) => client.workflow.start('none', { workflowId, taskQueue: 'nobody-polls' }));

const statusOfWorkflow = (context: DevContext, workflowId: string): Promise<string> =>
  withClient(context, async (client) => (await client.workflow.getHandle(workflowId).describe()).status.name);

/**
 * Listens there as soon as the killed process has let go of the port: as a program that knows nothing of jobctl would, save that
 * it leaves alone what a stack of another test file, in a process beside this one, has just chosen. Undefined where such a stack
 * has the port already: it is stranger enough.
 */
async function strangerOn(port: number): Promise<Server | undefined> {
  const reservations = openReservations();
  try {
    const isOurs = await until(
      'a moment for the port of a process that was killed',
      () => reservations.exactPort(port),
      5_000,
    ).catch(() => false);
    return isOurs ? (await listenSomewhere(port)).server : undefined;
  } finally {
    reservations.release();
  }
}

/** A slice with its TPU VMs running, made past the worker. */
async function createSlice(stack: Stack, { cloud }: DevContext): Promise<void> {
  const { addresses } = stack.record();
  const { insecure, accessTokenFile = '' } = cloud;
  const tpu = createCloudTpu({ endpoint: { host: '127.0.0.1', port: addresses.tpu, insecure, accessTokenFile } });
  const plan = slicePlan('left-behind', 'tpu-vm');
  const answer = await tpu.create(plan);
  assert.equal(answer.kind, 'accepted');
  await until('the slice is ready', async () => (await tpu.observe(plan)).kind === 'ready');
  await tpu.close();
}

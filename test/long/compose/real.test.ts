import assert from 'node:assert/strict';
import { programArguments } from '../../built.js';
import { until } from '../../until.js';
import { GO_BUILD_MS } from '../built-by-go.js';
import { confinementsOf, DROPPED, listenersIn, type Listener } from './processes.js';
import { reachedFrom } from './reach.js';
import { ComposeStack, nameOf, ONCE, SERVICES } from './stack.js';

const MINUTE_MS = 60_000;

/**
 * docker-compose.yml as an operator starts it, on a machine that reaches no registry of images: docs/deployment.md says what stands
 * in for what. Needs root, Debian's docker.io, debootstrap and iptables, Go, and npm's and Debian's registries.
 */
describe('docker compose up', function () {
  this.timeout(10 * MINUTE_MS);
  let stack: ComposeStack;

  before(async function () {
    this.timeout(GO_BUILD_MS + 20 * MINUTE_MS);
    stack = await ComposeStack.make();
    await stack.up();
  });
  after(async function () {
    this.timeout(MINUTE_MS);
    await stack?.remove();
  });

  it('ends what runs once with 0, at the first try', () => {
    for (const service of ONCE) {
      const { State, RestartCount } = stack.inspect(service);
      assert.deepEqual([State.Status, State.ExitCode, RestartCount], ['exited', 0, 0], service);
    }
  });

  it('F14: gives no process a capability, a way to one, or root', () => {
    for (const service of SERVICES) {
      const processes = confinementsOf(stack.engine, stack.pids(service));
      assert.ok(processes.length > 0, service);
      for (const { command, uid, ...confinement } of processes) {
        assert.deepEqual(confinement, DROPPED, `${service}: ${command}`);
        assert.notEqual(uid, 0, `${service}: ${command}`);
      }
    }
  });

  it('gives what ran once none either, and no container a file system of its own to write', () => {
    for (const service of [...ONCE, ...SERVICES]) {
      const { HostConfig, Config } = stack.inspect(service);
      const { CapDrop, CapAdd, Privileged, ReadonlyRootfs, SecurityOpt } = HostConfig;
      assert.deepEqual(CapDrop, ['ALL'], service);
      assert.deepEqual([CapAdd ?? [], Privileged, ReadonlyRootfs], [[], false, true], service);
      assert.deepEqual(SecurityOpt, ['no-new-privileges:true'], service);
      assert.doesNotMatch(Config.User, /^(0|root|)(:|$)/u, service);
    }
    for (const service of SERVICES)
      assert.throws(() => stack.engine.docker('exec', nameOf(service), 'sh', '-c', 'echo x > /probe'), /Read-only/u);
  });

  it('listens for others on the ports that it needs, and on no more', () => {
    const open = (service: string): readonly number[] => {
      const listeners = listenersIn(stack.engine, stack.inspect(service).State.Pid);
      const ports = listeners.filter(({ isLoopback }) => !isLoopback).map(({ port }) => port);
      return [...new Set(ports)].toSorted((a, b) => a - b);
    };
    const ports = Object.fromEntries(SERVICES.map((service) => [service, open(service)]));
    // 6933: where services of a cluster find each other. The server gives it the address of the frontend.
    assert.deepEqual(ports, {
      postgres: [5432],
      temporal: [6933, 7233],
      ui: [8080],
      rehearsal: [],
      'worker-rehearsal': [],
    });
  });

  it('publishes two ports, on 127.0.0.1', () => {
    const published = listenersIn(stack.engine, 'daemon').map(({ address, port }: Listener) => `${address}:${port}`);
    assert.deepEqual(published.sort(), ['127.0.0.1:7233', '127.0.0.1:8080']);
  });

  it('lets each container reach what it needs, and nothing else', async () => {
    assert.deepEqual(await reachedFrom(stack), {
      postgres: ['temporal:6933', 'temporal:7233'],
      temporal: ['postgres:5432', 'ui:8080'],
      ui: ['temporal:6933', 'temporal:7233'],
      rehearsal: ['outside:80', 'temporal:6933', 'temporal:7233'],
    });
  });

  it('lets the server read and write rows as a role that can make no table', async () => {
    const psql = (sql: string, ...login: readonly string[]): Promise<string> =>
      stack.compose(
        'exec',
        '-T',
        ...login,
        'postgres',
        'psql',
        '-XAtq',
        '-h',
        '127.0.0.1',
        '-d',
        'temporal',
        '-c',
        sql,
      );
    const asServer = ['-e', `PGPASSWORD=${stack.serverPassword}`, '-e', 'PGUSER=temporal_server'];
    const asOwner = ['-e', 'PGPASSWORD=of-the-owner', '-e', 'PGUSER=temporal'];
    assert.ok(Number(await psql('SELECT count(*) FROM executions', ...asServer)) > 0);
    await assert.rejects(psql('CREATE TABLE mine (x int)', ...asServer), /permission denied for schema public/u);
    const users = `SELECT DISTINCT usename FROM pg_stat_activity WHERE client_addr <> '127.0.0.1'`;
    assert.equal((await psql(users, ...asOwner)).trim(), 'temporal_server');
    const secrets = stack.inspect('temporal').Config.Env.filter((line) => line.includes('of-the-owner'));
    assert.deepEqual(secrets, [], 'the server does not know the password of the owner');
  });

  it('runs the quick start, and shows it on the published ports', async () => {
    await stack.jobctl('submit', '--wait', '--name', 'first', 'examples/quick-start.yaml');
    assert.deepEqual(await phases(), ['first succeeded']);
    assert.match(await stack.jobctl('logs', 'first'), /done: y = [23]\.\d\d x \+ 2\.00/u);
    const shown = `http://127.0.0.1:8080/api/v1/namespaces/default/workflows?query=${encodeURIComponent("WorkflowId='first'")}`;
    const fetched = `fetch(${JSON.stringify(shown)}).then((answer) => answer.text()).then(console.log)`;
    assert.match(stack.engine.inside(process.execPath, '-e', fetched), /WORKFLOW_EXECUTION_STATUS_COMPLETED/u);
    const env = [
      'TEMPORAL_ADDRESS=127.0.0.1:7233',
      'JOBCTL_BUCKET=jobctl-rehearsal',
      'JOBCTL_HOME=/nonexistent/jobctl',
    ];
    const list = [process.execPath, ...programArguments('cli/main'), 'list', '--output', 'json'];
    assert.deepEqual(phasesIn(stack.engine.inside('env', ...env, ...list)), ['first succeeded']);
  });

  it('loses nothing of a running job when each container is restarted', async () => {
    await stack.submitGated('restarted');
    let seen = await growsBeyond('restarted', 3);
    for (const service of ['postgres', 'temporal', 'ui', 'worker-rehearsal']) {
      const { StartedAt } = stack.inspect(service).State;
      await stack.compose('restart', service);
      await stack.untilHealthy();
      assert.notEqual(stack.inspect(service).State.StartedAt, StartedAt, service);
      seen = await growsBeyond('restarted', seen);
    }
    stack.openGate();
    await stack.jobctl('wait', 'restarted');
    const log = await stack.logOf('restarted');
    const lines = log.slice(0, -1).map((_, at) => `line ${at + 1}`);
    assert.deepEqual(log, [...lines, `the end after ${lines.length}`]);
    const { outcome } = JSON.parse(await stack.jobctl('status', 'restarted', '--output', 'json')) as Status;
    assert.equal(outcome.attempts, 1);
  });

  it('keeps jobs, logs and the database over `down` and `up`, and takes another password of the server', async () => {
    const [before, log] = [await phases(), await stack.logOf('restarted')];
    assert.deepEqual(before, ['first succeeded', 'restarted succeeded']);
    await stack.compose('down');
    assert.equal(stack.engine.docker('ps', '-aq'), '');
    stack.changeServerPassword('another-of-the-server');
    await stack.up();
    assert.deepEqual(await phases(), before);
    assert.deepEqual(await stack.logOf('restarted'), log);
    await stack.jobctl('submit', '--wait', '--name', 'after', 'examples/quick-start.yaml');
    assert.deepEqual(await phases(), ['after succeeded', ...before]);
  });

  const phases = async (): Promise<readonly string[]> => phasesIn(await stack.jobctl('list', '--output', 'json'));
  const growsBeyond = (name: string, lines: number): Promise<number> =>
    until(
      `${name} prints beyond line ${lines}`,
      async () => {
        const { length } = await stack.logOf(name);
        return length > lines && length;
      },
      4 * MINUTE_MS,
    );
});

interface Status {
  readonly outcome: { readonly attempts: number };
}

function phasesIn(list: string): readonly string[] {
  const { jobs } = JSON.parse(list) as { jobs: readonly { readonly id: string; readonly phase: string }[] };
  return jobs.map(({ id, phase }) => `${id} ${phase}`).toSorted();
}

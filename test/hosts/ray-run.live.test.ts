import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { modulePlans } from '../../activities/module-plans.js';
import type { RunStatus } from '../../cloud/hosts/port.js';
import { commandScript } from '../../domain/modules/command.js';
import { rayVariables } from '../../domain/modules/ray-run.js';
import { judgeSetUpFailure } from '../../domain/set-up-record.js';
import { until } from '../until.js';
import { applyModule } from './apply-modules.js';
import { type FakeRay, fakeRay } from './fake-ray.js';
import { type HostSession, isAlive, never, withHost } from './session.js';

const RUN = 'train-a1';
const ADDRESSES = ['127.0.0.1', '127.0.0.2'];
const NOTICE = { v: 1, cause: 'stop', reason: 'test', graceSeconds: 5 } as const;

describe('Ray beside a command, on its hosts', function () {
  this.timeout(60_000);
  let ray: FakeRay;
  beforeEach(() => {
    ray = fakeRay();
  });
  afterEach(() => ray.remove());

  // Below the ports that the kernel gives away, and another one for each test.
  let port = 22_000 + (process.pid % 1_000) * 10;
  beforeEach(() => {
    port += 3;
  });

  async function start(
    { connection, host }: HostSession,
    number: number,
    run: string,
    {
      joinSeconds = 20,
      more = {},
      addresses = ADDRESSES,
      slot,
    }: { joinSeconds?: number; more?: Record<string, string>; addresses?: readonly string[]; slot?: number } = {},
  ): Promise<void> {
    const spec = {
      modules: ['ray', 'command'],
      ray: { joinSeconds, portBase: port },
      command: { run, hosts: 'all' },
    } as const;
    const env = { ...ray.env, ...more, JOBCTL_JOB_ID: `train-${port}`, JOBCTL_ATTEMPT: '1', HOME: host.home };
    const place = rayVariables({ addresses, number, token: 'a-token', ...(slot !== undefined && { slot }) });
    await connection.startRun({ runId: RUN, epoch: 1, script: commandScript(spec)!, env: { ...env, ...place } });
  }
  type Exited = Extract<RunStatus, { kind: 'exited' }>;
  async function ended({ connection, read }: HostSession): Promise<Exited & { readonly output: string }> {
    await connection.followOutput(RUN, 0, () => undefined, never);
    const status = await until('it has ended', async () => {
      const now = await connection.runStatus(RUN);
      return now.kind === 'exited' && now;
    });
    return { ...status, output: read(`.jobctl/runs/${RUN}/output`) };
  }
  const output = ({ read }: HostSession): string => read(`.jobctl/runs/${RUN}/output`);
  /** Processes of the fake's on one host, by their names. */
  const parts = ({ host }: HostSession): Map<string, number> =>
    new Map(
      readdirSync('/proc').flatMap((pid) => {
        try {
          const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
          if (!environment.includes(`JOBCTL_RAY_OF=${host.home}/.jobctl/runs/${RUN}`)) return [];
          return [[readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), Number(pid)] as const];
        } catch {
          return [];
        }
      }),
    );
  const nothingIsLeft = (session: HostSession): void => {
    assert.deepEqual([...parts(session)], []);
    const files = readdirSync(join(session.host.home, `.jobctl/runs/${RUN}`));
    assert.deepEqual(
      files.filter((name) => ['ray-token', 'ray.env'].includes(name)),
      [],
    );
    const id = createHash('sha256').update(`train-${port}\n`).digest('hex').slice(0, 12);
    assert.ok(!existsSync(`/tmp/jobctl-ray-${id}-1`));
  };
  /** Whatever the test says, nothing stays. */
  const onOne = (work: (host: HostSession) => Promise<void>): Promise<void> =>
    withHost(async (host) => {
      try {
        await work(host);
      } finally {
        await host.connection.stopRun(RUN, 100, NOTICE);
      }
    });
  const onTwo = (work: (head: HostSession, worker: HostSession) => Promise<void>): Promise<void> =>
    onOne((head) => onOne((worker) => work(head, worker)));

  it('starts the command when all hosts have joined, byte for byte; its code is the run’s, and nothing of Ray is left', () =>
    onTwo(async (head, worker) => {
      const run = `echo "at $RAY_ADDRESS as $RAY_AUTH_MODE with $(stat -c %a "$RAY_AUTH_TOKEN_PATH") $(ls "$FAKE_RAY/nodes" | wc -l) nodes"
cat <<'END' ; echo "token:\${JOBCTL_RAY_TOKEN-none}"
it's "\\$HOME" )
END
exec bash -c 'exit 7'`;
      await start(head, 0, run);
      await until('the first host waits', () => output(head) === '' && parts(head).size === 3);
      await start(worker, 1, run);
      const { code, endedBy, output: printed } = await ended(head);
      assert.deepEqual([code, endedBy], [7, undefined], printed);
      assert.match(
        printed,
        new RegExp(`at 127.0.0.1:${port} as token with 600 2 nodes\\nit's "\\\\\\$HOME" \\)\\ntoken:none\\n$`),
      );
      assert.doesNotMatch(printed + output(worker), /a-token/);
      nothingIsLeft(head);
      assert.equal((await worker.connection.runStatus(RUN)).kind, 'running', 'it serves until it is told to end');
      const status = await worker.connection.stopRun(RUN, 5_000, NOTICE);
      assert.deepEqual(status.kind === 'exited' && [status.code, status.endedBy, status.isStopped], [
        0,
        undefined,
        true,
      ]);
      nothingIsLeft(worker);
      assert.match(output(worker), /^jobctl: ray: joins .*\n$/);
    }));

  it('does not start the command without all hosts, and names those that have not joined', () =>
    onOne(async (head) => {
      await start(head, 0, 'echo never', { joinSeconds: 8 });
      const { code, endedBy, output: printed } = await ended(head);
      assert.deepEqual([code, endedBy], [1, 'ray'], printed);
      assert.match(
        printed,
        /these hosts have not joined: 1 \(127\.0\.0\.2\)\n.*not all of 2 hosts have joined within 8 s/,
      );
      assert.doesNotMatch(printed, /^never$/m);
      nothingIsLeft(head);
    }));

  it('gives up where the first host does not answer', () =>
    onOne(async (worker) => {
      await start(worker, 1, 'echo never', { joinSeconds: 2 });
      const { code, endedBy, output: printed } = await ended(worker);
      assert.deepEqual([code, endedBy], [1, 'ray'], printed);
      assert.match(printed, /Ray of the first host does not answer at 127\.0\.0\.1:\d+\n/);
    }));

  for (const [part, signal] of [
    ['raylet', 'SIGKILL'],
    ['raylet', 'SIGTERM'],
    ['python3', 'SIGKILL'],
  ] as const)
    it(`loses the run where ${part} of a host that serves got ${signal}`, () =>
      onTwo(async (head, worker) => {
        await start(head, 0, 'echo up; exec sleep 300');
        await start(worker, 1, '');
        await until('the command runs', () => output(head).endsWith('up\n') && output(worker).includes('joins'));
        process.kill(parts(worker).get(part) ?? assert.fail([...parts(worker)].join()), signal);
        const { code, endedBy, output: printed } = await ended(worker);
        assert.deepEqual([code, endedBy], [1, 'ray'], printed);
        assert.match(printed, /Ray ended on this host\n/);
        nothingIsLeft(worker);
        await head.connection.stopRun(RUN, 5_000, NOTICE);
        nothingIsLeft(head);
      }));

  it('tells the command to end where its own Ray ends, and loses the run', () =>
    onOne(async (head) => {
      await start(head, 0, "trap 'echo saved; exit 3' TERM; echo up; while :; do sleep 0.1; done", {
        addresses: ['127.0.0.1'],
      });
      await until('the command runs', () => output(head).endsWith('up\n'));
      process.kill(parts(head).get('gcs_server')!, 'SIGKILL');
      const { code, endedBy, output: printed } = await ended(head);
      assert.deepEqual([code, endedBy], [1, 'ray'], printed);
      assert.match(
        printed,
        /Ray has ended: the command is told to end\n(.*\n)*saved\n(.*\n)*.*which ended with code 3\n/,
      );
      nothingIsLeft(head);
    }));

  it('is stopped with its command, which has its grace; somebody else’s Ray is not touched', () =>
    onOne(async (head) => {
      const stranger = spawn(join(ray.folder, 'bin/raylet'), ['3600'], { stdio: 'ignore' });
      try {
        await start(head, 0, "trap 'echo saved; exit 5' TERM; echo up; while :; do sleep 0.1; done", {
          addresses: ['127.0.0.1'],
        });
        await until('the command runs', () => output(head).endsWith('up\n'));
        const status = await head.connection.stopRun(RUN, 5_000, NOTICE);
        assert.deepEqual(
          status.kind === 'exited' && [status.code, status.isStopped, status.endedBy],
          [5, true, undefined],
          output(head),
        );
        assert.match(output(head), /saved\n$/);
        nothingIsLeft(head);
        assert.ok(isAlive(stranger.pid!));
      } finally {
        stranger.kill('SIGKILL');
      }
    }));

  it('names a port that another program has', () =>
    onOne(async (head) => {
      const server = createServer().listen(port, '127.0.0.1');
      try {
        await start(head, 0, 'echo never');
        const { code, output: printed } = await ended(head);
        assert.equal(code, 126);
        assert.match(printed, new RegExp(`port ${port} of this host is in use .* in ray.port_base\\n$`));
        nothingIsLeft(head);
      } finally {
        server.close();
      }
    }));

  it('has ports of its own in each slot of a machine, and is refused for two slots of one machine', () =>
    onOne(async (head) => {
      await start(head, 0, 'echo "at $RAY_ADDRESS"', { addresses: ['127.0.0.1'], slot: 3 });
      assert.match((await ended(head)).output, new RegExp(`^at 127\\.0\\.0\\.1:${port + 12}$`, 'm'));
      const twice = ['127.0.0.1', '127.0.0.1'];
      await onOne(async (other) => {
        await start(other, 1, 'echo never', { addresses: twice, slot: 3 });
        const { code, output: printed } = await ended(other);
        assert.equal(code, 126, printed);
        assert.match(
          printed,
          /two hosts of this job are slots of one machine, 127\.0\.0\.1, and Ray takes a host of each/,
        );
      });
    }));

  it('is looked for before the command: none, another version, one without tokens, one that cannot be imported', () =>
    withHost(async (session) => {
      const plan = (version?: string) =>
        modulePlans(
          { modules: ['ray'], ray: { joinSeconds: 1, ...(version && { version }) } },
          { files: new Map(), keys: [] },
        )[0]!;
      const applied = async (more: Readonly<Record<string, string>>, version?: string): Promise<string> => {
        const own = plan(version);
        const lines = Object.entries(more)
          .map(([name, value]) => `export ${name}='${value}'\n`)
          .join('');
        const steps = own.steps.map((step) => ({ ...step, script: lines + step.script }));
        const {
          kind,
          output: printed,
          ...rest
        } = await applyModule(session.connection, { ...own, check: 'false', steps });
        if (kind !== 'failed') return `${kind}: ${printed.trim()}`;
        assert.equal(judgeSetUpFailure(1, printed).kind, 'permanent', printed);
        return `${kind} ${'code' in rest ? rest.code : ''}: ${printed.trim()}`;
      };
      const old = fakeRay('2.51.1');
      try {
        assert.match(await applied({}), /^failed 1: ray: this host has no Ray: name ray\[default\]/);
        assert.match(await applied(old.env), /^failed 1: ray: this host has Ray 2\.51\.1, which is too old: 2\.52\.0/);
        assert.match(
          await applied(ray.env, '2.61.0'),
          /^failed 1: ray: this host has Ray 2\.60\.0, and ray\.version is 2\.61\.0/,
        );
        assert.match(await applied(ray.env, '2.60.0'), /^done: ray: 2\.60\.0, .*\/bin\/ray/);
        appendFileSync(join(ray.folder, 'python/ray/__init__.py'), 'raise OSError("no libstdc++")\n');
        assert.match(
          await applied(ray.env),
          /^failed 1: Traceback (.*\n)*OSError: no libstdc\+\+\nray: this host has Ray 2\.60\.0, and python3? cannot import it$/,
        );
      } finally {
        old.remove();
      }
    }));
});

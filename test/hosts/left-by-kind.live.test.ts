import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import type { MachineVerbs } from '../../cloud/hosts/machine-verbs.js';
import type { HostConnection, RunRequest } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { AGENT } from '../../cloud/machines/kubernetes/pod-template.js';
import { commandScript } from '../../domain/modules/command.js';
import { rayVariables } from '../../domain/modules/ray-run.js';
import { until } from '../until.js';
import { type FakeRay, fakeRay } from './fake-ray.js';
import { startNamespace } from './namespace.js';
import { ended, NOTICE, request } from './run.js';
import { type HostSession, never, ourKey, withHost } from './session.js';

const LOGIN = 4242;
const CLAIM = 'claim-1';

/** A program that leaves its environment, its session and its parents behind, and writes its number into ~/NAME. */
const leak = (name: string): string =>
  `(setsid env -i bash -c "echo \\$\\$ > $HOME/${name}; exec sleep 2000" < /dev/null > /dev/null 2>&1 &); until [ -s "$HOME/${name}" ]; do sleep 0.02; done`;

interface Kind {
  /** The words before a command that is to run on the host, after this script made it. */
  readonly prepare?: (folder: string) => string;
  readonly uid?: number;
  readonly isOwn?: true;
  readonly hasRay?: true;
  /** The limit of a run that all of it is a part of. */
  readonly within?: string;
}

/** A host of each kind as far as its processes are concerned: who logs in, what the first process is, what else runs. */
const KINDS: Readonly<Record<string, Kind>> = {
  'a TPU VM or a Compute Engine VM, by a login user': { uid: LOGIN },
  'one whose login user is root': {},
  'a machine of the pool’s own, under its claim': { uid: LOGIN, isOwn: true },
  'one whose login user is root, under its claim': { isOwn: true },
  'a pod': { prepare: (folder) => `exec sh ${folder}/agent` },
  'the head of a RayCluster': { prepare: (folder) => `(bash -c 'exec sleep 3600' &); exec sh ${folder}/agent` },
  'a host with the module ray': { hasRay: true },
  'a host that is a part of another run': { uid: LOGIN, within: '91234567890' },
};

interface LeakyHost extends HostSession {
  readonly connection: HostConnection;
  readonly machine: MachineVerbs;
  /** The words before what runs there. */
  readonly enter: readonly string[];
  readonly run: (script: string, more?: Partial<RunRequest>) => RunRequest;
  /** Runs this as a person does by `jobctl exec`, or by a login of his own. */
  by(script: string): Promise<string>;
  isAlive(name: string): Promise<boolean>;
}

async function withKind(kind: Kind, work: (host: LeakyHost) => Promise<void>): Promise<void> {
  const folder = mkdtempSync('/tmp/left-by-kind-');
  chmodSync(folder, 0o755);
  const home = join(folder, 'home');
  mkdirSync(home);
  if (kind.uid !== undefined && process.getuid?.() === 0) chownSync(home, kind.uid, kind.uid);
  writeFileSync(join(folder, 'agent'), AGENT);
  const ray = kind.hasRay && fakeRay();
  const ready = kind.prepare && `echo ready; export HOME=${home}; ${kind.prepare(folder)}`;
  const namespace = await startNamespace(ready, kind.uid);
  const limited = kind.within === undefined ? [] : ['prlimit', `--locks=${kind.within}`];
  const enter = [...namespace.enter, ...limited];
  const fleet = createSshHosts({ port: 1, hostKeys: memoryHostKeyPins() });
  try {
    await withHost(
      async (session) => {
        const { machine } = session.connection as unknown as { readonly machine: MachineVerbs };
        if (kind.isOwn) assert.equal((await machine.claim(CLAIM, `${CLAIM}\n`, 'train')).kind, 'claimed');
        const own = { pool: 'default', name: 'rack-1', lastingUid: 'rack-1', port: session.host.port, claim: CLAIM };
        const target = { ...session.host.target, uid: 'own', own };
        const connection = kind.isOwn
          ? await fleet.connect(target, { privateKey: ourKey.private }, never)
          : session.connection;
        const by = async (script: string): Promise<string> => {
          let said = '';
          const onStdout = (chunk: Buffer): void => void (said += chunk.toString());
          await session.connection.exec(script, { onStdout, onStderr: () => undefined, signal: never });
          return said.trim();
        };
        const isAlive = async (name: string): Promise<boolean> =>
          (await by(`grep -q '^State:.[^ZX]' /proc/$(cat ~/${name})/status && echo alive`)) === 'alive';
        const run: LeakyHost['run'] = (script, more) => ({
          ...request(script, more),
          ...(ray && besideRay(ray, script)),
        });
        await work({ ...session, connection, machine, enter, run, by, isAlive });
      },
      { enter, home },
    );
  } finally {
    fleet.release();
    namespace.kill();
    if (ray) ray.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

function besideRay(ray: FakeRay, run: string): Partial<RunRequest> {
  const spec = {
    modules: ['ray', 'command'],
    ray: { joinSeconds: 20, portBase: 12_000 + (process.pid % 1_000) * 10 },
    command: { run, hosts: 'all' },
  } as const;
  const place = rayVariables({ addresses: ['127.0.0.1'], number: 0, token: 'a-token' });
  return { script: commandScript(spec)!, env: { ...ray.env, JOBCTL_JOB_ID: 'train', JOBCTL_ATTEMPT: '1', ...place } };
}

describe('what a command leaves without its environment, session and parents', function () {
  this.timeout(60_000);

  // Each waits for some seconds, so all at once.
  it('is ended and named with the run on every kind of host, and nothing else is', async () => {
    const all = Object.entries(KINDS).map(async ([name, kind]) => {
      const failure = await withKind(kind, (host) => endsAndNames(host)).catch((error: unknown) => error);
      return failure === undefined ? [] : [`${name}: ${String(failure)}`];
    });
    assert.deepEqual((await Promise.all(all)).flat(), []);
  });

  async function endsAndNames({ connection, run, by, isAlive, read }: LeakyHost): Promise<void> {
    await by(`${leak('older')}; ${leak('of-a-person')}`);
    await connection.startRun(request(`${leak('of-another-job')}; exec sleep 2000`, { runId: 'other-x1-a1' }));
    await until('the other job runs', () => by('cat ~/of-another-job'));
    await connection.startRun(run(`${leak('left')}; until [ -e ~/go ]; do sleep 0.05; done; echo trained`));
    await until('it has left one', () => by('cat ~/left'));
    // During the run too.
    await by(`rm ~/of-a-person; ${leak('of-a-person')}; touch ~/go`);
    const { code, left } = await ended(connection);
    const pid = Number(await by('cat ~/left'));
    const output = read('.jobctl/runs/train-x1-a1/output');
    assert.equal(code, 0, output);
    assert.deepEqual(left, { count: 1, named: [{ pid, command: 'sleep 2000' }] });
    const told = `^trained\njobctl: .* still ran and was ended .*\njobctl: {3}${pid} sleep 2000$`;
    assert.match(output, new RegExp(told, 'm'));
    assert.equal(await isAlive('left'), false);
    for (const spared of ['older', 'of-a-person', 'of-another-job']) assert.ok(await isAlive(spared), spared);
    await connection.stopRun('other-x1-a1', 0, NOTICE);
    assert.equal(await isAlive('of-another-job'), false);
  }

  it('is ended by a stop, and before the next attempt of a command that failed', () =>
    withKind({ uid: LOGIN }, async ({ connection, by, isAlive }) => {
      await connection.startRun(request(`${leak('one')}; exit 3`));
      await ended(connection);
      assert.equal(await isAlive('one'), true);
      await connection.startRun(request(`${leak('two')}; exec sleep 2000`, { runId: 'train-x1-a2', epoch: 2 }));
      await until('the second has left one', () => by('cat ~/two'));
      assert.deepEqual([await isAlive('one'), await isAlive('two')], [false, true]);
      await connection.stopRun('train-x1-a2', 0, NOTICE);
      assert.equal(await isAlive('two'), false);
    }));

  it('is waited for with wait_for all', () =>
    withKind({ uid: LOGIN }, async ({ connection, by, read }) => {
      await connection.startRun(request(leak('one'), { waitFor: 'all' }));
      await until('it waits', () =>
        read('.jobctl/runs/train-x1-a1/output').includes('waiting for what it has started'),
      );
      await by('kill $(cat ~/one)');
      assert.equal((await ended(connection)).left, undefined);
    }));

  it('does not outlive the claim of a machine, whoever logs in there', async () => {
    for (const kind of [{ uid: LOGIN, isOwn: true }, { isOwn: true }] as const)
      await withKind(kind, async ({ connection, machine, by, isAlive, host }) => {
        await by(leak('of-a-person'));
        await connection.startRun(request(`${leak('one')}; exit 3`));
        await ended(connection);
        const named = (await machine.vacate(CLAIM, 0)).join();
        assert.match(named, /process \d+ \(.*sleep .*\) of user /, 'what it ended is named');
        assert.deepEqual(await machine.vacate(CLAIM, 0), []);
        assert.deepEqual([await isAlive('one'), await isAlive('of-a-person')], [false, true]);
        assert.deepEqual(readdirSync(join(host.home, '.jobctl/runs')), []);
        assert.ok(!existsSync(join(host.home, '.jobctl/machine/claim')));
      });
  });

  it('is left alone if it is another user’s, though that user takes the limit of the run', async function () {
    if (process.getuid?.() !== 0) this.skip();
    await withKind({ uid: LOGIN }, async ({ connection, by, isAlive, enter }) => {
      await connection.startRun(request(`${leak('one')}; exec sleep 2000`));
      await until('it has left one', () => by('cat ~/one'));
      const limit = await by(`awk '/^Max file locks/ { print $4 }' /proc/$(cat ~/one)/limits`);
      assert.match(limit, /^[1-9]\d{10}$/);
      const words = enter.map((word) => word.replace(`=${LOGIN}`, `=${LOGIN + 1}`));
      const neighbour = spawn(words[0] ?? '', [...words.slice(1), 'prlimit', `--locks=${limit}`, 'sleep', '2001']);
      const seen = await until('the neighbour', () => by(`pgrep -u ${LOGIN + 1} -x sleep`));
      const status = await connection.stopRun('train-x1-a1', 0, NOTICE);
      assert.equal(status.kind, 'exited');
      assert.equal(await isAlive('one'), false);
      assert.equal(await by(`pgrep -u ${LOGIN + 1} -x sleep`), seen);
      neighbour.kill('SIGKILL');
    });
  });
});

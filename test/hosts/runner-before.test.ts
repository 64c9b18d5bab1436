import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, closeSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunRequest } from '../../cloud/hosts/port.js';
import { ended, NOTICE, outputOf, pids, request } from './run.js';
import type { HostSession } from './session.js';
import { isAlive, withHost } from './session.js';
import { until } from '../until.js';

describe('the on-host runner: before the command', () => {
  it('takes MEGASCALE_* of an earlier attempt away, whoever kept it, and leaves what the job sets', () =>
    withHost(async ({ host, connection }) => {
      writeFileSync(join(host.home, '.profile'), 'export MEGASCALE_NUM_SLICES=4 MEGASCALE_SLICE_ID=3 KEPT=yes');
      const script = 'env | grep -E "^(MEGASCALE|KEPT)" | sort';
      assert.equal(await outputOf(connection, script), 'KEPT=yes\n');
      const again = { runId: 'train-x1-a2', epoch: 2, env: { MEGASCALE_SLICE_ID: '1' } };
      assert.equal(await outputOf(connection, script, again), 'KEPT=yes\nMEGASCALE_SLICE_ID=1\n');
    }));

  it('lets the command open 100,000 files, or as many as the host allows', () =>
    withHost(async ({ connection }) => {
      const [soft, hard] = (await outputOf(connection, 'ulimit -S -n; ulimit -H -n')).split('\n').map(Number);
      assert.equal(soft, Math.min(100_000, hard || Infinity));
    }));

  it('never runs .bash_logout, which could change the exit code or hang', () =>
    withHost(async ({ host, connection }) => {
      writeFileSync(join(host.home, '.bash_logout'), 'echo logout; exit 1; sleep 300');
      assert.equal(await outputOf(connection, 'echo up; exit 3'), 'up\n');
      assert.equal((await ended(connection)).code, 3);
    }));

  it('keeps its environment the login user’s alone until the command’s shell has read it', () =>
    withHost(async (session) => {
      const { host, connection } = session;
      writeFileSync(join(host.home, '.profile'), 'while [ ! -f ~/go ]; do sleep 0.05; done');
      await connection.startRun(request(`ls "$JOBCTL_RUN_DIR"; echo "$TOKEN"`, { env: { TOKEN: 's3cret' } }));
      const env = join(host.home, '.jobctl/runs/train-x1-a1/env');
      assert.equal(statSync(env).mode & 0o777, 0o600);
      assert.equal(statSync(join(host.home, '.jobctl')).mode & 0o777, 0o700);
      writeFileSync(join(host.home, 'go'), '');
      await ended(connection);
      const output = session.read('.jobctl/runs/train-x1-a1/output');
      assert.match(output, /s3cret/);
      assert.ok(!output.split('\n').includes('env'), output);
    }));

  it('ends what an earlier attempt of the job left running, and nothing of another job', () =>
    withHost(async (session) => {
      const { connection } = session;
      await connection.startRun(request('exec sleep 300'));
      await connection.startRun(request('exec sleep 300', { runId: 'train-x2-a1' }));
      const [child, supervisor] = pids(session);
      process.kill(supervisor, 'SIGKILL');
      await connection.startRun(request('exec sleep 300', { runId: 'train-x1-a2', epoch: 2 }));
      assert.ok(!isAlive(child));
      assert.ok(isAlive(pids(session, 'train-x2-a1')[0]));
      assert.ok(isAlive(pids(session, 'train-x1-a2')[0]));
    }));

  it('removes a lock file of libtpu that nobody holds, and no other', () =>
    withHost(async (session) => {
      const [stale, open, locked] = ['stale', 'open', 'locked'].map((name) => join(session.host.home, name));
      for (const file of [stale, open, locked]) writeFileSync(file!, '');
      const reader = holderOf(open!);
      const locker = spawn('sh', ['-c', 'exec flock --no-fork "$0" sleep 300', locked!], { stdio: 'ignore' });
      try {
        await until('the lock', () => (isLocked(locked!) ? true : undefined));
        await outputOf(session.connection, ':', withDevices([], 0, [stale!, open!, locked!]));
        assert.deepEqual(
          [stale, open, locked].map((file) => existsSync(file!)),
          [false, true, true],
        );
      } finally {
        for (const child of [reader, locker]) child.kill('SIGKILL');
      }
    }));

  it('waits for a busy accelerator, and begins when it is free', () =>
    withHost(async (session) => {
      const { device, holder } = busyDevice(session);
      const started = session.connection.startRun(request('echo mine', withDevices([device], 20_000)));
      await until('the wait', async () =>
        (await session.connection.runStatus('train-x1-a1')).kind === 'starting' ? true : undefined,
      );
      holder.kill('SIGKILL');
      assert.ok(['running', 'exited'].includes((await started).kind));
      assert.equal((await ended(session.connection)).code, 0);
    }));

  it('does not wait for an accelerator that an earlier attempt of the job still has', () =>
    withHost(async (session) => {
      const device = join(session.host.home, 'device');
      writeFileSync(device, '');
      await session.connection.startRun(request(`exec 3< ${device}; exec sleep 300`));
      process.kill(pids(session)[1], 'SIGKILL');
      const next = { runId: 'train-x1-a2', epoch: 2, ...withDevices([device], 100) };
      assert.equal(await outputOf(session.connection, 'echo mine', next), 'mine\n');
    }));

  it('names who has the accelerator when it is not let go, and can be started again', () =>
    withHost(async (session) => {
      const { device, holder } = busyDevice(session);
      const busy = request('echo mine', withDevices([device], 300));
      const status = await session.connection.startRun(busy);
      assert.equal(
        status.kind === 'blocked' && status.message,
        `accelerator devices (${device}) are in use by process ${holder.pid} (sleep 300)`,
      );
      assert.deepEqual(await session.connection.runStatus('train-x1-a1'), status);
      assert.ok(!existsSync(join(session.host.home, '.jobctl/starts.log')));
      holder.kill('SIGKILL');
      await session.connection.startRun(busy);
      assert.equal((await ended(session.connection)).code, 0);
    }));

  it('stops waiting for an accelerator when the run is stopped', () =>
    withHost(async (session) => {
      const { device, holder } = busyDevice(session);
      const started = session.connection.startRun(request('echo mine', withDevices([device], 60_000)));
      await until('the wait', async () =>
        (await session.connection.runStatus('train-x1-a1')).kind === 'starting' ? true : undefined,
      );
      assert.deepEqual(await session.connection.stopRun('train-x1-a1', 100, NOTICE), { kind: 'absent' });
      assert.deepEqual(await started, { kind: 'absent' });
      holder.kill('SIGKILL');
    }));
});

const withDevices = (
  devices: readonly string[],
  waitMs: number,
  lockFiles: readonly string[] = [],
): Partial<RunRequest> => ({
  accelerator: { devices, lockFiles, waitMs },
});

/** A file in place of a device: what is looked at is who has it open. */
function busyDevice({ host }: HostSession): { device: string; holder: ReturnType<typeof spawn> } {
  mkdirSync(join(host.home, 'vfio'));
  const device = join(host.home, 'vfio/0');
  writeFileSync(device, '');
  return { device, holder: holderOf(device) };
}

function isLocked(file: string): boolean {
  return readFileSync('/proc/locks', 'utf8').includes(`:${statSync(file).ino} `);
}

function holderOf(file: string): ReturnType<typeof spawn> {
  const opened = openSync(file, 'r');
  const holder = spawn('sleep', ['300'], { stdio: [opened, 'ignore', 'ignore'] });
  closeSync(opened);
  return holder;
}

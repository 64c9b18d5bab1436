import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RunRequest } from '../../cloud/hosts/port.js';
import { until } from '../until.js';
import { ended, NOTICE, outputOf, request } from './run.js';
import { type HostSession, withHost } from './session.js';

const FOREVER = "trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.05 & wait $!; done";
const hook = (script: string, timeoutMs = 5_000): Pick<RunRequest, 'preemptionHook'> => ({
  preemptionHook: { script, timeoutMs },
});
const QUOTA = { cause: 'quota', reason: 'a test takes it' } as const;

/** A run that prints `up` before this resolves. */
async function running(session: HostSession, more: Partial<RunRequest>, script = FOREVER): Promise<void> {
  await session.connection.startRun(request(script, more));
  await until('it runs', () => session.read('.jobctl/runs/train-x1-a1/output').includes('up'));
}
const output = (session: HostSession): string => session.read('.jobctl/runs/train-x1-a1/output');

describe('the on-host runner: the hook preemption', () => {
  it('runs before the command is told to end, with its environment, and says how it ended', () =>
    withHost(async (session) => {
      const script = 'echo "saving for $JOBCTL_HOOK_CAUSE with $TOKEN as $JOBCTL_HOOK"; exit 7';
      await running(session, { env: { TOKEN: 't-1' }, ...hook(script) });
      const status = await session.connection.stopRun('train-x1-a1', 5_000, QUOTA);
      assert.equal(status.kind, 'exited');
      assert.match(
        output(session),
        /^up\njobctl: hook preemption begins \(cause: quota\), with 5000 ms\nsaving for quota with t-1 as preemption\njobctl: hook preemption ended with code 7 after \d+ ms\ntold\n$/,
      );
      assert.ok(!existsSync(join(session.host.home, '.jobctl/runs/train-x1-a1/hook.env')), 'its secrets are gone');
    }));

  it('runs once, however often the stop is repeated', () =>
    withHost(async (session) => {
      await running(session, hook('echo saving; sleep 0.5'));
      const stop = () => session.connection.stopRun('train-x1-a1', 5_000, QUOTA);
      await Promise.all([stop(), stop(), stop()]);
      await stop();
      assert.equal(output(session).match(/^saving$/gm)?.length, 1, output(session));
    }));

  it('is killed by its timeout, and the command still has the rest of the grace', () =>
    withHost(async (session) => {
      await running(
        session,
        hook("trap '' TERM; sleep 300 & wait; sleep 300", 300),
        FOREVER.replace('echo told', 'sleep 1; echo told'),
      );
      const status = await session.connection.stopRun('train-x1-a1', 20_000, QUOTA);
      assert.ok(status.kind === 'exited' && status.code === 0, JSON.stringify(status));
      assert.match(output(session), /was killed by its timeout, after \d+ ms\ntold\n$/);
    }));

  it('does not run for a stop that is no preemption, nor after the end', () =>
    withHost(async (session) => {
      await running(session, hook('echo saving'));
      await session.connection.stopRun('train-x1-a1', 5_000, NOTICE);
      await session.connection.stopRun('train-x1-a1', 5_000, QUOTA);
      assert.equal(output(session), 'up\ntold\n');
    }));
});

describe('the on-host runner: ends that the host makes itself', () => {
  it('ends a command with which nobody has spoken for too long, saves first, and says why', () =>
    withHost(async (session) => {
      const more = { maxUnattendedMs: 2_000, graceMs: 5_000, ...hook('echo "saving for $JOBCTL_HOOK_CAUSE"') };
      await running(session, more);
      await until('it ended', () => existsSync(join(session.host.home, '.jobctl/runs/train-x1-a1/exit')));
      const status = await ended(session.connection);
      assert.deepEqual([status.code, status.endedBy, status.isStopped], [0, 'unattended', false]);
      assert.match(output(session), /^up\n.*begins \(cause: unattended\).*\nsaving for unattended\n.*\ntold\n$/);
      assert.match(session.read('.jobctl/runs/train-x1-a1/notice'), /^\{"v":1,"cause":"unattended",.*max_unattended/);
    }));

  it('does not, as long as a worker asks for it', () =>
    withHost(async (session) => {
      await running(session, { maxUnattendedMs: 3_000 });
      const begunAt = Date.now();
      await until('twice that time is over', async () => {
        assert.equal((await session.connection.runStatus('train-x1-a1')).kind, 'running');
        return Date.now() - begunAt > 6_000;
      });
      await session.connection.stopRun('train-x1-a1', 100, NOTICE);
    }));

  it('ends an orphan too', () =>
    withHost(async (session) => {
      await running(session, { maxUnattendedMs: 2_000, graceMs: 5_000 });
      const [, , , supervisor] = session.read('.jobctl/runs/train-x1-a1/begun').split(' ').map(Number);
      process.kill(supervisor as number, 'SIGKILL');
      await until('its processes are gone', () => output(session).includes('told'));
      assert.equal((await session.connection.runStatus('train-x1-a1')).kind, 'lost');
    }));

  it('ends a run that lasts longer than it may', () =>
    withHost(async (session) => {
      await outputOf(session.connection, 'echo up; exec sleep 300', { limitMs: 500 });
      const { signal, endedBy } = await ended(session.connection);
      assert.deepEqual([signal, endedBy], ['SIGTERM', 'limit']);
    }));
});

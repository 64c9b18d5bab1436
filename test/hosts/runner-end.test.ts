import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startNamespace } from './namespace.js';
import { ended, NOTICE, outputOf, pids, request } from './run.js';
import { isAlive, never, withHost } from './session.js';
import { until } from '../until.js';

describe('the on-host runner: evidence after a crash', () => {
  it('says orphaned when the supervisor is killed, lost when the command is too', () =>
    withHost(async (session) => {
      const { connection } = session;
      await connection.startRun(request('echo up; exec sleep 300'));
      const [child, supervisor] = pids(session);
      process.kill(supervisor, 'SIGKILL');
      await until('orphaned', async () =>
        (await connection.runStatus('train-x1-a1')).kind === 'orphaned' ? true : undefined,
      );
      assert.equal((await connection.startRun(request('echo no'))).kind, 'orphaned');
      process.kill(child, 'SIGKILL');
      await until('lost', async () => ((await connection.runStatus('train-x1-a1')).kind === 'lost' ? true : undefined));
      assert.equal((await connection.startRun(request('echo no'))).kind, 'lost');
      assert.deepEqual(session.starts(), ['train-x1-a1']);
    }));

  it('follows an orphaned run to its end', () =>
    withHost(async (session) => {
      await session.connection.startRun(request('echo up; while [ ! -f "$HOME/go" ]; do sleep 0.05; done; echo end'));
      process.kill(pids(session)[1], 'SIGKILL');
      let output = '';
      const followed = session.connection.followOutput(
        'train-x1-a1',
        0,
        (chunk) => {
          output += chunk.toString();
          if (output === 'up\n') writeFileSync(join(session.host.home, 'go'), '');
        },
        never,
      );
      assert.equal(await followed, 7);
      assert.equal(output, 'up\nend\n');
      assert.equal((await session.connection.runStatus('train-x1-a1')).kind, 'lost');
    }));

  it('says lost after a reboot, though a process of the old pid lives', async () => {
    const before = await startNamespace();
    const enter = [...before.enter];
    try {
      await withHost(
        async (session) => {
          const status = await session.connection.startRun(request('echo up; exec sleep 300'));
          assert.equal(status.kind, 'running');
          before.kill();
          const after = await startNamespace();
          enter.splice(0, enter.length, ...after.enter);
          try {
            assert.equal((await session.connection.runStatus('train-x1-a1')).kind, 'lost');
            assert.equal((await session.connection.startRun(request('echo no'))).kind, 'lost');
          } finally {
            after.kill();
          }
        },
        { enter },
      );
    } finally {
      before.kill();
    }
  });

  it('takes another start time of pid 1 for a reboot, though the kernel is the same and the mark is there', () =>
    withHost(async (session) => {
      await session.connection.startRun(request('exec sleep 300'));
      process.kill(pids(session)[1], 'SIGKILL');
      const file = join(session.host.home, '.jobctl/runs/train-x1-a1/begun');
      await until('orphaned', async () =>
        (await session.connection.runStatus('train-x1-a1')).kind === 'orphaned' ? true : undefined,
      );
      writeFileSync(file, readFileSync(file, 'utf8').replace(/:\d+ /, ':1 '));
      assert.equal((await session.connection.runStatus('train-x1-a1')).kind, 'lost');
    }));
});

describe('the on-host runner: stop', () => {
  it('ends what ignores SIGTERM, has a session of its own, has no environment, or was left by a parent', () =>
    withHost(async (session) => {
      const script = `
        trap '' TERM
        echo self $$
        setsid sh -c 'trap "" TERM; while :; do sleep 1; done' & echo setsid $!
        (env -i sleep 300 > /dev/null 2>&1 & echo bare $!)
        (setsid nohup sleep 301 > /dev/null 2>&1 & echo daemon $!)
        echo ready
        while :; do wait; done`;
      await session.connection.startRun(request(script));
      const output = await until('ready', () => {
        const text = session.read('.jobctl/runs/train-x1-a1/output');
        return text.includes('ready') ? text : undefined;
      });
      const all = [...output.matchAll(/ (\d+)$/gm)].map(([, pid]) => Number(pid));
      assert.equal(all.length, 4);
      assert.ok(all.every(isAlive));
      const status = await session.connection.stopRun('train-x1-a1', 200, NOTICE);
      assert.equal(status.kind === 'exited' && status.signal, 'SIGKILL');
      assert.deepEqual(all.filter(isAlive), []);
    }));

  it('gives the grace: a command that saves at SIGTERM ends with its own code, and its last words are kept', () =>
    withHost(async (session) => {
      await session.connection.startRun(
        request(`trap 'sleep 0.2; echo saved; exit 9' TERM; echo up; while :; do sleep 0.05; done`),
      );
      await until('up', () => (session.read('.jobctl/runs/train-x1-a1/output').includes('up') ? true : undefined));
      const status = await session.connection.stopRun('train-x1-a1', 8000, NOTICE);
      assert.equal(status.kind === 'exited' && status.code, 9);
      assert.match(session.read('.jobctl/runs/train-x1-a1/output'), /^up\n(Terminated\n)?saved\n$/);
    }));

  it('puts a whole notice before the signal: who is told by SIGTERM finds out why, and who looks at the file too', () =>
    withHost(async (session) => {
      const { connection } = session;
      await connection.startRun(
        request(
          `trap 'cat "$JOBCTL_NOTICE_FILE"; exit 9' TERM; ls "$JOBCTL_NOTICE_FILE"; echo up; while :; do sleep 0.05; done`,
        ),
      );
      await until('up', () => session.read('.jobctl/runs/train-x1-a1/output').includes('up'));
      await connection.stopRun('train-x1-a1', 8000, {
        cause: 'quota',
        reason: "its chips are for 'train-b' (project \\n)",
      });
      const said = session.read('.jobctl/runs/train-x1-a1/output').split('\n').at(-2) as string;
      assert.deepEqual(JSON.parse(said), {
        v: 1,
        cause: 'quota',
        reason: "its chips are for 'train-b' (project \\n)",
        graceSeconds: 8,
      });
      assert.match(session.read('.jobctl/runs/train-x1-a1/output'), /No such file/, 'it was there before the stop');
    }));

  it('of a run that has ended by itself changes nothing of how it ended', () =>
    withHost(async (session) => {
      const { connection } = session;
      await connection.startRun(request('exit 3'));
      const before = await ended(connection);
      const after = await connection.stopRun('train-x1-a1', 100, NOTICE);
      // Time goes on.
      assert.ok(after.kind === 'exited' && (after.quietMs ?? -1) >= (before.quietMs ?? 0), JSON.stringify(after));
      assert.deepEqual({ ...after, quietMs: 0 }, { ...before, quietMs: 0 });
      assert.equal(before.isStopped, false);
      assert.ok(!existsSync(join(session.host.home, '.jobctl/runs/train-x1-a1/notice')));
    }));

  it('before the start makes that it never starts', () =>
    withHost(async (session) => {
      assert.deepEqual(await session.connection.stopRun('train-x1-a1', 100, NOTICE), { kind: 'absent' });
      assert.deepEqual(await session.connection.startRun(request('echo no')), { kind: 'absent' });
      assert.ok(!existsSync(join(session.host.home, '.jobctl/starts.log')));
    }));

  it('beside a start leaves nothing running, whoever comes first', () =>
    withHost(async ({ connection, another }) => {
      const stopper = await another();
      await stopper.runStatus('warm-a1');
      for (let attempt = 1; attempt <= 8; attempt += 1) {
        const runId = `train-x1-a${attempt}`;
        await Promise.all([
          connection.startRun(request('exec sleep 300', { runId, epoch: attempt })),
          stopper.stopRun(runId, 100, NOTICE),
        ]);
        const { kind } = await connection.runStatus(runId);
        assert.ok(kind === 'absent' || kind === 'exited', `attempt ${attempt}: ${kind}`);
      }
    }));

  it('after the end takes what the command left behind, and changes nothing in the exit code', () =>
    withHost(async ({ connection }) => {
      const output = await outputOf(connection, 'setsid sleep 300 > /dev/null 2>&1 & echo $!; exit 4');
      const left = Number(output);
      assert.ok(isAlive(left));
      const status = await connection.stopRun('train-x1-a1', 100, NOTICE);
      assert.equal(status.kind === 'exited' && status.code, 4);
      assert.ok(!isAlive(left));
    }));
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HostUnreachable } from '../../cloud/hosts/port.js';
import { RUNNER_NAME } from '../../cloud/hosts/runner/index.js';
import { startNamespace } from './namespace.js';
import { ended, NOTICE, outputOf, request } from './run.js';
import { withHost } from './session.js';
import { until } from '../until.js';

describe('the on-host runner: what a command gets', () => {
  it('runs bash with the login files in the home folder, without set -e, and keeps the exit code of the last command', () =>
    withHost(async ({ host, connection }) => {
      writeFileSync(join(host.home, '.bash_profile'), 'FROM_PROFILE=yes');
      const output = await outputOf(connection, 'false\necho $FROM_PROFILE; pwd; cd /\n(exit 7)');
      assert.equal(output, `yes\n${host.home}\n`);
      const { code, signal, outputBytes } = await ended(connection);
      assert.deepEqual({ code, signal, outputBytes }, { code: 7, signal: undefined, outputBytes: output.length });
    }));

  it('gets its environment byte for byte, stderr in the output, and /dev/null to read from', () =>
    withHost(async ({ connection }) => {
      const odd = `it's "$HOME" \`x\` \\ two\nlines é`;
      const output = await outputOf(connection, 'printf "%s|" "$ODD"; echo oops >&2; cat; readlink /proc/self/fd/0', {
        env: { ODD: odd, PATH: '/opt/x:/usr/bin:/bin' },
      });
      assert.equal(output, `${odd}|oops\n/dev/null\n`);
    }));

  it('inherits no file descriptor and no ignored signal', () =>
    withHost(async ({ connection }) => {
      const output = await outputOf(
        connection,
        'for fd in 3 4 5 6 7 8 9 10; do [ -e /proc/$$/fd/$fd ] && echo leak $fd; done; grep SigIgn /proc/self/status',
      );
      assert.equal(output, 'SigIgn:\t0000000000000000\n');
    }));

  it('never has its environment or script in the words of a process, nor the environment on the disk once started', () =>
    withHost(async (session) => {
      const script = 'echo started; : script-s3cret; while [ ! -f "$HOME/go" ]; do sleep 0.05; done';
      await session.connection.startRun(request(script, { env: { TOKEN: 'env-s3cret' } }));
      await until('the command', () =>
        session.read('.jobctl/runs/train-x1-a1/output').includes('started') ? true : undefined,
      );
      const seen = readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .filter((pid) => commandLine(pid).includes('s3cret'));
      writeFileSync(join(session.host.home, 'go'), '');
      assert.deepEqual(seen, []);
      assert.ok(!existsSync(join(session.host.home, '.jobctl/runs/train-x1-a1/env')));
      await ended(session.connection);
    }));

  it('names the signal that ended it', () =>
    withHost(async ({ connection }) => {
      await connection.startRun(request('kill -KILL $$'));
      const { code, signal } = await ended(connection);
      assert.deepEqual({ code, signal }, { code: 137, signal: 'SIGKILL' });
    }));

  it('keeps the exit code when the output fills the disk', async () => {
    const home = await mkdtemp(join(tmpdir(), 'hosts-test-'));
    const small = await startNamespace(`mount -t tmpfs -o size=1m tmpfs ${home}`);
    try {
      await withHost(
        async ({ connection }) => {
          await connection.startRun(request('head -c 4M /dev/zero; exit 5'));
          const status = await ended(connection);
          assert.equal(status.code, 5);
          assert.ok(status.outputBytes > 500_000 && status.outputBytes < 1_048_576, `${status.outputBytes} bytes`);
          assert.equal((await connection.stopRun('train-x1-a1', 100, NOTICE)).kind, 'exited');
        },
        { home, enter: small.enter },
      );
    } finally {
      small.kill();
      await rm(home, { recursive: true });
    }
  });
});

describe('the on-host runner: once', () => {
  it('starts once for eight starters at one time', () =>
    withHost(async ({ another, starts }) => {
      const starters = await Promise.all(Array.from({ length: 8 }, () => another()));
      const answers = await Promise.all(starters.map((starter) => starter.startRun(request('echo once; sleep 0.3'))));
      assert.ok(
        answers.every(({ kind }) => kind === 'starting' || kind === 'running' || kind === 'exited'),
        JSON.stringify(answers),
      );
      await ended(starters[0]!);
      assert.deepEqual(starts(), ['train-x1-a1']);
    }));

  it('starts once when the client dies at any point and another comes', () =>
    withHost(async ({ host, connection, starts }) => {
      let lost = 0;
      for (let delayMs = 0; delayMs < 120; delayMs += 12) {
        const runId = `train-x1-a${delayMs + 1}`;
        const cut = setTimeout(() => host.cut(), delayMs);
        await until('a start that is answered', async () => {
          try {
            await connection.startRun(request('exit 0', { runId, epoch: delayMs + 1 }));
            return true;
          } catch (error) {
            assert.ok(error instanceof HostUnreachable, String(error));
            lost += 1;
            return undefined;
          }
        });
        clearTimeout(cut);
        await until('the end', async () => {
          const status = await connection.runStatus(runId).catch(() => undefined);
          return status?.kind === 'exited' ? true : undefined;
        });
        assert.deepEqual(
          starts().filter((id) => id === runId),
          [runId],
        );
      }
      assert.ok(lost >= 3, `only ${lost} starts were cut: the test shows nothing`);
    }));

  it('never runs a script that did not arrive whole, and starts it when it comes again', () =>
    withHost(async ({ host, connection }) => {
      await connection.runStatus('train-x1-a1');
      const short = spawnSync('sh', [RUNNER_NAME, 'start', 'train-x1-a1', 'train-x1', '1', '0', '0', '0', '100', '0'], {
        cwd: host.home,
        env: { HOME: host.home, PATH: process.env['PATH'] },
        input: 'echo half',
        encoding: 'utf8',
      });
      assert.equal(short.status, 70);
      assert.match(short.stderr, /start of train-x1-a1: the script did not arrive whole.*nothing was started/);
      assert.deepEqual(await connection.runStatus('train-x1-a1'), { kind: 'absent' });
      assert.equal(await outputOf(connection, 'echo whole'), 'whole\n');
    }));

  it('answers a second start with what the first became, whatever its script', () =>
    withHost(async ({ connection, starts }) => {
      await connection.startRun(request('exit 3'));
      await ended(connection);
      const again = await connection.startRun(request('exit 4'));
      assert.equal(again.kind === 'exited' && again.code, 3);
      assert.deepEqual(starts(), ['train-x1-a1']);
    }));

  it('fences an older attempt off once a newer one has begun, and no other job', () =>
    withHost(async ({ connection, starts }) => {
      await connection.startRun(request('exit 0', { runId: 'train-x1-a3', epoch: 3 }));
      const late = await connection.startRun(request('exit 0', { runId: 'train-x1-a2', epoch: 2 }));
      assert.deepEqual(late, { kind: 'fenced', epoch: 3 });
      await connection.startRun(request('exit 0', { runId: 'train-x2-a1', epoch: 1 }));
      await ended(connection, 'train-x2-a1');
      assert.deepEqual(starts(), ['train-x1-a3', 'train-x2-a1']);
    }));
});

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunContainer } from '../../domain/modules/module.js';
import type { RunRequest } from '../../cloud/hosts/port.js';
import { TEST_IMAGE, useDockerDaemon } from '../hosts/docker-daemon.js';
import { ended, NOTICE, outputOf, pids, request } from '../hosts/run.js';
import type { HostSession } from '../hosts/session.js';
import { isAlive, withHost } from '../hosts/session.js';
import { until } from '../until.js';

const HOUR_MS = 3_600_000;

describe('the on-host runner: a command in a container', function () {
  this.timeout(40_000);
  const daemon = useDockerDaemon();

  const onHost = (work: (session: HostSession) => Promise<void>): Promise<void> =>
    withHost(work, { env: daemon().env });
  const inside = (script: string, more: Partial<RunContainer> = {}, run: Partial<RunRequest> = {}): RunRequest =>
    request(script, {
      ...run,
      container: { image: TEST_IMAGE, flags: ['--network=none'], mounts: [], env: {}, ...more },
    });
  const containers = (): string[] => daemon().docker('ps', '-a', '--format', '{{.Names}}').split('\n').filter(Boolean);
  const up = (session: HostSession, word = 'up'): Promise<true> =>
    until(word, () => (session.read('.jobctl/runs/train-x1-a1/output').includes(word) ? true : undefined));

  it('is quiet for as long as nothing inside prints', () =>
    onHost(async (session) => {
      const { host, connection } = session;
      const run = join(host.home, '.jobctl/runs/train-x1-a1');
      const script = 'echo up; until [ -e "$JOBCTL_RUN_DIR/go" ]; do sleep 0.1; done; printf more; sleep 300';
      await connection.startRun(inside(script));
      await up(session);
      const [at, booted] = session.read('.jobctl/runs/train-x1-a1/clock').split(' ').map(Number) as [number, number];
      writeFileSync(join(run, 'clock'), `${at - HOUR_MS} ${booted - HOUR_MS}\n`);
      utimesSync(join(run, 'output'), Date.now() / 1000 - 1800, Date.now() / 1000 - 1800);
      const quiet = await connection.runStatus('train-x1-a1');
      assert.ok(quiet.kind === 'running' && (quiet.quietMs ?? 0) >= HOUR_MS / 2 - 100, JSON.stringify(quiet));
      writeFileSync(join(run, 'go'), '');
      await up(session, 'more');
      const heard = await connection.runStatus('train-x1-a1');
      assert.ok(heard.kind === 'running' && (heard.quietMs ?? HOUR_MS) < HOUR_MS / 4, JSON.stringify(heard));
      await connection.stopRun('train-x1-a1', 0, NOTICE);
    }));

  it('has its environment byte for byte, mounts, workdir and flags, is root there, and its code is the run’s', () =>
    onHost(async (session) => {
      const { host, connection } = session;
      mkdirSync(join(host.home, "it's data"));
      writeFileSync(join(host.home, "it's data/file"), 'read');
      const odd = `it's "$HOME" \`x\` \\ two\nlines é\r`;
      const script = `printf '%s|' "$ODD" "$PLAIN" "$HASH"; id -u; pwd; cat "$OLDPWD/none" "/in side/file"; echo; hostname 2>/dev/null; echo $JOBCTL_RUN_ID; readlink /proc/self/fd/0; exit 7`;
      const output = await outputOf(
        connection,
        script,
        inside(
          script,
          {
            flags: ['--network=none', '--rm', '-it', '-d', '--restart=always', '--env', 'OLDPWD=/tmp'],
            mounts: [`~/it's data:/in side:ro`, '/usr/share'],
            workdir: '/usr/share',
            env: { ODD: odd, PLAIN: ' a b=#"x" ' },
          },
          { env: { PLAIN: 'overridden', HASH: '#no comment' } },
        ),
      );
      assert.equal(
        output,
        `${odd}| a b=#"x" |#no comment|0\n/usr/share\ncat: can't open '/tmp/none': No such file or directory\nread\ntrain-x1-a1\n/dev/null\n`,
      );
      const { code, isStopped } = await ended(connection);
      assert.deepEqual({ code, isStopped }, { code: 7, isStopped: false });
      await until('the container to be removed', () => (containers().length === 0 ? true : undefined));
      for (const name of ['env', 'env.list']) assert.ok(!existsSync(join(host.home, '.jobctl/runs/train-x1-a1', name)));
    }));

  it('stops every process inside with notice and grace, and the code is the command’s own', () =>
    onHost(async (session) => {
      await session.connection.startRun(
        inside(
          `trap 'cat "$JOBCTL_NOTICE_FILE"; sleep 0.3; exit 9' TERM
           setsid bash -c 'trap "echo daemon told; exit" TERM; while :; do sleep 0.1; done' & echo up; while :; do sleep 0.1; done`,
        ),
      );
      await up(session);
      assert.deepEqual(containers(), ['jobctl-train-x1-a1-h0-2']);
      const status = await session.connection.stopRun('train-x1-a1', 8000, NOTICE);
      assert.equal(status.kind === 'exited' && status.code, 9);
      assert.ok(status.kind === 'exited' && status.isStopped);
      const output = session.read('.jobctl/runs/train-x1-a1/output');
      assert.match(output, /daemon told/);
      assert.match(output, /"cause":"cancel"/);
      assert.deepEqual(containers(), []);
    }));

  it('kills what ignores SIGTERM once the grace is over, and removes it', () =>
    onHost(async (session) => {
      await session.connection.startRun(inside(`trap '' TERM; echo up; while :; do sleep 0.1; done`));
      await up(session);
      const status = await session.connection.stopRun('train-x1-a1', 300, NOTICE);
      assert.equal(status.kind === 'exited' && status.signal, 'SIGKILL');
      assert.deepEqual(containers(), []);
    }));

  it('outlives the docker client: all of its output and its exit code are there', () =>
    onHost(async (session) => {
      const go = join(session.host.home, 'go');
      await session.connection.startRun(
        inside(`echo up; while [ ! -f "$D/go" ]; do sleep 0.1; done; seq 1000; exit 5`, {
          mounts: [session.host.home],
          env: { D: session.host.home },
        }),
      );
      await up(session);
      process.kill(pids(session)[0], 'SIGKILL');
      await until('the client to be gone', () => (isAlive(pids(session)[0]) ? undefined : true));
      assert.equal((await session.connection.runStatus('train-x1-a1')).kind, 'running');
      writeFileSync(go, '');
      assert.equal((await ended(session.connection)).code, 5);
      assert.equal(session.read('.jobctl/runs/train-x1-a1/output').trim().split('\n').length, 1001);
    }));

  it('outlives its supervisor: orphaned until it ends, and then its exit code is known', () =>
    onHost(async (session) => {
      const { connection, host } = session;
      const script = `echo up; while [ ! -f "$D/go" ]; do sleep 0.1; done; echo end; exit 6`;
      await connection.startRun(inside(script, { mounts: [host.home], env: { D: host.home } }));
      await up(session);
      for (const pid of pids(session)) process.kill(pid, 'SIGKILL');
      await until('orphaned', async () =>
        (await connection.runStatus('train-x1-a1')).kind === 'orphaned' ? true : undefined,
      );
      assert.equal((await connection.startRun(inside('echo no'))).kind, 'orphaned');
      writeFileSync(join(host.home, 'go'), '');
      assert.equal((await ended(connection)).code, 6);
      assert.equal(session.read('.jobctl/runs/train-x1-a1/output'), 'up\nend\n');
      await connection.stopRun('train-x1-a1', 100, NOTICE);
      assert.deepEqual(containers(), []);
      assert.deepEqual(session.starts(), ['train-x1-a1']);
    }));

  it('without a supervisor is reached by a stop', () =>
    onHost(async (session) => {
      await session.connection.startRun(inside(`trap 'echo saved; exit 4' TERM; echo up; while :; do sleep 0.1; done`));
      await up(session);
      for (const pid of pids(session)) process.kill(pid, 'SIGKILL');
      const status = await session.connection.stopRun('train-x1-a1', 8000, NOTICE);
      assert.equal(status.kind === 'exited' && status.code, 4);
      assert.match(session.read('.jobctl/runs/train-x1-a1/output'), /saved/);
      assert.deepEqual(containers(), []);
    }));

  it('is lost where somebody removed it', () =>
    onHost(async (session) => {
      await session.connection.startRun(inside('echo up; sleep 300'));
      await up(session);
      daemon().docker('rm', '-f', 'jobctl-train-x1-a1-h0-2');
      await until('lost', async () =>
        (await session.connection.runStatus('train-x1-a1')).kind === 'lost' ? true : undefined,
      );
    }));

  it('of an earlier attempt is gone before the next one begins', () =>
    onHost(async (session) => {
      await session.connection.startRun(inside('echo up; sleep 300'));
      await up(session);
      for (const pid of pids(session)) process.kill(pid, 'SIGKILL');
      await session.connection.startRun(inside('sleep 300', {}, { runId: 'train-x1-a2', epoch: 2 }));
      assert.deepEqual(containers(), ['jobctl-train-x1-a2-h0-2']);
      await session.connection.stopRun('train-x1-a2', 0, NOTICE);
    }));

  it('can open as many files as docker allows, up to 100,000', () =>
    onHost(async ({ connection }) => {
      const flags = ['--network=none', '--ulimit', 'nofile=1024:5000'];
      assert.equal(await outputOf(connection, '', inside('ulimit -S -n', { flags })), '5000\n');
    }));

  it('that docker cannot start ends with docker’s words and a code that is not 0', () =>
    onHost(async ({ connection }) => {
      const flags = ['--network=none', '--entrypoint', '/no/such/program'];
      assert.match(await outputOf(connection, '', inside('echo no', { flags })), /no such file or directory/);
      assert.equal((await ended(connection)).code, 127);
    }));

  it('that docker cannot make ends with 125 and docker’s words', () =>
    onHost(async ({ connection }) => {
      const output = await outputOf(connection, '', inside('echo no', { mounts: ['/a:relative'] }));
      assert.match(output, /invalid.*relative/s);
      assert.equal((await ended(connection)).code, 125);
    }));

  it('names what it leaves running as it ends, but not what others run in it', () =>
    onHost(async (session) => {
      const { host, connection } = session;
      const run = inside(
        `setsid sh -c 'echo $$ > /h/pid; exec sleep 2000' < /dev/null > /dev/null 2>&1 &
           echo up; until [ -e /h/go ]; do sleep 0.05; done`,
        { flags: ['--network=none'], mounts: ['~:/h'] },
        { graceMs: 500 },
      );
      await connection.startRun(run);
      await up(session);
      const name = containers()[0] ?? '';
      const other = spawn('docker', ['exec', '-e', 'JOBCTL_RUN_DIR=', name, 'sleep', '1999'], {
        env: { ...process.env, ...daemon().env },
      });
      await until('somebody else in it', () =>
        daemon().docker('top', name).includes('sleep 1999') ? true : undefined,
      );
      writeFileSync(join(host.home, 'go'), '');
      const { code, left } = await ended(connection);
      other.kill();
      assert.equal(code, 0);
      assert.deepEqual(left, { count: 1, named: [{ pid: Number(session.read('pid')), command: 'sleep 2000' }] });
      assert.match(
        session.read('.jobctl/runs/train-x1-a1/output'),
        /^jobctl: .*was ended[^]*^jobctl: {3}\d+ sleep 2000$/m,
      );
    }));

  it('ends when all has ended that it started (wait_for all)', () =>
    onHost(async (session) => {
      const { host, connection } = session;
      const script = `setsid sh -c 'until [ -e /h/go ]; do sleep 0.05; done; echo trained' & echo up`;
      await connection.startRun(inside(script, { mounts: ['~:/h'] }, { waitFor: 'all' }));
      await up(session, 'waiting for');
      writeFileSync(join(host.home, 'go'), '');
      const { code, left } = await ended(connection);
      assert.deepEqual([code, left], [0, undefined]);
      assert.match(session.read('.jobctl/runs/train-x1-a1/output'), /^trained$/m);
    }));

  it('without processes of its own (--pid=host) takes nobody else with it', () =>
    onHost(async (session) => {
      const bystander = spawn('sleep', ['300']);
      try {
        const flags = ['--network=none', '--pid=host'];
        await session.connection.startRun(
          inside(`trap 'echo told; exit 8' TERM; echo up; while :; do sleep 0.1; done`, { flags }),
        );
        await up(session);
        const status = await session.connection.stopRun('train-x1-a1', 8000, NOTICE);
        assert.equal(status.kind === 'exited' && status.code, 8);
        assert.ok(isAlive(bystander.pid!));
        assert.deepEqual(containers(), []);
      } finally {
        bystander.kill('SIGKILL');
      }
    }));

  it('is blocked, not failed, where no daemon answers', () =>
    withHost(
      async ({ connection }) => {
        const status = await connection.startRun(inside('echo no'));
        assert.match(
          status.kind === 'blocked' ? status.message : status.kind,
          /docker does not answer: Cannot connect/,
        );
      },
      { env: { DOCKER_HOST: 'unix:///nowhere.sock' } },
    ));
});

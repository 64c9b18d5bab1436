import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LEFT_BEHIND } from '../../cloud/hosts/runner/container.js';
import { ended, NOTICE, request } from './run.js';
import { type HostSession, isAlive, withHost } from './session.js';
import { until } from '../until.js';

const OUTPUT = '.jobctl/runs/train-x1-a1/output';
/** What trains, for as long as it may. */
const SLEEP = 'sleep 2000';

/** Ways in which people leave a program behind. Each writes its number to $at. */
const WAYS: Readonly<Record<string, string>> = {
  'by &': `${SLEEP} & echo $! > $at`,
  'by & and disown, without an environment': `env -i ${SLEEP} & echo $! > $at; disown`,
  'by nohup': `nohup ${SLEEP} > /dev/null 2>&1 & echo $! > $at`,
  'by nohup in a subshell': `(nohup ${SLEEP} > /dev/null 2>&1 & echo $! > $at)`,
  'by setsid': `setsid sh -c 'echo $$ > $at; exec ${SLEEP}' < /dev/null > ~/log 2>&1 &`,
  'by a double fork': `setsid -f sh -c '(sh -c "echo \\$\\$ > $at; exec ${SLEEP}" &)'`,
  'by tmux': `tmux -S ~/socket new-session -d "sh -c 'echo \\$\\$ > $at; exec ${SLEEP}'"`,
  'out of its session, environment and parents': `(setsid env -i sh -c "echo \\$\\$ > $at; exec ${SLEEP}" < /dev/null > /dev/null 2>&1 &)`,
  'and ignores SIGTERM': `sh -c 'trap "" TERM; echo $$ > $at; exec ${SLEEP}' &`,
};
const begun = 'until [ -s ~/pid ]; do sleep 0.02; done; ';
const pidOf = (session: HostSession): number => Number(session.read('pid'));

describe('the on-host runner: what a command leaves running', () => {
  it('is ended, and named in its output and its exit record', () =>
    withHost(async (session) => {
      const ends = Object.entries(WAYS).map(async ([way, line], number) => {
        const runId = `way${number}-x1-a1`;
        const script = `export at=~/pid-${number}; ${line}\nuntil [ -s $at ]; do sleep 0.02; done`;
        await session.connection.startRun(request(script, { runId, graceMs: 200 }));
        const { code, left } = await ended(session.connection, runId);
        const pid = Number(session.read(`pid-${number}`));
        const said = `${way}: ${JSON.stringify(left)}`;
        assert.ok(code === 0 && left?.named.some((one) => one.pid === pid && one.command === SLEEP), said);
        const output = session.read(`.jobctl/runs/${runId}/output`);
        assert.match(output, new RegExp(`^jobctl: .*was ended[^]*^jobctl: {3}${pid} ${SLEEP}$`, 'm'), way);
        assert.ok(!isAlive(pid), way);
      });
      await Promise.all(ends);
    }));

  it('is not told of what ends by itself shortly after the shell, as a resource tracker does', () =>
    withHost(async (session) => {
      // It waits for the end of the shell, and a moment more.
      const tracker = '(while kill -0 $$ 2> /dev/null; do sleep 0.05; done; sleep 0.2; echo tracked) &';
      await session.connection.startRun(request(`${tracker} echo done`));
      const { code, left } = await ended(session.connection);
      assert.deepEqual([code, left], [0, undefined]);
      assert.equal(session.read(OUTPUT), 'done\ntracked\n');
    }));

  it('is waited for with wait_for all, however it was left', () =>
    withHost(async (session) => {
      const { connection, host } = session;
      const script = `setsid -f sh -c 'echo $$ > ~/pid; until [ -e ~/go ]; do sleep 0.05; done; echo trained'; ${begun}`;
      await connection.startRun(request(script, { waitFor: 'all' }));
      await until('it says that it waits', () =>
        session.read(OUTPUT).includes('waiting for what it has started, whose exit codes are not known')
          ? true
          : undefined,
      );
      assert.equal((await connection.runStatus('train-x1-a1')).kind, 'running');
      writeFileSync(join(host.home, 'go'), '');
      const { code, left } = await ended(connection);
      assert.deepEqual([code, left], [0, undefined]);
      assert.match(session.read(OUTPUT), /^trained$/m);
    }));

  it('is ended by a stop while it is waited for, which is then no success of its own', () =>
    withHost(async (session) => {
      await session.connection.startRun(request(`${SLEEP} & echo $! > ~/pid`, { waitFor: 'all' }));
      await until('its shell has ended', () => (session.read(OUTPUT).includes('waiting') ? true : undefined));
      const status = await session.connection.stopRun('train-x1-a1', 0, NOTICE);
      assert.ok(status.kind === 'exited' && status.isStopped && status.left === undefined, JSON.stringify(status));
      assert.ok(!isAlive(pidOf(session)));
    }));

  it('hides what a command line holds of secrets, and names the first of many', () =>
    withHost(async (session) => {
      const secret = 'k'.repeat(8) + '-1234';
      const script = `for i in 1 2 3 4 5; do sh -c 'echo $$ > ~/pid; exec sleep 2000 2000' "--api-key=${secret}" & done; sh -c 'until [ -e ~/never ]; do sleep 0.1; done' x --token ${secret} & sleep 0.2`;
      await session.connection.startRun(request(script, { graceMs: 200 }));
      const { left } = await ended(session.connection);
      assert.ok(left !== undefined && left.count >= 6 && left.named.length === 3, JSON.stringify(left));
      assert.match(session.read(OUTPUT), new RegExp(`^jobctl: {3}and ${left.count - 3} more$`, 'm'));
      assert.ok(!`${JSON.stringify(left)}${session.read(OUTPUT)}`.includes(secret));
    }));

  it('is named though others end while they are looked at', () => {
    // Numbers of processes begin anew behind the largest, so that one of a moment may come first.
    const script = `${LEFT_BEHIND}\npids="4194301 4194302 4194303 $$"; list_left`;
    const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
    assert.match(stdout, /^4\n\d+ sh -c /);
  });

  it('of a shell that failed is left to the next attempt, which ends it', () =>
    withHost(async (session) => {
      await session.connection.startRun(request(`${SLEEP} & echo $! > ~/pid; exit 3`));
      const { code, left } = await ended(session.connection);
      assert.deepEqual([code, left], [3, undefined]);
      await session.connection.startRun(request('true', { runId: 'train-x1-a2', epoch: 2 }));
      await ended(session.connection, 'train-x1-a2');
      assert.ok(!isAlive(pidOf(session)));
    }));
});

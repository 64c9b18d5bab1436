import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../until.js';
import { jobFile } from '../end-to-end/job-files.js';
import { JobctlUser } from '../end-to-end/jobctl-process.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { withStack } from '../end-to-end/with-stack.js';
import { homesWith } from '../end-to-end/vm-homes.js';

/** Host 2 waits in its set-up until a file is there. */
const HELD = `case $(hostname) in *-w-2) touch ~/held; until [ -e ~/go ]; do sleep 0.2; done;; esac`;
/** Prints on every host the same, and fails on host 2 once host 0 has surely printed. */
const FAILS = `for step in 1 2 3; do echo "step $step loss 0.$step"; done
if [ "$JOBCTL_HOST_INDEX" = 2 ]; then sleep 3; echo 'boom: NaN' >&2; exit 9; fi
exec sleep 300`;

describe('what a person sees of set-up and logs', function () {
  this.timeout(240_000);
  let stack: TestStack;
  let user: JobctlUser;
  withStack((own) => {
    stack = own;
    user = JobctlUser.of(own);
  });
  after(() => user.leave());

  const file = (name: string, job: Record<string, unknown>): string => {
    const path = join(user.home, `${name}.yaml`);
    writeFileSync(path, JSON.stringify(job));
    return path;
  };
  const module = (run: string): Record<string, unknown> => ({
    setup: { modules: ['prepare', 'command'] },
    modules: { prepare: { setup: [{ name: 'fetch', run }] } },
  });

  it('the step that is waited for, while it runs; then one host, and the end of the one that failed', async () => {
    const path = file('held', jobFile(FAILS, module(HELD)));
    const following = user.start('submit', '--wait', '--name', 'held', path);
    const seen = await until(
      'its set-up is seen',
      async () => {
        const { stdout } = await user.run('status', 'held');
        return /prepare 3\/4 hosts, host 2: fetch/.test(stdout) ? stdout : undefined;
      },
      120_000,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${following.stderr()}\n${stack.tail()}`);
    });
    assert.match(String(seen), /phase +setting-up for \S+.*: prepare 3\/4 hosts, host 2: fetch/);
    assert.match((await user.run('why', 'held')).stdout, /is setting up, for .+: prepare 3\/4 hosts, host 2: fetch/);
    const signals = (await stack.jobs.describe('held')).events.filter(({ text }) => text.includes('fetch'));
    assert.deepEqual(signals, [], 'the workflow knows nothing of steps');
    for (const home of homesWith('held', stack.rehearsalDirectory)) writeFileSync(join(home, 'go'), '');

    const { code, stdout, stderr } = await following.finished;
    assert.equal(code, 9, stderr);
    const step = (host: number, at: number): string => `${host} │ step ${at} loss 0.${at}`;
    assert.deepEqual(stdout.trimEnd().split('\n'), [
      ...[step(0, 1), step(0, 2), step(0, 3)],
      ...[step(2, 1), step(2, 2), step(2, 3), '2 │ boom: NaN'],
    ]);
    assert.equal(stderr.split('lines of host 0 of 4 are shown').length, 2, stderr);
    assert.match(stderr, /the last lines of host 2, by which it failed:/);
  });

  it('logs shows the last lines, of some hosts, that match, in JSON, with times', async () => {
    const logs = async (...flags: string[]): Promise<string[]> => {
      const { code, stdout, stderr } = await user.run('logs', 'held', ...flags);
      assert.equal(code, 0, stderr);
      return stdout.trimEnd().split('\n');
    };
    assert.deepEqual(await logs('--tail', '1', '--host', '0'), ['step 3 loss 0.3']);
    assert.deepEqual((await logs('--tail', '1', '--host', '0,2')).toSorted(), ['0 │ step 3 loss 0.3', '2 │ boom: NaN']);
    assert.deepEqual(await logs('--tail', '1', '--grep', 'step [12]', '--host', '2'), ['step 2 loss 0.2']);
    const [first, ...more] = (await logs('-o', 'json', '--host', '2', '--grep', '(?i)nan')).map(
      (line) => JSON.parse(line) as Record<string, unknown>,
    );
    const { time, ...rest } = first ?? {};
    assert.deepEqual([rest, more], [{ attempt: 1, host: 2, stream: 'command', text: 'boom: NaN' }, []]);
    assert.match(String(time), /^20\d\d-.+Z$/);
    assert.match((await logs('--timestamps', '--host', '2', '--tail', '1'))[0] ?? '', /^20\d\d-\S+Z boom: NaN$/);
    assert.equal((await logs('--since', '1h', '-f')).length, 13);
    const none = await user.run('logs', 'held', '--since', '2099-01-01');
    assert.deepEqual([none.code, none.stdout], [0, '']);
    assert.match(none.stderr, /has no output that was stored since 2099-01-01T00:00:00\.000Z/);
    const absent = await user.run('logs', 'held', '--host', '0,4');
    assert.equal(absent.stderr, '--host 4: held has no such host\n  it has 4: 0 to 3\n');
  });

  it('a step is shown as running only while a worker is at it, and of the attempt that is being set up', async () => {
    const shows = (text: string): Promise<unknown> =>
      until(`status shows ${text}`, async () => (await user.run('status', 'left')).stdout.includes(text), 90_000);
    const path = file('left', jobFile('seq 1 200000', module(HELD)));
    await user.run('submit', '--no-verdict', '--name', 'left', path);
    const terminal = user.shell('script -qec "$JOBCTL wait left" /dev/null');
    await shows('prepare 3/4 hosts, host 2: fetch');
    await stack.killWorker();
    await shows('prepare 3/4 hosts; no worker is at it now');
    await stack.startWorker();
    await shows('prepare 3/4 hosts, host 2: fetch, try 2');
    const name = ['modules', 'prepare', 'setup', 0, 'name'];
    await stack.jobs.restart('left', 'tester', { set: [{ path: name, value: 'second' }] });
    await shows('prepare 3/4 hosts, host 2: second');
    await until('the terminal shows it too', () => terminal.stdout().includes('prepare 3/4 hosts, host 2: second'));
    assert.equal((await stack.jobs.row('left')).attempts, 0, 'no command has started');
    for (const home of homesWith('held', stack.rehearsalDirectory)) writeFileSync(join(home, 'go'), '');
    assert.equal((await stack.jobs.wait('left')).result, 'succeeded', stack.tail());
    const { stdout } = await terminal.finished;
    assert.match(stdout, /setting-up +(\dm )?\d+s +prepare 3\/4 hosts, host 2: fetch/);
  });

  it('a closed pipe ends every form of logs quietly', async () => {
    const forms = [
      '-o json',
      '--timestamps',
      '--grep 1',
      '--tail 150000',
      '--since 1h',
      '--host 0,2',
      '--tail 90000 -o json -f',
    ];
    for (const form of forms) {
      const line = `$JOBCTL logs left ${form} | head -1 > /dev/null; echo "\${PIPESTATUS[0]}"`;
      const { stdout, stderr } = await user.shell(line).finished;
      assert.deepEqual([stdout, stderr], ['141\n', ''], form);
    }
  });

  it('after a failed set-up logs shows the lines of the module that failed', async () => {
    const fails = `case $(hostname) in *-w-1) echo 'the bucket does not exist'; exit 7;; esac; until [ -e ~/go ]; do sleep 0.2; done`;
    const { code } = await user.run(
      'submit',
      '--wait',
      '--name',
      'unready',
      file('unready', jobFile('true', module(fails))),
    );
    assert.equal(code, 1);
    const { stdout, stderr } = await user.run('logs', 'unready');
    assert.equal(stdout, 'the bucket does not exist\n');
    assert.equal(
      stderr,
      'the command did not start in attempt 1: the set-up of prepare failed on host 1, step fetch, code 7\n',
    );
  });

  it('that nobody polls the task queue is the first thing that why, status and wait say', async () => {
    const queue = `nobody-${stack.taskQueue}`;
    const says = `no worker polls task queue '${queue}' of namespace '${stack.server.namespace}'`;
    const path = file('idle', jobFile('true'));
    await user.run('submit', '--no-verdict', '--name', 'idle', '--task-queue', queue, path);
    const why = await user.run('why', 'idle');
    assert.equal(why.stdout.split('\n')[0], `idle stands still: ${says}.`);
    assert.match((await user.run('status', 'idle')).stdout, new RegExp(`slices and events are missing: ${says}`));
    const { code, stderr } = await user.run('wait', 'idle', '--timeout', '8s');
    assert.equal(code, 124);
    assert.equal(stderr.split(says).length, 2, stderr);
    await stack.jobs.cancel('idle');
  });
});

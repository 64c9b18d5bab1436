import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { stripVTControlCharacters } from 'node:util';
import { textWidth } from '../../cli/terminal/render/columns.js';
import type { JobView } from '../../contract/job.js';
import { eachOf } from '../../domain/semaphore.js';
import type { Outcome } from '../../domain/job-state.js';
import { quotaFileText } from '../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { jobFile } from '../end-to-end/job-files.js';
import { JobctlUser } from '../end-to-end/jobctl-process.js';
import { TestStack } from '../end-to-end/test-stack.js';

const USERS = ['alice', 'bob', 'carol', 'dave', 'erin'];
/** Room for two v5litepod-4. */
const QUOTA = quotaFileText({ v5litepod: 8 }, { research: { members: USERS, share: 1 } });
const JOBS = 200;

interface Listed {
  readonly jobs: readonly {
    readonly id: string;
    readonly user: string;
    readonly phase: string;
    readonly position?: number;
  }[];
  readonly total: number;
  readonly open: number;
  readonly phases: Readonly<Record<string, { readonly jobs: number; readonly chips?: number }>>;
}

describe('a team of five with 200 jobs in a pool of 8 chips', function () {
  this.timeout(300_000);
  const pool = `board-${randomBytes(3).toString('hex')}`;
  let stack: TestStack;
  let alice: JobctlUser;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ quota: QUOTA, pool });
    alice = JobctlUser.of(stack);
    const tpu = { accelerator: 'v5litepod-4' };
    const job = jobFile('sleep 3600', { name: 'lr', pool, tpu, grace: 1 });
    await eachOf(
      Array.from({ length: JOBS }, (_, index) => index),
      10,
      async (index) => void (await stack.jobs.submit({ job, user: USERS[index % 5] ?? '', name: `lr-${index}` })),
    );
    await until(
      'two run, and all others have their place',
      async () => {
        const { jobs } = await listed('--limit', '300');
        const running = jobs.filter(({ phase }) => phase === 'running').length;
        return running === 2 && jobs.filter(({ position }) => position !== undefined).length === JOBS - 2;
      },
      240_000,
    );
  });
  after(async () => {
    await alice.run('cancel', '--all', '--yes');
    await stack.stop();
    await alice.leave();
  });

  const board = ['--project', 'research'];
  async function listed(...more: string[]): Promise<Listed> {
    const { code, stdout, stderr } = await alice.run('list', ...board, '--output', 'json', ...more);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Listed;
  }

  async function timed(...args: string[]) {
    const start = performance.now();
    const ended = await alice.run(...args);
    return { ...ended, took: performance.now() - start };
  }

  it('sees the two that run, then the line in its order, on one page', async () => {
    const { jobs, total, open, phases } = await listed();
    assert.deepEqual([jobs.length, total, open], [100, JOBS, JOBS]);
    assert.deepEqual(
      jobs.slice(0, 2).map(({ phase }) => phase),
      ['running', 'running'],
    );
    assert.deepEqual(
      jobs.slice(2).map(({ position }) => position),
      Array.from({ length: 98 }, (_, index) => index + 1),
    );
    assert.deepEqual(phases, { running: { jobs: 2, chips: 8 }, queued: { jobs: JOBS - 2, chips: (JOBS - 2) * 4 } });
  });

  for (const columns of [80, 100, 200])
    it(`reads it on a terminal of ${columns} columns: a line a job, and who holds what at the end`, async () => {
      const { text, code } = await alice.onTerminal(columns, ['list', ...board, '--limit', '300']);
      assert.equal(code, 0, text);
      const lines = text.split('\n');
      assert.equal(lines.filter((line) => /^lr-\d+ /.test(line)).length, JOBS);
      for (const line of lines) assert.ok(textWidth(line) <= columns, line);
      assert.equal(lines.at(-1), '2 running (8 chips), 198 queued (792 chips)');
    });

  it('finds by user, name and phase', async () => {
    const carols = await listed('--user', 'carol', '--limit', '300');
    assert.deepEqual([carols.total, new Set(carols.jobs.map(({ user }) => user)).size], [JOBS / 5, 1]);
    const some = await listed('--name', 'lr-1?', '--phase', 'queued,running');
    assert.equal(some.total, 10);
    assert.equal((await listed('--phase', 'failed')).total, 0);
  });

  it('who holds the chips is one command', async () => {
    const { stdout, code } = await alice.run('top', '--pool', pool);
    assert.equal(code, 0);
    const running = (await listed('--phase', 'running')).jobs;
    for (const { id, user } of running) assert.match(stdout, new RegExp(`${id} +${user} `));
  });

  it("asks about a colleague's job, and without a terminal leaves it alone", async () => {
    const { code, stderr } = await alice.run('cancel', 'lr-1', '--by', 'alice');
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^server .*\ncancel: lr-1 is bob's, and you are alice, and there is no terminal to ask on\n {2}--yes /,
    );
    const many = await alice.run('cancel', '--name', 'lr-1?', '--by', 'alice');
    assert.equal(many.code, 2);
    assert.match(
      many.stderr,
      /^server .*\ncancel: the filter means 10 jobs; 8 of 10 jobs are not yours \(you are alice\): /,
    );
    assert.equal((await stack.jobs.row('lr-1')).endedAt, undefined);
  });

  it('on a terminal it shows what the filter means, says whose it is, and takes no for an answer', async () => {
    const { code, text } = await alice.onTerminal(100, ['stop', '--name', 'lr-1?', '--by', 'alice'], 'n\r');
    assert.equal(code, 4, text);
    assert.equal(text.split('\n').filter((line) => /^lr-1\d +research +\w+ +(queued|running) /.test(line)).length, 10);
    // The question moves the cursor.
    assert.match(
      stripVTControlCharacters(text).replaceAll('\r', ''),
      /\n8 of 10 jobs are not yours \(you are alice\): .*\nStop 10 jobs\? \[y\/N\] n\nNothing was changed\.$/,
    );
  });

  it('keeps who cancelled it, where and how; of a stop too', async () => {
    const [first, second] = (await listed('--phase', 'running')).jobs.map(({ id }) => id);
    assert.ok(first !== undefined && second !== undefined);
    const cancelled = await alice.run('cancel', first, '--by', 'zoe', '--yes');
    assert.equal(cancelled.code, 0, cancelled.stderr);
    const waited = await alice.run('wait', first, '--output', 'json');
    const { outcome } = JSON.parse(waited.stdout) as { outcome: Outcome };
    const asker = { by: 'zoe', from: hostname(), verb: 'cancel' };
    const message = `cancelled while running by zoe on ${hostname()} (jobctl cancel)`;
    assert.deepEqual(outcome.cause, { by: 'user', message, asker });
    assert.ok((await alice.run('status', first)).stdout.includes(message));

    const stopped = await alice.run('stop', second, '--by', 'zoe', '--yes');
    assert.equal(stopped.code, 0, stopped.stderr);
    const { stdout } = await alice.run('status', second, '--output', 'json');
    const { view, why } = JSON.parse(stdout) as { view: JobView; why: string };
    assert.deepEqual(view.request, { kind: 'stop', by: 'zoe', from: hostname() });
    assert.match(why, new RegExp(`zoe on ${hostname()} stopped it`));
  });

  it('one that is cancelled while it waits, too, and several at once with one that is not there', async () => {
    const [one, two] = (await listed('--phase', 'queued', '--user', 'dave')).jobs.map(({ id }) => id);
    assert.ok(one !== undefined && two !== undefined);
    const { code, stdout, stderr } = await alice.run('cancel', one, 'no-such', two, '--yes', '--by', 'dave');
    assert.equal(code, 3);
    assert.match(stderr, /^server .*\nno-such: no job 'no-such' .*\n1 of 3 jobs failed\n$/);
    assert.equal(stdout.split('\n').filter((line) => line.includes('its cancel is recorded')).length, 2);
    const done = await alice.run('wait', one, two);
    assert.deepEqual([done.code, done.stdout], [1, ''], done.stderr);
    assert.match(done.stderr, new RegExp(`${one} cancelled in .*: cancelled while queued by dave on `));
  });

  it('ends all that wait in seconds, and waits for them in one command', async () => {
    const [first] = (await listed('--phase', 'queued')).jobs;
    const one = await timed('cancel', first?.id ?? '', '--yes');
    const { total } = await listed('--phase', 'queued');
    const { code, stdout, stderr, took } = await timed('cancel', '--name', 'lr-*', '--phase', 'queued', '--yes');
    assert.equal(code, 0, stderr);
    assert.equal(stdout.trim().split('\n').length, total);
    console.log(`      one job in ${Math.round(one.took)} ms, ${total} jobs in ${Math.round(took)} ms`);
    assert.ok(total > 150 && took < 15 * one.took, `${total} jobs took ${took} ms, one took ${one.took} ms`);
    const waited = await alice.run('wait', '--name', 'lr-*', '--phase', 'queued', '--timeout', '3m');
    assert.ok(waited.code === 0 || waited.code === 1, waited.stderr);
    assert.equal((await listed('--phase', 'queued')).total, 0);
  });

  it('names who cancelled a job that no worker had taken', async () => {
    await stack.stopWorker();
    const { id } = await stack.jobs.submit({ job: jobFile('true', { pool }), user: 'erin' });
    const { code, stderr } = await alice.run('cancel', id, '--by', 'erin');
    assert.equal(code, 0, stderr);
    await stack.startWorker();
    const { cause } = await stack.jobs.wait(id);
    const message = `cancelled before a worker took it by erin on ${hostname()} (jobctl cancel)`;
    assert.deepEqual(cause, { by: 'user', message, asker: { by: 'erin', from: hostname(), verb: 'cancel' } });
  });
});

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { bundleObject } from '../../domain/store-layout.js';
import { firingWorkflowId, scheduleId } from '../../domain/schedule/schedule.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { JobctlUser } from './jobctl-process.js';
import { TestStack } from './test-stack.js';

const TPU = { tpu: { accelerator: 'v5litepod-1' } };
const NEW_YORK = ['--time-zone', 'America/New_York'];
/** On the last day of a year, so that none of these tests meets its time. */
const RARELY = ['--cron', '0 0 31 12 *'];

describe('schedules, on the local stack', function () {
  this.timeout(300_000);
  let stack: TestStack;
  let user: JobctlUser;
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-schedule-'));

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start();
    user = JobctlUser.of(stack);
  });
  after(async () => {
    for (const { name } of await schedules().list()) await schedules().delete(name);
    await user.leave();
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const schedules = () => stack.jobs.schedules();
  const written = (command: string, more: object = {}): string => {
    const file = join(folder, 'job.yaml');
    writeFileSync(file, stringify(jobFile(command, { ...TPU, ...more })));
    return file;
  };
  const create = async (name: string, file: string, ...flags: string[]): Promise<void> => {
    const { code, stderr } = await user.here('schedule', 'create', name, file, ...flags);
    assert.equal(code, 0, stderr);
  };
  const ended = (name: string, firings: number) =>
    until(`${firings} firings of ${name} are over`, async () => {
      const view = await schedules().view(name);
      const states = view.firings.map(({ state }) => state);
      return states.length === firings && states.every((state) => !['open', 'starting', 'unknown'].includes(state));
    });

  /** Its times in a range, as the server counts them. */
  async function timesOf(name: string, from: string, to: string): Promise<readonly string[]> {
    const at = (time: string) => ({ seconds: Date.parse(time) / 1_000, nanos: 0 });
    const { startTime } = await stack.client.workflowService.listScheduleMatchingTimes({
      ...{ namespace: stack.client.options.namespace, scheduleId: scheduleId(name) },
      ...({ startTime: at(from), endTime: at(to) } as object),
    });
    return startTime.map(({ seconds }) => new Date(Number(seconds) * 1_000).toISOString().slice(0, 16));
  }

  it('fires once each night over both changes of the clock, by what Temporal counts and by the jobs that run', async () => {
    await create('late', written('echo late'), '--cron', '30 2 * * *', ...NEW_YORK);
    assert.deepEqual(await timesOf('late', '2026-10-31T00:00:00Z', '2026-11-03T00:00:00Z'), [
      ...['2026-10-31T06:30', '2026-11-01T07:30', '2026-11-02T07:30'],
    ]);
    assert.deepEqual(await timesOf('late', '2027-03-13T00:00:00Z', '2027-03-16T00:00:00Z'), [
      // The clock shows no 02:30 on the 14th: as late as on the night before.
      ...['2027-03-13T07:30', '2027-03-14T07:30', '2027-03-15T06:30'],
    ]);
    await create('early', written('echo early'), '--cron', '30 1 * * *', ...NEW_YORK);
    const night = { start: new Date('2026-10-31T00:00:00Z'), end: new Date('2026-11-03T00:00:00Z') };
    await stack.client.schedule.getHandle(scheduleId('early')).backfill({ ...night, overlap: 'ALLOW_ALL' });
    await ended('early', 4);
    const { firings } = await schedules().view('early');
    assert.deepEqual(Object.fromEntries(firings.map(({ job, state }) => [job, state])), {
      'early-20261031t0530': 'succeeded',
      'early-20261101t0530': 'succeeded',
      'early-20261101t0630': 'skipped',
      'early-20261102t0630': 'succeeded',
    });
    assert.equal((await stack.jobs.find({ name: 'early-*' })).length, 3);
    const status = await user.here('schedule', 'status', 'early');
    assert.match(status.stdout, /2026-11-01 01:30 EST +early-20261101t0630 +skipped +the clock .* was put back/);
  });

  it('starts its job as its creator submitted it, once, though the worker is killed; and lists both', async () => {
    const bundle = join(folder, 'code');
    mkdirSync(bundle, { recursive: true });
    writeFileSync(join(bundle, 'x.txt'), 'of the day it was created\n');
    await create('nightly', written('cat x.txt; sleep 4'), ...RARELY, '--bundle', bundle, '--priority', '2');
    writeFileSync(join(bundle, 'x.txt'), 'later\n');
    const { job = '' } = await schedules().trigger('nightly');
    assert.match(job, /^nightly-\d{8}t\d{4}(\d\d)?$/);
    await stack.killWorker();
    await stack.startWorker();
    const waited = await user.here('wait', job);
    assert.equal(waited.code, 0, waited.stderr);
    const logs = await user.here('logs', job);
    assert.match(logs.stdout, /of the day it was created/);
    const row = await stack.jobs.row(job);
    assert.deepEqual([row.schedule, row.attempts], ['nightly', 1]);
    await ended('nightly', 1);
    const listed = await user.here('schedule', 'ls');
    assert.match(
      listed.stdout,
      new RegExp(`^nightly +0 0 31 12 \\* +UTC +\\S+ +active +\\d{4}-12-31 00:00 UTC +${job} succeeded`, 'm'),
    );
    assert.match((await user.here('status', job)).stdout, /schedule +jobctl schedule status nightly/);
    const again = await user.here('schedule', 'create', 'nightly', written('true'), ...RARELY);
    assert.equal(again.code, 4);
    assert.match(again.stderr, /a schedule named 'nightly' is there already, with other content/);
  });

  it('under skip starts none beside another, and under cancel ends the other first', async () => {
    await create('long', written('sleep 600'), ...RARELY);
    const { job: first = '' } = await schedules().trigger('long');
    const second = await user.here('schedule', 'trigger', 'long');
    assert.equal(second.code, 4, second.stdout);
    assert.match(second.stderr, /schedule long did not fire: the job before has not ended, and its overlap is skip/);
    await stack.jobs.cancel(first);
    await ended('long', 1);
    await create('fresh', written('sleep 600'), ...RARELY, '--overlap', 'cancel');
    const { job: old = '' } = await schedules().trigger('fresh');
    await until('it runs', async () => (await stack.jobs.row(old)).phase === 'running');
    await schedules().trigger('fresh');
    const { result, cause } = await stack.jobs.wait(old);
    assert.deepEqual([result, cause?.asker?.by], ['cancelled', 'schedule fresh']);
    await until('the other one begins', async () => (await schedules().view('fresh')).firings[0]?.state === 'open');
    const { firings } = await schedules().view('fresh');
    assert.deepEqual(
      firings.map(({ state }) => state),
      ['open', 'cancelled'],
    );
    await schedules().delete('fresh');
    await stack.jobs.cancel(firings[0]?.job ?? '');
    assert.equal((await user.here('schedule', 'status', 'fresh')).code, 3);
  });

  it('starts a group for an array, which it waits for and cancels', async () => {
    const file = written('test "${array.n}" = 1', { array: { matrix: { n: '1..2' } }, retries: { task: 0 } });
    await create('grid', file, ...RARELY, '--overlap', 'cancel');
    const { job: first = '' } = await schedules().trigger('grid');
    assert.match(first, /^grid-\d{8}t\d{4}(\d\d)?$/);
    await ended('grid', 1);
    const { members, firings } = await schedules().view('grid');
    assert.deepEqual([members, firings[0]?.state], [2, 'failed'], 'one of its members fails');
    const status = await user.here('schedule', 'status', 'grid');
    assert.match(status.stdout, /slice +2 jobs of v5litepod-1/);
    const { counts } = JSON.parse((await user.here('status', first, '-o', 'json')).stdout) as { counts: object };
    assert.deepEqual(
      Object.entries(counts).filter(([, number]) => number > 0),
      [
        ['succeeded', 1],
        ['failed', 1],
      ],
    );
    assert.match((await user.here('retry', first, '--failed')).stdout, /^1 member of group .* runs again/);
    const row = await stack.jobs.row(`${first}-0`);
    assert.equal(row.schedule, 'grid');
  });

  it('says why it started no job: a file that is gone, and a job that a worker refuses', async () => {
    const bundle = join(folder, 'gone');
    mkdirSync(bundle, { recursive: true });
    writeFileSync(join(bundle, 'y.txt'), 'y');
    await create('gone', written('true'), ...RARELY, '--bundle', bundle);
    const described = await stack.client.schedule.getHandle(scheduleId('gone')).describe();
    const [{ submission }] = described.action.args as [{ submission: { files: Record<string, string> } }];
    await stack.store.remove(bundleObject(Object.values(submission.files)[0] ?? ''));
    await create('refused', written('true', { secrets: { TOKEN: 'secret:nobody' } }), ...RARELY);
    const triggered = await user.here('schedule', 'trigger', 'gone');
    assert.equal(triggered.code, 4, triggered.stdout);
    assert.match(triggered.stderr, /the bucket no longer has bundle:/);
    await schedules().trigger('refused');
    for (const name of ['gone', 'refused']) await ended(name, 1);
    const [gone] = (await schedules().view('gone')).firings;
    assert.deepEqual(
      [gone?.state, /the bucket no longer has bundle:/.test(gone?.why ?? '')],
      ['not-started', true],
      gone?.why,
    );
    const [refused] = (await schedules().view('refused')).firings;
    assert.equal(refused?.state, 'refused');
    assert.match(refused?.why ?? '', /secret/);
    assert.match((await user.here('schedule', 'ls')).stdout, /^gone .* not-started: the bucket no longer has/m);
  });

  it('pauses with a reason, fires by hand meanwhile, and goes on', async () => {
    await create('paused', written('true'), '--cron', '0 3 * * *');
    const said = await user.here('schedule', 'pause', 'paused', '--reason', 'the data is late');
    assert.match(said.stdout, /^schedule paused is paused: /);
    const status = await user.here('schedule', 'status', 'paused');
    assert.match(status.stdout, /state +paused by \S+: the data is late/);
    const { job = '' } = await schedules().trigger('paused');
    assert.equal((await stack.jobs.wait(job)).result, 'succeeded');
    assert.match((await user.here('schedule', 'resume', 'paused')).stdout, /goes on: next at .*T03:00:00/);
  });

  it('gives each firing a workflow of its own, which is over with its job', async () => {
    await ended('paused', 1);
    const [firing] = (await schedules().view('paused')).firings;
    const at = firing?.at ?? 0;
    const { status, memo } = await stack.client.workflow
      .getHandle(firingWorkflowId({ schedule: 'paused', at }))
      .describe();
    assert.deepEqual([status.name, memo?.['state']], ['COMPLETED', 'succeeded']);
  });
});

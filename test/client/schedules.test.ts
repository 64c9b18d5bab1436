import assert from 'node:assert/strict';
import { Client } from '@temporalio/client';
import { JobClient } from '../../client/job-client.js';
import { timeInZone } from '../../cli/commands/verbs/schedule.js';
import type { ScheduleWish } from '../../client/schedule-wish.js';
import { firingJobId, firingWorkflowId, scheduleId } from '../../domain/schedule/schedule.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { until } from '../until.js';

const jobOf = (more: object = {}): object => ({
  ...{ name: 'train', tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' }, command: { run: 'true' } },
  ...more,
});
const NEW_YORK = 'America/New_York';

/** No worker polls: schedules are there, and start no job. */
describe('schedules of a client', function () {
  this.timeout(60_000);
  let client: Client;
  let jobs: JobClient;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const { connection, namespace } = await testServer();
    client = new Client({ connection, namespace });
    jobs = await JobClient.connect({ client, taskQueue: 'nobody-polls-schedules' });
  });
  after(async () => {
    for (const { name } of await jobs.schedules().list()) await jobs.schedules().delete(name);
  });

  const create = (name: string, more: Partial<ScheduleWish> = {}) =>
    jobs.schedules().create({ name, cron: '30 2 * * *', job: jobOf(), user: 'alice', ...more });
  const rejects = (call: Promise<unknown>, name: string, why: RegExp): Promise<void> =>
    assert.rejects(call, (error: Error) => {
      assert.equal(error.name, name);
      assert.match(error.message, why);
      return true;
    });

  /** Its times in a range, as the server counts them. */
  async function timesOf(name: string, from: string, to: string): Promise<readonly string[]> {
    const at = (day: string) => ({ seconds: Date.parse(day) / 1_000, nanos: 0 });
    const { startTime } = await client.workflowService.listScheduleMatchingTimes({
      ...{ namespace: client.options.namespace, scheduleId: scheduleId(name) },
      ...({ startTime: at(from), endTime: at(to) } as object),
    });
    return startTime.map(({ seconds }) => new Date(Number(seconds) * 1_000).toISOString().slice(5, 16));
  }

  it('fire once on each night of a spring, by what Temporal counts', async () => {
    await create('spring', { timeZone: NEW_YORK });
    assert.deepEqual(await timesOf('spring', '2027-03-13', '2027-03-16'), [
      // The clock shows no 02:30 on the 14th.
      ...['03-13T07:30', '03-14T07:30', '03-15T06:30'],
    ]);
    assert.deepEqual(await timesOf('spring', '2026-10-31', '2026-11-03'), [
      ...['10-31T06:30', '11-01T07:30', '11-02T07:30'],
    ]);
    await create('hourly', { cron: '30 * * * *', timeZone: NEW_YORK });
    assert.equal((await timesOf('hourly', '2027-03-13', '2027-03-16')).length, 72, 'every hour is every hour');
  });

  it('fire on days of the month or of the week, as in every crontab', async () => {
    await create('either', { cron: '0 2 1 * mon' });
    assert.deepEqual(await timesOf('either', '2026-11-30', '2026-12-09'), [
      '11-30T02:00',
      '12-01T02:00',
      '12-07T02:00',
    ]);
  });

  it('are made once under a name, and shown with whose they are', async () => {
    const first = await create('once', { job: jobOf({ project: 'vision' }), overlap: 'queue' });
    assert.deepEqual([first.isNew, first.next.length], [true, 5]);
    assert.equal((await create('once', { job: jobOf({ project: 'vision' }), overlap: 'queue' })).isNew, false);
    await rejects(create('once', { cron: '31 2 * * *' }), 'JobNameTaken', /a schedule named 'once' is there already/);
    const { name, cron, timeZone, overlap, user, project, pool, slice, isPaused, fired } = await jobs
      .schedules()
      .view('once');
    assert.deepEqual([name, cron, timeZone, overlap], ['once', '30 2 * * *', 'UTC', 'queue']);
    assert.deepEqual([user, project, pool, slice], ['alice', 'vision', 'default', 'v5litepod-1']);
    assert.deepEqual([isPaused, fired], [false, 0]);
    await until('it is listed', async () => {
      const row = (await jobs.schedules().list()).find((each) => each.name === 'once');
      return row?.user === 'alice' && row.next[0] === first.next[0];
    });
    const { policies } = await client.schedule.getHandle(scheduleId('once')).describe();
    assert.deepEqual(
      [policies.overlap, policies.catchupWindow],
      ['BUFFER_ONE', 86_400_000],
      'one night is made up for',
    );
  });

  const WRONG: Readonly<Record<string, readonly [Partial<ScheduleWish>, RegExp]>> = {
    'a cron that never comes': [{ cron: '0 0 30 2 *' }, /^cron: '0 0 30 2 \*' never comes/],
    'a cron with seconds': [{ cron: '0 0 2 * * *' }, /^cron: '.*' has 6 fields/],
    'one that comes too often': [{ cron: '* * * * *' }, /^cron: '.*' has times 1 minute apart/],
    'a zone that is none': [
      { timeZone: 'America/New_Yrok' },
      /^timeZone: 'America\/New_Yrok' is no time zone\n +did you mean America\/New_York\?/,
    ],
    'a policy that is none': [
      { overlap: 'terminate' as never },
      /^overlap: 'terminate' is no overlap policy\n +known: skip/,
    ],
    'a name that is too long': [{ name: 'a'.repeat(35) }, /^name: 'a+' is no name\n .*34 characters at most/],
    'an array for whose members a name is too long': [
      { name: 'a'.repeat(30), job: jobOf({ array: { matrix: { n: '1..3' } } }) },
      /^name: the group of each time has an id such as 'a+-19700101t000001' has 46 characters, and 44 are the most/,
    ],
    'an array that waits for others': [
      { job: jobOf({ after: 'prep', array: { matrix: { n: '1..3' } } }) },
      /^after: names jobs that end once/,
    ],
    'inputs to wait for': [
      { job: jobOf({ inputs: { data: 'prep' } }) },
      /^inputs: names jobs that end once.*\n +`wait: false` in each/,
    ],
    'others to wait for': [{ job: jobOf({ after: 'prep' }) }, /^after: names jobs that end once/],
    'a node to adopt': [
      { job: jobOf({ tpu: { accelerator: 'v5litepod-8', zone: 'us-central1-a', adopt: 'by-hand' } }) },
      /^tpu\.adopt: needs the word of the owner of the node for each job/,
    ],
    'a wrong job file': [{ job: jobOf({ slices: 0 }) }, /^slices: 0 is not a whole number/],
    'all at once': [{ name: 'No', cron: 'x', timeZone: 'y' }, /^name: .*\n.*\ncron: .*\n.*\ntimeZone: /],
  };
  for (const [what, [wish, why]] of Object.entries(WRONG))
    it(`are refused with ${what}`, () => rejects(create('wrong', wish), 'JobInvalid', why));

  it('are paused with a reason, go on, and are gone when they are deleted', async () => {
    await create('life');
    const schedules = jobs.schedules();
    await schedules.pause('life', 'bob', 'the data is late');
    const { isPaused, note } = await schedules.view('life');
    assert.deepEqual([isPaused, note], [true, 'paused by bob: the data is late']);
    assert.match(await schedules.resume('life', 'bob'), /goes on: next at .*T02:30:00\.000Z/);
    await schedules.delete('life');
    const calls = [
      () => schedules.view('life'),
      () => schedules.delete('life'),
      () => schedules.trigger('life'),
      () => schedules.view('../x'),
    ];
    for (const call of calls) await rejects(call(), 'ScheduleNotFound', /^no schedule '.*' in namespace/);
    await create('life', { cron: '@hourly' });
  });

  it('that fire by hand without a worker say that the job waits for one, and under skip fire no second time', async () => {
    await create('hand');
    const { message, job } = await jobs.schedules().trigger('hand');
    assert.match(message, /^schedule hand fires: job hand-\d{8}t\d{4,6} starts as soon as a worker takes it$/);
    const [firing] = (await jobs.schedules().view('hand')).firings;
    assert.deepEqual([firing?.job, firing?.state], [job, 'starting']);
    await rejects(jobs.schedules().trigger('hand'), 'JobRefused', /did not fire: .* its overlap is skip$/);
  });

  it('that fire by hand in one second have a job for each', async () => {
    await create('quick', { overlap: 'allow' });
    const second = Math.floor(Date.now() / 1_000) * 1_000;
    // Firings of this moment, as other people's triggers have made them.
    for (let ahead = 0; ahead < 4; ahead++)
      await client.workflow.start('firing', {
        ...{ workflowId: firingWorkflowId({ schedule: 'quick', at: second + ahead * 1_000 }), args: [] },
        taskQueue: 'nobody-polls-schedules',
      });
    const { job = '' } = await jobs.schedules().trigger('quick');
    assert.equal(job, firingJobId({ schedule: 'quick', at: second + 4_000 }));
  });

  it('that fire by hand under queue say so if another one waits already', async () => {
    await create('line', { overlap: 'queue' });
    await jobs.schedules().trigger('line');
    const second = await jobs.schedules().trigger('line');
    assert.match(second.message, /^schedule line fires as soon as its overlap policy lets it/);
    await rejects(jobs.schedules().trigger('line'), 'JobRefused', /another firing waits .* its overlap is queue$/);
    assert.equal((await jobs.schedules().view('line')).waiting, 1);
  });

  it('are listed beside one that another service made under a name of theirs', async () => {
    await client.schedule.create({
      scheduleId: scheduleId('foreign'),
      spec: { calendars: [{ hour: 3 }] },
      action: { type: 'startWorkflow', workflowType: 'firing', taskQueue: 'nobody-polls-schedules' },
    });
    const { cron, timeZone, createdAt, next } = await until('the foreign schedule is listed', async () =>
      (await jobs.schedules().list()).find(({ name }) => name === 'foreign'),
    );
    assert.deepEqual([cron, timeZone, createdAt], ['-', '-', 0]);
    assert.match(timeInZone(next[0] ?? 0, timeZone), /^20\d\d-\d\d-\d\d 03:00 UTC$/);
  });
});

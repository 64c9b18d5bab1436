import assert from 'node:assert/strict';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { cloudIsEmpty } from './nothing-left.js';
import type { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import type { TestStack } from './test-stack.js';
import { withStack } from './with-stack.js';

const ONE_HOST = { accelerator: 'v5litepod-8' };

/** Other ways of a job than those of job-life.test.ts; more of them: job-ways.live.test.ts. */
describe('a job, from submit to its outcome, by other ways', function () {
  this.timeout(90_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((...own) => {
    [stack, admin] = own;
  });

  const log = (id: string, attempt: number, host: number): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host, attempt });

  const nothingLeft = (): Promise<void> => cloudIsEmpty(admin);

  it('runs a gang of two slices, each host knowing its place', async () => {
    const { id } = await stack.jobs.submit({
      job: jobFile(
        'echo "$JOBCTL_SLICE_INDEX/$JOBCTL_NUM_SLICES $JOBCTL_HOST_INDEX $JOBCTL_NUM_TASKS $MEGASCALE_SLICE_ID"',
        { slices: 2, tpu: { accelerator: 'v4-16', zone: 'us-central2-b' } },
      ),
    });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.deepEqual(await Promise.all([0, 1, 2, 3].map((host) => log(id, 1, host))), [
      '0/2 0 4 0\n',
      '0/2 1 4 0\n',
      '1/2 0 4 1\n',
      '1/2 1 4 1\n',
    ]);
    await nothingLeft();
  });

  it('is a member of an array, whose group hears how it ended', async () => {
    const array = { matrix: { code: [0, 3] } };
    const { id, members } = await stack.jobs.submit({
      job: jobFile('exit ${array.code}', { tpu: ONE_HOST, retries: { task: 0 }, array }),
    });
    assert.equal(members, 2);
    assert.equal((await stack.jobs.waitGroup(id)).marks, 'sf', stack.tail());
    await nothingLeft();
  });

  it('is cancelled with its group', async () => {
    const array = { matrix: { i: '1..3' }, max_parallel: 1 };
    const { id } = await stack.jobs.submit({ job: jobFile('sleep 600', { tpu: ONE_HOST, array }) });
    await until('the first member runs', async () =>
      (await stack.jobs.find({ group: id })).some(({ phase }) => phase === 'running'),
    );
    await stack.jobs.cancelGroup(id, { by: 'alice' });
    assert.equal((await stack.jobs.waitGroup(id)).marks, 'ccc', stack.tail());
    assert.match((await stack.jobs.wait(`${id}-0`)).cause?.message ?? '', /by alice/);
    await nothingLeft();
  });

  it('is started by a schedule, which ends it first where the next one comes', async () => {
    const schedules = stack.jobs.schedules();
    const job = jobFile('sleep 600', { tpu: ONE_HOST });
    await schedules.create({ name: 'yearly', cron: '0 0 31 12 *', overlap: 'cancel', job, user: 'alice' });
    const { job: first = '' } = await schedules.trigger('yearly');
    await until('it runs', async () => (await stack.jobs.row(first)).phase === 'running');
    await schedules.trigger('yearly');
    assert.match((await stack.jobs.wait(first)).cause?.message ?? '', /by schedule yearly/);
    const second = await until('another one is there', async () => {
      const [last] = (await schedules.view('yearly')).firings;
      return last?.state === 'open' && last.job !== first && (await stack.jobs.row(last.job).catch(() => undefined));
    });
    await schedules.delete('yearly');
    await stack.jobs.cancel(second.id);
    assert.equal((await stack.jobs.wait(second.id)).result, 'cancelled');
    await nothingLeft();
  });

  it('adopts the slice of a create whose answer was lost', async () => {
    await admin.post('refuse', {
      method: 'CreateQueuedResource',
      code: 'DEADLINE_EXCEEDED',
      times: 1,
      afterEffect: true,
    });
    const { id } = await stack.jobs.submit({ job: jobFile('true', { tpu: ONE_HOST }) });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    const creates = (await admin.journal()).filter(
      ({ kind, details, subject }) =>
        kind === 'queued-resource-state' && details.from === 'absent' && subject.includes(id),
    );
    assert.equal(creates.length, 1, 'one queued resource, not two');
    await nothingLeft();
  });

  it('goes to the next zone when the first has no capacity', async () => {
    await admin.post('configure', { capacity: { 'us-central1-a/v5litepod': 0 } });
    const { id } = await stack.jobs.submit({
      job: jobFile('true', { tpu: { ...ONE_HOST, zone: undefined, zones: ['us-central1-a', 'us-west4-a'] } }),
    });
    await admin.post('refuse', {
      method: 'CreateQueuedResource',
      code: 'RESOURCE_EXHAUSTED',
      times: 1,
      nameMatches: id,
      message:
        'There is no more capacity in the zone "us-central1-a"; you can try in another zone where Cloud TPU Nodes are offered',
    });
    const outcome = await stack.jobs.wait(id);
    await admin.post('configure', { capacity: {} });
    assert.equal(outcome.result, 'succeeded', stack.tail());
    assert.match(
      (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n'),
      /Cloud TPU refused slice 0 in us-central1-a: There is no more capacity/,
    );
    await nothingLeft();
  });

  it('a worker that is told to stop hands its jobs over: the command goes on, started once, no line lost', async () => {
    const command = 'for n in $(seq 40); do echo "line $n of start $(grep -c . ~/.jobctl/starts.log)"; sleep 0.2; done';
    const { id } = await stack.jobs.submit({ job: jobFile(command) });
    await until('every host has printed', async () =>
      (await Promise.all([0, 1, 2, 3].map((host) => log(id, 1, host)))).every((text) => text.includes('line 2')),
    );
    await stack.stopWorker();
    await stack.startWorker();
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts], ['succeeded', 1], stack.tail());
    const want = Array.from({ length: 40 }, (_, index) => `line ${index + 1} of start 1\n`).join('');
    for (const host of [0, 1, 2, 3]) assert.equal(await log(id, 1, host), want);
    const events = (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
    assert.doesNotMatch(events, /is gone/, 'it was handed over, not missed');
  });
});

import assert from 'node:assert/strict';
import { Client } from '@temporalio/client';
import { readRefusal, startFiring } from '../../activities/firings.js';
import type { GroupMemo } from '../../contract/group.js';
import type { JobInput, JobMemo } from '../../contract/job.js';
import type { StartedFiring } from '../../contract/schedule.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import { fileObject } from '../../domain/store-layout.js';
import { MapStore } from '../cli/map-store.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';

const QUEUE = 'nobody-polls-firings';
const AT = Date.parse('2026-11-01T06:30:00Z');
const SHA256 = 'a'.repeat(64);
const submissionOf = (more: object = {}): JobInput => ({
  v: 1,
  job: {
    ...{ name: 'train', tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' }, command: { run: 'true' } },
    ...more,
  },
  user: 'alice',
});

describe('the activities of a firing, on a real server', function () {
  this.timeout(60_000);
  let client: Client;
  const store = new MapStore();

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const { connection, namespace } = await testServer();
    client = new Client({ connection, namespace });
  });

  const start = (schedule: string, submission = submissionOf(), wallClock?: string): Promise<StartedFiring> => {
    const means = { store: store as never, installation: { taskQueue: QUEUE } };
    return startFiring(client, means, {
      ...{ firing: { schedule, at: AT }, submission },
      ...(wallClock !== undefined && { wallClock }),
    });
  };
  const describeJob = (id: string) => client.workflow.getHandle(id).describe();

  it('start a job with a row of its own, and a second time start nothing', async () => {
    assert.deepEqual(await start('fa'), { kind: 'started' });
    const { type, memo, searchAttributes, runId } = await describeJob('fa-20261101t0630');
    const { name, schedule } = memo as unknown as JobMemo;
    assert.deepEqual([type, name, schedule], [WorkflowType.Job, 'train', 'fa']);
    assert.deepEqual([searchAttributes['JobUser'], searchAttributes['JobPhase']], [['alice'], ['queued']]);
    assert.deepEqual(await start('fa'), { kind: 'started' });
    assert.equal((await describeJob('fa-20261101t0630')).runId, runId);
  });

  it('start a group for an array, and a second time start nothing', async () => {
    const array = submissionOf({ array: { matrix: { n: '1..3' } } });
    assert.deepEqual(await start('fg', array), { kind: 'started' });
    const { type, memo, searchAttributes, runId } = await describeJob('group/fg-20261101t0630');
    const { name, schedule, members } = memo as unknown as GroupMemo;
    assert.deepEqual([type, name, schedule, members], [WorkflowType.Group, 'train', 'fg', 3]);
    assert.deepEqual([searchAttributes['JobUser'], searchAttributes['JobGroup']], [['alice'], ['fg-20261101t0630']]);
    assert.deepEqual(await start('fg', array), { kind: 'started' });
    assert.equal((await describeJob('group/fg-20261101t0630')).runId, runId);
    await start('fh');
    const taken = { kind: 'not-started', why: 'another job has the id fh-20261101t0630' };
    assert.deepEqual(await start('fh', array), taken, 'verbs would not know which is meant');
  });

  it('start none for a firing that was cancelled, and know the one that it has', async () => {
    const means = { store: store as never, installation: { taskQueue: QUEUE } };
    const cancelled = (schedule: string) =>
      startFiring(client, means, { firing: { schedule, at: AT }, submission: submissionOf(), isCancelled: true });
    assert.deepEqual(await cancelled('fx'), {
      kind: 'skipped',
      why: 'it was cancelled before its job was started',
    });
    await start('fx');
    assert.deepEqual(await cancelled('fx'), { kind: 'started' });
  });

  it('find their job though it has ended meanwhile', async () => {
    await start('fe');
    await client.workflow.getHandle('fe-20261101t0630').terminate('test');
    assert.deepEqual(await start('fe'), { kind: 'started' });
  });

  it('take no job of other content, and no job of a person, for their own', async () => {
    await start('fc');
    const other = { kind: 'not-started', why: 'another job has the id fc-20261101t0630' };
    assert.deepEqual(await start('fc', submissionOf({ command: { run: 'false' } })), other);
    await client.workflow.start(WorkflowType.Job, { workflowId: 'fp-20261101t0630', taskQueue: QUEUE, args: [{}] });
    assert.deepEqual(await start('fp'), { kind: 'not-started', why: 'another job has the id fp-20261101t0630' });
  });

  it('start none whose files are gone from the bucket', async () => {
    const submission = { ...submissionOf(), files: { 'requirements.txt': SHA256 } };
    const gone = await start('ff', submission);
    assert.match('why' in gone ? gone.why : '', /^the bucket no longer has requirements\.txt, uploaded when/);
    await assert.rejects(describeJob('ff-20261101t0630'));
    store.put(fileObject(SHA256), 'numpy');
    assert.deepEqual(await start('ff', submission), { kind: 'started' });
  });

  it('leave out the second of two times of a clock that is put back, and no other', async () => {
    const again = await start('fd', submissionOf(), 'America/New_York');
    assert.deepEqual(again, {
      kind: 'skipped',
      why: 'the clock of America/New_York was put back, and showed this time before',
    });
    assert.deepEqual(await start('fd', submissionOf(), 'Europe/Berlin'), { kind: 'started' });
  });

  it('start none of a file that is no longer right', async () => {
    const wrong = await start('fw', submissionOf({ slices: 0 }));
    assert.match('why' in wrong ? wrong.why : '', /^slices: 0 is not a whole number/);
  });

  it('know no reason for a refusal of a job that Temporal has forgotten', async () => {
    assert.deepEqual(await readRefusal(client, 'nobody-20261101t0630'), {});
  });
});

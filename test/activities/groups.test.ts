import assert from 'node:assert/strict';
import { Client } from '@temporalio/client';
import { cancelMembers, compareMembers, startMembers, tellGroup } from '../../activities/groups.js';
import type { JobInput, JobMemo } from '../../contract/job.js';
import { memberNewsSignal } from '../../contract/group.js';
import { groupWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { until } from '../until.js';

const QUEUE = 'nobody-polls-groups';
const submissionOf = (more: object = {}, array: object = { matrix: { n: '1..4' } }): JobInput => ({
  v: 1,
  job: {
    ...{
      name: 'exp',
      tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' },
      command: { run: 'train ${array.n}' },
    },
    ...{ array, ...more },
  },
  user: 'alice',
});

describe('the activities of a group, on a real server', function () {
  this.timeout(60_000);
  let client: Client;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const { connection, namespace } = await testServer();
    client = new Client({ connection, namespace });
  });

  const start = (group: string, indexes: readonly number[], submission = submissionOf(), round = 0) =>
    startMembers(client, QUEUE, { group, round, indexes, submission });
  const describeJob = (id: string) => client.workflow.getHandle(id).describe();

  it('start members as jobs with rows of their own, and a second time start nothing', async () => {
    assert.deepEqual(await start('ga', [0, 2]), { marks: 'oo', notes: [] });
    const { type, memo, searchAttributes, runId } = await describeJob('ga-2');
    assert.equal(type, WorkflowType.Job);
    assert.equal((memo as unknown as JobMemo).name, 'exp');
    assert.deepEqual([searchAttributes['JobGroup'], searchAttributes['JobUser']], [['ga'], ['alice']]);
    assert.deepEqual(await start('ga', [0, 2]), { marks: 'oo', notes: [] });
    assert.equal((await describeJob('ga-2')).runId, runId);
  });

  it('start members of a retry under the ids of its round', async () => {
    assert.deepEqual(await start('gr', [1], submissionOf(), 2), { marks: 'o', notes: [] });
    assert.equal((await describeJob('gr-r2-1')).status.name, 'RUNNING');
  });

  it('say of a member whose id another workflow has that it was not started', async () => {
    await client.workflow.start('other', { workflowId: 'gt-1', taskQueue: QUEUE });
    assert.deepEqual(await start('gt', [0, 1]), { marks: 'ox', notes: [[1, 'another other has the id gt-1']] });
  });

  it('take no job of other content for a member', async () => {
    await start('gc', [0]);
    const changed = await start('gc', [0], submissionOf({ command: { run: 'other' } }));
    assert.deepEqual(changed, { marks: 'x', notes: [[0, 'another job has the id gc-0']] });
  });

  it('refuse a member whose own file is wrong, and start the others', async () => {
    const wrong = submissionOf({ slices: '${array.n}' }, { matrix: { n: [1, 0] } });
    const { marks, notes } = await start('gw', [0, 1], wrong);
    assert.equal(marks, 'or');
    assert.match(notes[0]?.[1] ?? '', /^slices: 0 is not a whole number/);
  });

  it('find what members have become, of which rounds, and leave out whom nobody knows', async () => {
    await start('gf', [0, 1, 2]);
    await start('gf', [1], submissionOf(), 1);
    await client.workflow.getHandle('gf-0').terminate('test');
    const state = { marks: 'ooww', rounds: '0100' };
    await until('they are listed', async () => {
      const seen = await compareMembers(client, 'gf', state);
      return seen.marks === 'too.' && seen.rounds === '0100';
    });
  });

  it('ask about an open member that lists do not show', async () => {
    const { marks } = await compareMembers(client, 'nobody', { marks: 'ow', rounds: '00' });
    assert.equal(marks, 't.');
  });

  it('cancel members with the name of who asks, and pass over those that have ended', async () => {
    await start('gx', [0, 1]);
    await client.workflow.getHandle('gx-0').terminate('test');
    await cancelMembers(client, { ids: ['gx-0', 'gx-1', 'gx-none'], asker: { by: 'alice' } });
    const { events } = await client.workflow.getHandle('gx-1').fetchHistory();
    const kinds = (events ?? []).map((event) =>
      'workflowExecutionCancelRequestedEventAttributes' in event &&
      event.workflowExecutionCancelRequestedEventAttributes
        ? 'cancel'
        : (event.workflowExecutionSignaledEventAttributes?.signalName ?? ''),
    );
    assert.deepEqual(
      kinds.filter((kind) => kind !== ''),
      ['cancelNote', 'cancel'],
    );
  });

  it('tell a group many ends in one signal, and nobody where it has ended', async () => {
    await client.workflow.start(WorkflowType.Group, {
      workflowId: groupWorkflowId('gn'),
      taskQueue: QUEUE,
      args: [{}],
    });
    const news = [0, 1, 2].map((index) => ({ v: 1, index, round: 0, result: 'succeeded' }) as const);
    await tellGroup(client, 'gn', news);
    await tellGroup(client, 'gone', news);
    const { events } = await client.workflow.getHandle(groupWorkflowId('gn')).fetchHistory();
    const signals = (events ?? []).filter(
      (event) => event.workflowExecutionSignaledEventAttributes?.signalName === memberNewsSignal.name,
    );
    assert.equal(signals.length, 1);
  });
});

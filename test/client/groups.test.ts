import assert from 'node:assert/strict';
import { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { JobClient } from '../../client/job-client.js';
import type { GroupFilter } from '../../client/group-rows.js';
import { groupWorkflowId } from '../../contract/workflow-ids.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { until } from '../until.js';

const jobOf = (more: object = {}): object => ({
  ...{ name: 'exp', tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' }, command: { run: 'true' } },
  ...more,
});
const ARRAY = { array: { matrix: { n: '1..3' } } };

/** No worker polls: a group is there, and has started nothing. */
describe('groups of a client', function () {
  this.timeout(60_000);
  let client: Client;
  let jobs: JobClient;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const { connection, namespace } = await testServer();
    client = new Client({ connection, namespace });
    jobs = await JobClient.connect({ client, taskQueue: 'nobody-polls-group-clients' });
  });

  const rejects = (call: Promise<unknown>, name: string, why: RegExp): Promise<void> =>
    assert.rejects(call, (error: Error) => {
      assert.equal(error.name, name);
      assert.match(error.message, why);
      return true;
    });

  it('are made of a file with an array, once under a name', async () => {
    const first = await jobs.submit({ job: jobOf(ARRAY), name: 'gone-a', user: 'alice' });
    assert.deepEqual([first.id, first.isNew, first.members], ['gone-a', true, 3]);
    const again = await jobs.submit({ job: jobOf(ARRAY), name: 'gone-a', user: 'alice' });
    assert.deepEqual([again.isNew, again.members], [false, 3]);
    await rejects(
      jobs.submit({ job: jobOf({ ...ARRAY, env: { A: 1 } }), name: 'gone-a' }),
      'JobNameTaken',
      /a group named 'gone-a'/,
    );
    const row = await jobs.group('gone-a');
    assert.deepEqual([row.user, row.pool, row.members, row.endedAt], ['alice', 'default', 3, undefined]);
  });

  it('get a random id that is no retry of another', async () => {
    const { id } = await jobs.submit({ job: jobOf(ARRAY) });
    assert.match(id, /^exp-[a-z0-9]{4}$/);
  });

  it('and jobs have no id in common', async () => {
    await jobs.submit({ job: jobOf(ARRAY), name: 'both-a' });
    await rejects(jobs.submit({ job: jobOf(), name: 'both-a' }), 'JobNameTaken', /a group named 'both-a'/);
    await jobs.submit({ job: jobOf(), name: 'both-b' });
    await rejects(jobs.submit({ job: jobOf(ARRAY), name: 'both-b' }), 'JobNameTaken', /a job named 'both-b'/);
  });

  it('are said to be groups where a job is wanted', async () => {
    await jobs.submit({ job: jobOf(ARRAY), name: 'no-job' });
    await rejects(jobs.row('no-job'), 'JobNotFound', /'no-job' is a group of jobs, and one job is wanted/);
    await rejects(jobs.stop('no-job', 'alice'), 'JobNotFound', /is a group of jobs/);
    await rejects(jobs.row('no-such'), 'JobNotFound', /no job 'no-such'/);
    await rejects(jobs.group('no-such'), 'GroupNotFound', /no group 'no-such'/);
  });

  const wrong: Readonly<Record<string, readonly [object, string | undefined, RegExp]>> = {
    'a name like that of a retry': [ARRAY, 'exp-r1', /name: 'exp-r1' ends like a member or a retry of another group/],
    'a name like that of a member': [ARRAY, 'exp-3', /name: 'exp-3' ends like a member or a retry of another group/],
    'a name without room for its members': [
      ARRAY,
      'e'.repeat(48),
      /has 48 characters, and 44 are the most for an array of 3 places/,
    ],
    'a base without room': [{ ...ARRAY, name: 'e'.repeat(40) }, undefined, /has 45 characters, and 44 are the most/],
    'an empty matrix': [{ array: { matrix: {} } }, undefined, /array\.matrix: \{\} is empty/],
    '10,001 members': [{ array: { matrix: { n: '0..10000' } } }, undefined, /more than 10000 combinations/],
    'a reference to no axis': [{ ...ARRAY, env: { X: '${array.x}' } }, undefined, /the array has no axis x/],
  };
  for (const [name, [more, id, why]] of Object.entries(wrong))
    it(`are refused: ${name}`, () =>
      rejects(jobs.submit({ job: jobOf(more), ...(id !== undefined && { name: id }) }), 'JobInvalid', why));

  it('are listed without a worker, by one call, with what they last told', async () => {
    for (const name of ['seen-a', 'seen-b']) await jobs.submit({ job: jobOf(ARRAY), name, user: 'yara' });
    await jobs.submit({ job: jobOf(), name: 'seen-c', user: 'yara' });
    await client.workflow.getHandle(groupWorkflowId('seen-a')).terminate('test');
    const listed = (filter: GroupFilter) => jobs.groups({ user: 'yara', ...filter });
    await until('Visibility has both', async () => {
      const ends = (await listed({})).map(({ id, end }) => `${id} ${end ?? 'open'}`);
      return ends.join() === 'seen-b open,seen-a terminated';
    });
    const [row] = await listed({ group: 'seen-b' });
    assert.deepEqual([row?.id, row?.user, row?.members, row?.counts], ['seen-b', 'yara', 3, undefined]);
    const idsOf = async (filter: GroupFilter) => (await listed(filter)).map(({ id }) => id);
    assert.deepEqual(await idsOf({ name: 'seen-?', endedSince: Date.now() + 60_000 }), ['seen-b']);
    assert.deepEqual(await idsOf({ name: 'een-a' }), []);
    assert.deepEqual(await idsOf({ project: 'no-such' }), []);
  });

  it('are cancelled without a worker, with the name of who asks', async () => {
    await jobs.submit({ job: jobOf(ARRAY), name: 'gone-b' });
    assert.equal(await jobs.cancelGroup('gone-b', { by: 'alice', verb: 'cancel' }), 'cancelling');
    const { events } = await client.workflow.getHandle(groupWorkflowId('gone-b')).fetchHistory();
    assert.ok(events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes));
    assert.ok(events?.some((event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'cancelNote'));
  });

  it('that were terminated say so, and begin again with a retry', async () => {
    await jobs.submit({ job: jobOf(ARRAY), name: 'gone-c' });
    await client.workflow.getHandle(groupWorkflowId('gone-c')).terminate('test');
    assert.equal(await jobs.cancelGroup('gone-c'), 'done');
    await rejects(jobs.waitGroup('gone-c'), 'JobRefused', /gone-c was terminated in Temporal, and left no state/);
    assert.match(await jobs.retryGroup('gone-c', 'alice'), /^group gone-c was ended in Temporal: it begins again/);
    const row = await jobs.group('gone-c');
    assert.deepEqual([row.endedAt, row.members], [undefined, 3]);
  });

  const memberOf = async (group: string, id: string): Promise<void> => {
    const attributes = { JobGroup: group, JobPhase: 'running' };
    const typedSearchAttributes = Object.entries(attributes).map(([key, value]) => ({
      key: defineSearchAttributeKey(key, SearchAttributeType.KEYWORD),
      value,
    }));
    await client.workflow.start('job', {
      ...{ workflowId: id, taskQueue: 'nobody-polls-group-clients', typedSearchAttributes },
    });
  };

  it('are described by what lists know if no worker answers: each member in its last round', async () => {
    const array = { array: { matrix: { n: '1..5' }, exclude: [{ n: 2 }] } };
    await jobs.submit({ job: jobOf(array), name: 'old-a' });
    for (const id of ['old-a-0', 'old-a-2', 'old-a-r1-2', 'old-a-3']) await memberOf('old-a', id);
    await client.workflow.getHandle('old-a-2').terminate('test');
    await client.workflow.getHandle('old-a-3').terminate('test');
    const marks = async () => (await jobs.describeGroup('old-a')).state.marks;
    await until('Visibility has all', async () => (await marks()) === 'o-otw');
    const { state, isFromLists, array: own } = await jobs.describeGroup('old-a');
    assert.deepEqual([state.rounds, isFromLists, own.size], ['00100', true, 5]);
    await client.workflow.getHandle(groupWorkflowId('old-a')).terminate('test');
    assert.deepEqual([await marks(), (await jobs.group('old-a')).end], ['o-otw', 'terminated']);
  });

  it('that were terminated are cancelled with what they had started', async () => {
    await jobs.submit({ job: jobOf(ARRAY), name: 'gone-d' });
    await client.workflow.getHandle(groupWorkflowId('gone-d')).terminate('test');
    const key = defineSearchAttributeKey('JobGroup', SearchAttributeType.KEYWORD);
    const typedSearchAttributes = [{ key, value: 'gone-d' }];
    const member = await client.workflow.start('job', {
      ...{ workflowId: 'gone-d-0', taskQueue: 'nobody-polls-group-clients', typedSearchAttributes },
    });
    await until('Visibility has it', async () => (await jobs.cancelGroup('gone-d', { by: 'alice' })) === 'cancelling');
    const { events } = await member.fetchHistory();
    assert.ok(events?.some((event) => event.workflowExecutionCancelRequestedEventAttributes));
  });
});

import assert from 'node:assert/strict';
import { JobClient } from '../../../client/job-client.js';
import type { JobInput } from '../../../contract/job.js';
import { WorkflowType } from '../../../contract/workflow-ids.js';
import { scheduleId } from '../../../domain/schedule/schedule.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { ServerStack } from '../../server/server-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

const ALICE = 'alice@example.org';

describe('a schedule in a pool in verified mode', function () {
  this.timeout(180_000);
  let servers: ServerStack;
  let jobs: JobClient;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    servers = await ServerStack.start();
    const token = await servers.issuer.token({ email: ALICE });
    jobs = await JobClient.connect({ server: servers.urls[0] ?? '', token: async () => token });
  });
  after(async () => {
    for (const { name } of (await jobs?.schedules().list()) ?? []) await jobs.schedules().delete(name);
    await jobs?.close();
    await servers?.stop();
  });

  const job = jobFile('true', { name: 'nightly', project: 'vision', tpu: { accelerator: 'v5litepod-1' } });
  const create = (name: string) => jobs.schedules().create({ name, cron: '0 0 31 12 *', job });

  it("runs by one signature, as its creator's job, as often as it fires", async () => {
    assert.equal((await create('nightly')).isNew, true);
    assert.equal((await create('nightly')).isNew, false, 'a call is repeated');
    const ids = new Set<string>();
    for (let firing = 0; firing < 2; firing++) {
      const { job: id = '' } = await jobs.schedules().trigger('nightly');
      assert.equal((await jobs.wait(id)).result, 'succeeded', servers.stack.tail());
      const { user, project, isVerified, schedule } = await jobs.row(id);
      assert.deepEqual([user, project, isVerified, schedule], [ALICE, 'vision', true, 'nightly']);
      await until(
        'the firing is over',
        async () => (await jobs.schedules().view('nightly')).last?.state === 'succeeded',
      );
      ids.add(id);
    }
    assert.equal(ids.size, 2);
    const [row] = await jobs.schedules().list();
    assert.deepEqual([row?.name, row?.user, row?.project], ['nightly', ALICE, 'vision']);
    const bob = await servers.issuer.token({ email: 'mallory@example.org' });
    const other = await JobClient.connect({ server: servers.urls[0] ?? '', token: async () => bob });
    await assert.rejects(other.schedules().delete('nightly'), { name: 'Forbidden' });
    await other.close();
  });

  it('lets in no job that its signature does not cover', async () => {
    await create('signed');
    const { client, taskQueue } = servers.stack;
    const { action } = await client.schedule.getHandle(scheduleId('signed')).describe();
    const [{ submission }] = action.args as [{ submission: JobInput }];
    const at = Date.parse('2026-11-30T02:00:00Z');
    const firing = { schedule: 'signed', at };
    const forged: Readonly<Record<string, readonly [string, JobInput]>> = {
      'another time': ['signed-20261130t0300', { ...submission, firing }],
      'another schedule': ['nightly-20261130t0200', { ...submission, firing: { ...firing, schedule: 'nightly' } }],
      'no firing': ['signed', submission],
      'another command': [
        'signed-20261130t0200',
        { ...submission, firing, job: { ...(submission.job as object), command: { run: 'id' } } },
      ],
    };
    for (const [name, [workflowId, input]] of Object.entries(forged)) {
      const run = client.workflow.execute(WorkflowType.Job, { workflowId, taskQueue, args: [input] });
      await assert.rejects(run, (error: Error & { cause?: { type?: string } }) => {
        assert.equal(error.cause?.type, 'InvalidJob', name);
        return true;
      });
    }
  });
});

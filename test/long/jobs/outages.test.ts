import assert from 'node:assert/strict';
import type { WorkflowHandle } from '@temporalio/client';
import { sliceWorkflowId } from '../../../contract/workflow-ids.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { TestStack } from '../../end-to-end/test-stack.js';

const SMALL = { tpu: { accelerator: 'v5litepod-8' } };

/** Its store, its host: store-outages.test.ts. */
describe('a job while its cloud is away', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    // Few events, so that an outage of days is one of seconds.
    stack = await TestStack.start({ timings: { jobHistoryEvents: 40 } });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
  });
  after(() => stack?.stop());
  afterEach(() => admin.stopRefusing());

  const submit = async (command: string, more: object = {}): Promise<string> =>
    (await stack.jobs.submit({ job: jobFile(command, { ...SMALL, ...more }) })).id;

  it('create calls have no answer for long: its slice goes on in another run, and makes one slice', async () => {
    await admin.post('refuse', { method: 'CreateQueuedResource', code: 'UNAVAILABLE' });
    const id = await submit('echo ran');
    await until('it has a slice', async () => (await stack.jobs.describe(id)).slices.length === 1, 30_000);
    const { name } = (await stack.jobs.describe(id)).slices[0]?.ref ?? assert.fail();
    const handle = stack.client.workflow.getHandle(sliceWorkflowId(name));
    const first = await firstRun(handle);
    await until('its slice workflow was continued', async () => (await handle.describe()).runId !== first, 90_000);
    await admin.stopRefusing();
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    const made = (await admin.journal()).filter(
      ({ kind, subject, details }) =>
        kind === 'queued-resource-state' && subject.endsWith(name) && details.to === 'ACTIVE',
    );
    assert.equal(made.length, 1);
    await cloudIsEmpty(admin);
  });

  it('is cancelled while its slice was continued, and leaves nothing', async () => {
    await admin.post('refuse', { method: 'CreateQueuedResource', code: 'UNAVAILABLE' });
    const id = await submit('echo never');
    await until('it has a slice', async () => (await stack.jobs.describe(id)).slices.length === 1, 30_000);
    const { name } = (await stack.jobs.describe(id)).slices[0]?.ref ?? assert.fail();
    const handle = stack.client.workflow.getHandle(sliceWorkflowId(name));
    const first = await firstRun(handle);
    await until('its slice workflow was continued', async () => (await handle.describe()).runId !== first, 90_000);
    // Of a terminated job only the server's cancel request tells: to whichever run of the slice is open.
    await stack.client.workflow.getHandle(id).terminate('a test');
    await until('it is gone', async () => (await handle.describe()).status.name === 'COMPLETED', 60_000);
    await cloudIsEmpty(admin);
  });
});

/** Of a workflow that may not have been started yet. */
async function firstRun(handle: WorkflowHandle): Promise<string> {
  let run = '';
  await until('it began', async () => {
    run = (await handle.describe()).runId;
    return true;
  });
  return run;
}

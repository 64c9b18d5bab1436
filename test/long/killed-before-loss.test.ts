import assert from 'node:assert/strict';
import { jobFile } from '../end-to-end/job-files.js';
import { cloudIsEmpty } from '../end-to-end/nothing-left.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { withStack } from '../end-to-end/with-stack.js';
import { until } from '../until.js';

describe('a gang of which the cloud takes one slice', function () {
  this.timeout(120_000);
  let stack: TestStack;

  withStack((own) => {
    stack = own;
  });

  it('has lost that slice also where its command was killed first: that is a preemption, and no failure of the task', async () => {
    const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    // As a VM that is shut down ends its processes, and its API says so only later.
    const command = '[ "$JOBCTL_ATTEMPT" = 2 ] || { [ "$JOBCTL_SLICE_INDEX" = 1 ] || kill -TERM $$; sleep 1000; }';
    const { id } = await stack.jobs.submit({
      job: jobFile(command, { slices: 2, tpu: { accelerator: 'v4-16', zone: 'us-central2-b' } }),
    });
    await until('its command was killed', () => stack.tail(400).includes('stopping the hosts: '), 60_000);
    await admin.post('preempt', { name: (await stack.jobs.describe(id)).slices[0]?.ref.name, notice: false });
    const { result, attempts, preemptions, cause } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts, preemptions, cause], ['succeeded', 2, 1, undefined], stack.tail());
    await cloudIsEmpty(admin);
  });
});

import assert from 'node:assert/strict';
import { jobFile } from '../../end-to-end/job-files.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { withStack } from '../../end-to-end/with-stack.js';
import { until } from '../../until.js';

describe('a job whose worker is killed', function () {
  this.timeout(120_000);
  let stack: TestStack;
  withStack((its) => void (stack = its));

  it('goes on under the next worker once the heartbeats of its supervision are missed; its command is not run again', async () => {
    const { id } = await stack.jobs.submit({
      job: jobFile('echo begun; while [ ! -e ~/enough ]; do sleep 0.2; done', { tpu: { accelerator: 'v5litepod-8' } }),
    });
    const log = (): Promise<string> => storedLog(stack.store, { id, stream: 'command', host: 0 });
    await until('its command runs', async () => (await log()) !== '', 60_000);
    await stack.killWorker();
    await stack.startWorker();
    const handle = stack.client.workflow.getHandle(id);
    await until('the loss of the worker is in its history', async () => {
      const { events } = await handle.fetchHistory();
      return events?.some((event) => event.activityTaskTimedOutEventAttributes);
    });
    await stack.jobs.cancel(id);
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['cancelled', 1], stack.tail());
    assert.equal(await log(), 'begun\n');
  });
});

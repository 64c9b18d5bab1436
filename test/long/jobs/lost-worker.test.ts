import assert from 'node:assert/strict';
import { exitRecordsPrefix, logPrefix } from '../../../domain/store-layout.js';
import { openDoor } from '../../end-to-end/door.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
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

  it('has succeeded where its command ended, and its slice was taken, before the next worker came', async () => {
    const door = await openDoor();
    const { id } = await stack.jobs.submit({
      job: jobFile(`echo begun; ${door.whileOpen}; echo done`, {
        tpu: { accelerator: 'v5litepod-8' },
      }),
    });
    const log = (): Promise<string> => storedLog(stack.store, { id, stream: 'command', host: 0 });
    await until('its command runs', async () => (await log()) !== '', 60_000);
    const [slice] = (await stack.jobs.describe(id)).slices;
    await stack.killWorker();
    door.close();
    await until(
      'the host has stored how it ended',
      async () => (await stack.store.list(exitRecordsPrefix(id, 1))).length === 1,
    );
    await new RehearsalAdmin(stack.rehearsal.endpoints.admin).post('preempt', { name: slice?.ref.name, notice: false });
    await stack.startWorker();
    const { result, attempts, exitCode } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts, exitCode], ['succeeded', 1, 0], stack.tail());
    assert.equal(await log(), 'begun\n');
    const said = (await stack.store.list(logPrefix(id, 1, 'command'))).filter(({ name }) => name.endsWith('.lost'));
    assert.equal(said.length, 1, 'the line that was never shipped is missed in the log');
  });
});

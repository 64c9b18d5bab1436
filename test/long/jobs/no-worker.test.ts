import assert from 'node:assert/strict';
import { exitRecordObject } from '../../../domain/store-layout.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { withStack } from '../../end-to-end/with-stack.js';
import { until } from '../../until.js';

/** Beside lost-worker.test.ts; what a worker makes of each is in test/activities (stored-ends, host-warnings, log-stream-end). */
describe('what happens to a job while no worker lives', function () {
  this.timeout(120_000);
  let stack: TestStack;
  withStack((its) => void (stack = its));

  it('stores the last lines of a command that is cancelled while no worker lives', async () => {
    const { id } = await stack.jobs.submit({
      job: jobFile('trap "echo told; exit 0" TERM; echo begun; while :; do sleep 0.2; done', {
        tpu: { accelerator: 'v5litepod-8' },
      }),
    });
    const log = (): Promise<string> => storedLog(stack.store, { id, stream: 'command', host: 0 });
    await until('its command runs', async () => (await log()) !== '', 60_000);
    await stack.killWorker();
    const handle = stack.client.workflow.getHandle(id);
    const has = async (isIt: (event: { activityTaskTimedOutEventAttributes?: unknown }) => boolean) =>
      (await handle.fetchHistory()).events?.some(isIt) ?? false;
    await until('the loss of the worker is in its history', () =>
      has((e) => Boolean(e.activityTaskTimedOutEventAttributes)),
    );
    await stack.jobs.cancel(id);
    await stack.startWorker();
    const { result } = await stack.jobs.wait(id);
    assert.equal(result, 'cancelled', stack.tail());
    assert.match(await log(), /^begun\n(.*\n)?told\n$/);
  });

  it('has not succeeded by an exit record that another job wrote in its place', async () => {
    const command = 'echo begun; [ "$JOBCTL_ATTEMPT" = 2 ] || sleep 1000';
    const { id } = await stack.jobs.submit({ job: jobFile(command, { tpu: { accelerator: 'v5litepod-8' } }) });
    const log = (): Promise<string> => storedLog(stack.store, { id, stream: 'command', host: 0 });
    await until('its command runs', async () => (await log()) !== '', 60_000);
    const [slice] = (await stack.jobs.describe(id)).slices;
    assert.ok(slice?.uid);
    await stack.killWorker();
    // Hosts of all jobs have the right to write there, and what is in the name is no secret.
    const now = Date.now();
    const record = {
      v: 1,
      run: `${id}-a1`,
      state: `exited 0 - ${now - 1000} ${now} 6 - 0 up -`,
    };
    await stack.store.write(exitRecordObject(id, 1, slice.uid, 0), Buffer.from(JSON.stringify(record)), 'absent');
    await new RehearsalAdmin(stack.rehearsal.endpoints.admin).post('preempt', { name: slice.ref.name, notice: false });
    await stack.startWorker();
    const { result, attempts, preemptions } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts, preemptions], ['succeeded', 2, 1], stack.tail());
    assert.match(stack.tail(400), /is no exit record of that host, and is not believed/);
  });

  it('hears that a warning is over which cleared while no worker watched', async () => {
    const there = '[ -e "$JOBCTL_WARNING_FILE" ]';
    const { id } = await stack.jobs.submit({
      job: jobFile(
        `until ${there}; do sleep 0.1; done; echo warned; while ${there}; do sleep 0.1; done; echo cleared`,
        {
          tpu: { accelerator: 'v5litepod-8' },
        },
      ),
    });
    const log = (): Promise<string> => storedLog(stack.store, { id, stream: 'command', host: 0 });
    const running = async (): Promise<boolean> => (await stack.jobs.row(id)).phase === 'running';
    await until('its command runs', running, 60_000);
    const name = (await stack.jobs.describe(id)).slices[0]?.ref.name;
    const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    await admin.post('warn', { name });
    await until('the warning has come', async () => (await log()) === 'warned\n', 60_000);
    await stack.killWorker();
    await admin.post('warn', { name, clear: true });
    await stack.startWorker();
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
    assert.equal(await log(), 'warned\ncleared\n');
  });
});

import assert from 'node:assert/strict';
import { attemptObject } from '../../../domain/store-layout.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import type { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { withStack } from '../../end-to-end/with-stack.js';

describe('a job whose command asks to be started again by its exit code', function () {
  this.timeout(90_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((...own) => {
    [stack, admin] = own;
  });

  const submit = async (run: string, more: object): Promise<string> => {
    const file = jobFile(undefined, {
      tpu: { accelerator: 'v5litepod-8' },
      command: { run, restart_on: [75] },
      ...more,
    });
    return (await stack.jobs.submit({ job: file })).id;
  };
  const exitCodeOf = async (id: string, attempt: number): Promise<unknown> =>
    (JSON.parse(String(await stack.store.read(attemptObject(id, attempt)))) as { exitCode?: number }).exitCode;

  it('starts again on the same slice at no cost of retries.task, and says so', async () => {
    const id = await submit('[ "$JOBCTL_ATTEMPT" = 3 ] || exit 75', { retries: { requested: 2 } });
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts, outcome.requestedRestarts], ['succeeded', 3, 2], stack.tail());
    const { slices, events, requestedRestarts } = await stack.jobs.describe(id);
    assert.deepEqual([slices.length, slices[0]?.generation, requestedRestarts], [1, 1, 2]);
    const texts = events.map(({ text }) => text).join('\n');
    assert.match(
      texts,
      /exited with code 75 on host 0, which asks for another start \(command\.restart_on\); trying again \(2 of 2\)/,
    );
    assert.deepEqual([await exitCodeOf(id, 1), await exitCodeOf(id, 3)], [75, 0]);
    await cloudIsEmpty(admin);
  });

  it('fails with that code when retries.requested is spent, and with another code at once', async () => {
    const again = await submit('exit 75', { retries: { requested: 1, task: 5 } });
    const other = await submit('exit 76', { retries: { requested: 5 } });
    const [spent, failed] = [await stack.jobs.wait(again), await stack.jobs.wait(other)];
    assert.deepEqual([spent.result, spent.attempts, spent.exitCode, spent.cause?.by], ['failed', 2, 75, 'task']);
    assert.match(spent.cause?.message ?? '', /its budget of 1 requested retries is spent$/);
    assert.deepEqual([failed.result, failed.attempts, failed.exitCode], ['failed', 1, 76]);
    await cloudIsEmpty(admin);
  });
});

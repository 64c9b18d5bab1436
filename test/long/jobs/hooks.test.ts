import assert from 'node:assert/strict';
import { outcomeObject } from '../../../domain/store-layout.js';
import type { Outcome } from '../../../domain/job-state.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import type { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { withStack } from '../../end-to-end/with-stack.js';
import { until } from '../../until.js';

const SAYS = 'echo "$JOBCTL_HOOK of $JOBCTL_RESULT $JOBCTL_EXIT_CODE $JOBCTL_HOOK_CAUSE $JOBCTL_HOST_INDEX $GREETING"';

describe('hooks of a job', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((...own) => {
    [stack, admin] = own;
  });

  const submit = async (command: string, more: object): Promise<string> =>
    (await stack.jobs.submit({ job: jobFile(command, { env: { GREETING: 'hello' }, ...more }) })).id;
  const logOf = (id: string, hook: string, host = 0): Promise<string> =>
    storedLog(stack.store, { id, stream: `hook-${hook}`, host });
  const isRunning = async (id: string): Promise<boolean> => (await stack.jobs.row(id)).phase === 'running';

  it('run at its end where their workers say, once each, and change nothing of its success', async () => {
    const hooks = {
      success: `${SAYS}; exit 3`,
      failure: SAYS,
      finally: { run: `${SAYS}; sleep 300`, workers: 'all', timeout: '3s' },
    };
    const id = await submit('true', { hooks });
    const { result, hooks: reports } = await stack.jobs.wait(id);
    assert.equal(result, 'succeeded', stack.tail());
    assert.deepEqual(
      reports?.map(({ hook, status }) => [hook, status]),
      [
        ['success', 'failed'],
        ['finally', 'timed-out'],
      ],
    );
    assert.equal(reports?.[0]?.message, 'host 0: it exited with code 3');
    assert.equal(await logOf(id, 'success'), 'success of succeeded 0  0 hello\n');
    assert.equal(await logOf(id, 'success', 1), '', 'on its first host alone');
    assert.equal(await logOf(id, 'failure'), '');
    for (const host of [0, 1, 2, 3])
      assert.equal(await logOf(id, 'finally', host), `finally of succeeded 0  ${host} hello\n`);
    const stored = JSON.parse(String(await stack.store.read(outcomeObject(id)))) as Outcome;
    assert.deepEqual(stored.hooks, reports);
    await cloudIsEmpty(admin);
  });

  it('hear the exit code of a failure, and leave the cause as it is', async () => {
    const id = await submit('exit 4', {
      tpu: { accelerator: 'v5litepod-8' },
      hooks: { success: SAYS, failure: SAYS, finally: 'sleep 2000 &' },
    });
    const { result, exitCode, hooks } = await stack.jobs.wait(id);
    const [failure, last] = hooks ?? [];
    assert.deepEqual([result, exitCode, failure], ['failed', 4, { hook: 'failure', status: 'done' }], stack.tail());
    const left = /^it left running, and was ended: a process on host 0: \d+ 'sleep 2000'$/;
    assert.ok(last?.status === 'done' && left.test(last.message ?? ''), JSON.stringify(last));
    assert.equal(await logOf(id, 'failure'), 'failure of failed 4 task 0 hello\n');
    await cloudIsEmpty(admin);
  });

  it('finally runs after a cancel too, and says so where it cannot', async () => {
    const hooks = { success: SAYS, failure: SAYS, finally: SAYS };
    const tpu = { accelerator: 'v5litepod-8' };
    const id = await submit('sleep 1000', { tpu, hooks });
    await until('it runs', () => isRunning(id), 60_000);
    await stack.jobs.cancel(id);
    const { result, hooks: reports } = await stack.jobs.wait(id);
    assert.deepEqual([result, reports], ['cancelled', [{ hook: 'finally', status: 'done' }]], stack.tail());
    assert.equal(await logOf(id, 'finally'), 'finally of cancelled  user 0 hello\n');

    await admin.post('hold', { state: 'CREATING' });
    const waiting = await submit('true', { tpu, hooks });
    await until('it waits', async () => (await stack.jobs.row(waiting)).phase === 'provisioning', 30_000);
    await stack.jobs.cancel(waiting);
    const late = await stack.jobs.wait(waiting);
    await admin.post('release', { state: 'CREATING' });
    assert.deepEqual(late.hooks, [{ hook: 'finally', status: 'not-run', message: 'the command never began' }]);
    await cloudIsEmpty(admin);
  });
});

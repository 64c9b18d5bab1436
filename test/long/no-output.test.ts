import assert from 'node:assert/strict';
import { jobFile } from '../end-to-end/job-files.js';
import { cloudIsEmpty } from '../end-to-end/nothing-left.js';
import type { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { storedLog } from '../end-to-end/stored-log.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { withStack } from '../end-to-end/with-stack.js';
import { until } from '../until.js';
import { QUOTA_TASK_TIMEOUT_MS } from '../../contract/quota.js';

const HANGS = 'echo begun; sleep 1000';
const SILENT = /^its command printed nothing for \d+ s on any of its hosts \(timeouts\.no_output\); /;

describe('a job with timeouts.no_output', function () {
  this.timeout(180_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((...own) => {
    [stack, admin] = own;
  });

  const submit = async (command: string, seconds: number): Promise<string> =>
    (await stack.jobs.submit({ job: jobFile(command, { timeouts: { no_output: seconds } }) })).id;
  const printed = (id: string, host: number): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host });
  const allPrinted = (id: string): Promise<unknown> =>
    until(
      'all hosts print',
      async () => {
        const outputs = await Promise.all([0, 1, 2, 3].map((host) => printed(id, host)));
        return outputs.every((output) => output.startsWith('begun\n'));
      },
      30_000 + QUOTA_TASK_TIMEOUT_MS,
    );
  const failsForSilence = async (id: string): Promise<void> => {
    const { result, cause, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, cause?.by, attempts], ['failed', 'task', 1], stack.tail());
    assert.match(cause?.message ?? '', SILENT);
    await cloudIsEmpty(admin);
  };

  it('ends for silence when its worker was killed meanwhile, and another goes on', async () => {
    const id = await submit(HANGS, 10);
    await allPrinted(id);
    await stack.killWorker();
    await stack.startWorker();
    await failsForSilence(id);
  });

  it('does not end for silence that was over before its worker looked again', async () => {
    const id = await submit('echo begun; for i in $(seq 60); do sleep 0.5; echo $i; done', 5);
    await allPrinted(id);
    await stack.killWorker();
    const last = (await printed(id, 0)).length;
    await stack.startWorker();
    await until('more is read', async () => (await printed(id, 0)).length > last, 60_000);
    const { result, attempts, cause } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts, cause], ['succeeded', 1, undefined], stack.tail());
    await cloudIsEmpty(admin);
  });

  it('goes on while one host of four prints', async () => {
    const id = await submit(
      'echo begun; for i in $(seq 15); do sleep 1; [ $JOBCTL_HOST_INDEX != 2 ] || printf .; done',
      5,
    );
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
    assert.equal(await printed(id, 2), `begun\n${'.'.repeat(15)}`);
    await cloudIsEmpty(admin);
  });

  it('goes on while a host cannot be reached, and ends for silence when that one has spoken', async () => {
    const id = await submit(HANGS, 5);
    await allPrinted(id);
    const name = (await stack.jobs.describe(id)).slices[0]?.ref.name;
    await admin.post('hosts', { name, host: 3, action: 'unreachable' });
    await until(
      'a look was in vain',
      () => stack.tail(400).includes('host 3 cannot say how long it has been quiet'),
      60_000,
    );
    assert.equal((await stack.jobs.row(id)).phase, 'running');
    await admin.post('hosts', { name, host: 3, action: 'reachable' });
    await failsForSilence(id);
  });

  it('ends as cancelled where it is cancelled while it is stopped for silence', async () => {
    const command = `trap '' TERM; echo begun; while :; do sleep 1; done`;
    const job = jobFile(command, { timeouts: { no_output: 5 }, retries: { task: 5 }, grace: 10 });
    const { id } = await stack.jobs.submit({ job });
    const told = async (): Promise<string> => (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
    await until('it is being stopped', async () => (await told()).includes('(timeouts.no_output)'));
    await stack.jobs.cancel(id);
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['cancelled', 1], stack.tail());
    await cloudIsEmpty(admin);
  });
});

import assert from 'node:assert/strict';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { JobNameTaken } from '../../client/errors.js';
import { quotaWorkflowId, sliceWorkflowId } from '../../contract/workflow-ids.js';
import { attemptObject, outcomeObject, specObject } from '../../domain/store-layout.js';
import { jobFile } from './job-files.js';
import type { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import type { TestStack } from './test-stack.js';
import { vmJob } from './vm-job.js';
import { withStack } from './with-stack.js';
import { cloudIsEmpty } from './nothing-left.js';
import { until } from '../until.js';

const ONE_HOST = { tpu: { accelerator: 'v5litepod-8' } };

describe('a job, from submit to its outcome', function () {
  this.timeout(90_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((...own) => {
    [stack, admin] = own;
  });

  const log = (id: string, attempt: number, host: number): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host, attempt });

  const nothingLeft = (): Promise<void> => cloudIsEmpty(admin);

  it('runs the command on every host of a slice, keeps its logs and leaves nothing', async () => {
    const { id } = await stack.jobs.submit({
      job: jobFile('echo "host $JOBCTL_HOST_INDEX of $JOBCTL_NUM_HOSTS"; echo done >&2', {
        tpu: { allocation_mode: 'queued-resources' },
      }),
      user: 'alice',
    });
    const outcome = await stack.jobs.wait(id);
    assert.equal(outcome.result, 'succeeded', stack.tail());
    assert.equal(outcome.exitCode, 0);
    assert.equal(outcome.attempts, 1);
    for (const host of [0, 1, 2, 3]) assert.equal(await log(id, 1, host), `host ${host} of 4\ndone\n`);
    assert.deepEqual(
      JSON.parse(String(await stack.store.read(outcomeObject(id)))),
      JSON.parse(JSON.stringify(outcome)),
    );
    assert.ok(await stack.store.stat(specObject(id)));
    const row = await stack.jobs.row(id);
    assert.deepEqual([row.phase, row.user, row.project, row.label], ['succeeded', 'alice', 'none', 'REHEARSAL']);
    await nothingLeft();
  });

  it('fails as JobFailed with the exit code and host of the command, and no clean-up failure changes it', async () => {
    const { id } = await stack.jobs.submit({ job: jobFile('[ "$JOBCTL_HOST_INDEX" = 2 ] && exit 7; sleep 600') });
    await until(
      'it runs',
      async () => (await stack.jobs.row(id)).phase === 'running' || (await stack.jobs.row(id)).outcome,
    );
    await admin.post('refuse', {
      method: 'DeleteQueuedResource',
      code: 'INTERNAL',
      message: 'an internal error has occurred',
      times: 2,
    });
    const error = await stack.client.workflow
      .getHandle(id)
      .result()
      .then(
        () => undefined,
        (failure: unknown) => failure,
      );
    assert.ok(error instanceof WorkflowFailedError && error.cause instanceof ApplicationFailure, String(error));
    assert.equal(error.cause.type, 'JobFailed');
    assert.match(error.cause.message, /exited with code 7 on host 2/);
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual(
      [outcome.result, outcome.exitCode, outcome.cause?.host, outcome.cause?.by],
      ['failed', 7, 2, 'task'],
    );
    await nothingLeft();
    const refused = (await admin.journal()).filter(
      ({ kind, details }) =>
        kind === 'api-call' && details.method === 'DeleteQueuedResource' && details.code === 'INTERNAL',
    );
    assert.equal(refused.length, 2, 'the clean-up did meet the injected failures');
    assert.deepEqual(await stack.jobs.wait(id), outcome);
    assert.deepEqual(
      JSON.parse(String(await stack.store.read(outcomeObject(id)))),
      JSON.parse(JSON.stringify(outcome)),
    );
    assert.equal((await stack.jobs.row(id)).phase, 'failed');
  });

  const attemptRecord = async (id: string, attempt: number): Promise<{ startedAt: number; endedAt: number }> =>
    JSON.parse(String(await stack.store.read(attemptObject(id, attempt)))) as { startedAt: number; endedAt: number };

  /** Current Details of workflows, as Temporal's Web UI asks for them. */
  async function showsEach(details: Readonly<Record<string, RegExp>>): Promise<void> {
    for (const [id, pattern] of Object.entries(details)) {
      const handle = stack.client.workflow.getHandle(id);
      const { currentDetails } = await handle.query<{ readonly currentDetails: string }>(
        '__temporal_workflow_metadata',
      );
      assert.match(currentDetails, pattern);
    }
  }

  it('makes a second attempt when the slice is taken without notice, and keeps both logs', async () => {
    const { id } = await stack.jobs.submit({
      job: jobFile(
        'echo "attempt $JOBCTL_ATTEMPT after \'$JOBCTL_PREVIOUS_ATTEMPT_END\'"; [ "$JOBCTL_ATTEMPT" = 1 ] && sleep 600; true',
        ONE_HOST,
      ),
    });
    await until('it has printed', async () => (await log(id, 1, 0)) !== '');
    const [first] = (await admin.status()).nodes;
    await showsEach({
      [id]: /\*\*running\*\* .*\n/,
      [sliceWorkflowId(`jc-${id}-g1`)]: /^\*\*ready\*\* since/m,
      [quotaWorkflowId('default')]: new RegExp(`JOB +PROJECT.*\\n${id.slice(0, 14)}`),
    });
    await admin.post('preempt', { name: first?.name, mode: 'preempted' });
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts, outcome.preemptions], ['succeeded', 2, 1], stack.tail());
    const logs = [await log(id, 1, 0), await log(id, 2, 0)];
    assert.deepEqual(logs, ["attempt 1 after ''\n", "attempt 2 after 'slices-lost'\n"]);
    const [lost, second] = await Promise.all([attemptRecord(id, 1), attemptRecord(id, 2)]);
    assert.ok(lost.startedAt < lost.endedAt && lost.endedAt <= second.startedAt, JSON.stringify({ lost, second }));
    assert.equal(outcome.startedAt, lost.startedAt);
    await nothingLeft();
  });

  it('refuses a bad job that a service started directly, with the message of the command line', async () => {
    const input = { v: 1, job: jobFile('true', { tpu: { accelerator: 'v5litepod-17' } }) };
    const handle = await stack.client.workflow.start('job', {
      workflowId: 'bad-job',
      taskQueue: stack.taskQueue,
      args: [input],
    });
    const error = await handle.result().then(
      () => undefined,
      (failure: unknown) => failure,
    );
    assert.ok(error instanceof WorkflowFailedError && error.cause instanceof ApplicationFailure, String(error));
    assert.equal(error.cause.type, 'InvalidJob');
    assert.match(error.cause.message, /accelerator: 'v5litepod-17' is no Cloud TPU type/);
  });

  it('takes a name as an idempotency key: the same content is the same job, other content is refused', async () => {
    const submission = { name: 'nightly', job: jobFile('true', ONE_HOST) };
    const first = await stack.jobs.submit(submission);
    const again = await stack.jobs.submit(submission);
    assert.deepEqual([first.id, first.isNew, again.id, again.isNew], ['nightly', true, 'nightly', false]);
    await assert.rejects(stack.jobs.submit({ ...submission, job: jobFile('false', ONE_HOST) }), JobNameTaken);
    await stack.jobs.wait('nightly');
    assert.equal((await stack.jobs.submit(submission)).isNew, false, 'finished, it is still the same job');
  });

  /** Preemption and second zones: compute-engine.live.test.ts. */
  it('on VMs of Compute Engine: runs on every VM of its gang, each with its own name and rank, and leaves nothing behind', async () => {
    const { id } = await stack.jobs.submit({ job: vmJob('echo "$(hostname) $RANK of $WORLD_SIZE"') });
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
    for (const host of [0, 1]) assert.equal(await log(id, 1, host), `jc-${id}-g1-${host} ${host} of 2\n`);
    await cloudIsEmpty(admin, 30_000);
  });
});

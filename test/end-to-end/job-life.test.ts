import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { JobNameTaken } from '../../client/errors.js';
import { attemptObject, outcomeObject, specObject } from '../../domain/store-layout.js';
import { jobFile } from './job-files.js';
import type { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import { type TestStack, writeKeyPair } from './test-stack.js';
import { withStack } from './with-stack.js';
import { cloudIsEmpty } from './nothing-left.js';
import { until } from '../until.js';

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

  for (const mode of ['queued-resources', 'tpu-vm']) {
    it(`runs the command on every host of a ${mode} slice, keeps its logs and leaves nothing`, async () => {
      const { id } = await stack.jobs.submit({
        job: jobFile('echo "host $JOBCTL_HOST_INDEX of $JOBCTL_NUM_HOSTS"; echo done >&2', {
          tpu: { allocation_mode: mode },
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
  }

  it('runs a gang of two slices, each host knowing its place', async () => {
    const { id } = await stack.jobs.submit({
      job: jobFile(
        'echo "$JOBCTL_SLICE_INDEX/$JOBCTL_NUM_SLICES $JOBCTL_HOST_INDEX $JOBCTL_NUM_TASKS $MEGASCALE_SLICE_ID"',
        { slices: 2, tpu: { accelerator: 'v4-16', zone: 'us-central2-b' } },
      ),
    });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.deepEqual(await Promise.all([0, 1, 2, 3].map((host) => log(id, 1, host))), [
      '0/2 0 4 0\n',
      '0/2 1 4 0\n',
      '1/2 0 4 1\n',
      '1/2 1 4 1\n',
    ]);
    await nothingLeft();
  });

  it('sets a venv up and runs the command in it', async () => {
    const job = jobFile('python -c "import sys; print(sys.prefix != sys.base_prefix)"', {
      setup: { modules: ['venv', 'command'] },
      venv: { name: 'work', python: 'python3' },
      tpu: { accelerator: 'v5litepod-8' },
    });
    const { id } = await stack.jobs.submit({ job });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.equal(await log(id, 1, 0), 'True\n');
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
      times: 4,
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
    assert.equal(refused.length, 4, 'the clean-up did meet the injected failures');
    assert.deepEqual(await stack.jobs.wait(id), outcome);
    assert.deepEqual(
      JSON.parse(String(await stack.store.read(outcomeObject(id)))),
      JSON.parse(JSON.stringify(outcome)),
    );
    assert.equal((await stack.jobs.row(id)).phase, 'failed');
  });

  const attemptRecord = async (id: string, attempt: number): Promise<{ startedAt: number; endedAt: number }> =>
    JSON.parse(String(await stack.store.read(attemptObject(id, attempt)))) as { startedAt: number; endedAt: number };

  for (const mode of ['preempted', 'vanish'] as const) {
    it(`makes a second attempt when the slice is taken without notice (${mode}), and keeps both logs`, async () => {
      const { id } = await stack.jobs.submit({
        job: jobFile(
          'echo "attempt $JOBCTL_ATTEMPT after \'$JOBCTL_PREVIOUS_ATTEMPT_END\'"; [ "$JOBCTL_ATTEMPT" = 1 ] && sleep 600; true',
        ),
      });
      await until('every host has printed', async () =>
        (await Promise.all([0, 1, 2, 3].map((host) => log(id, 1, host)))).every((text) => text !== ''),
      );
      const [first] = (await admin.status()).nodes;
      await admin.post('preempt', { name: first?.name, mode });
      const outcome = await stack.jobs.wait(id);
      assert.deepEqual([outcome.result, outcome.attempts, outcome.preemptions], ['succeeded', 2, 1], stack.tail());
      for (const host of [0, 1, 2, 3]) {
        assert.equal(await log(id, 1, host), "attempt 1 after ''\n");
        assert.equal(await log(id, 2, host), "attempt 2 after 'slices-lost'\n");
      }
      const [lost, second] = await Promise.all([attemptRecord(id, 1), attemptRecord(id, 2)]);
      assert.ok(lost.startedAt < lost.endedAt && lost.endedAt <= second.startedAt, JSON.stringify({ lost, second }));
      assert.equal(outcome.startedAt, lost.startedAt);
      await nothingLeft();
    });
  }

  it('takes a command that a shutdown of its VM ended for what it was, though the API says so later', async () => {
    const script = '[ "$JOBCTL_ATTEMPT" = 2 ] && exit 0; echo runs; sleep 600';
    const { id } = await stack.jobs.submit({ job: jobFile(script, { retries: { task: 0 } }) });
    await until('the command runs', async () => (await log(id, 1, 0)).includes('runs'));
    const [slice] = (await stack.jobs.describe(id)).slices;
    await admin.post('configure', { preemptedLagMs: 3_000 });
    await admin.post('preempt', { name: slice?.ref.name, mode: 'signal' });
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts, outcome.preemptions], ['succeeded', 2, 1], stack.tail());
  });

  it('adopts the slice of a create whose answer was lost', async () => {
    await admin.post('refuse', {
      method: 'CreateQueuedResource',
      code: 'DEADLINE_EXCEEDED',
      times: 1,
      afterEffect: true,
    });
    const { id } = await stack.jobs.submit({ job: jobFile('true') });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    const creates = (await admin.journal()).filter(
      ({ kind, details, subject }) =>
        kind === 'queued-resource-state' && details.from === 'absent' && subject.includes(id),
    );
    assert.equal(creates.length, 1, 'one queued resource, not two');
    await nothingLeft();
  });

  it('goes to the next zone when the first has no capacity', async () => {
    await admin.post('configure', { capacity: { 'us-central1-a/v5litepod': 0 } });
    const { id } = await stack.jobs.submit({
      job: jobFile('true', { tpu: { zone: undefined, zones: ['us-central1-a', 'us-west4-a'] } }),
    });
    await admin.post('refuse', {
      method: 'CreateQueuedResource',
      code: 'RESOURCE_EXHAUSTED',
      times: 1,
      nameMatches: id,
      message:
        'There is no more capacity in the zone "us-central1-a"; you can try in another zone where Cloud TPU Nodes are offered',
    });
    const outcome = await stack.jobs.wait(id);
    await admin.post('configure', { capacity: {} });
    assert.equal(outcome.result, 'succeeded', stack.tail());
    assert.match(
      (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n'),
      /Cloud TPU refused slice 0 in us-central1-a: There is no more capacity/,
    );
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

  it("connects with the submitter's own key where the job names one, and refuses one that cannot be read", async () => {
    const { privateKeyFile } = writeKeyPair(mkdtempSync(join(tmpdir(), 'jobctl-own-key-')));
    const { id } = await stack.jobs.submit({ job: jobFile('echo in', { ssh: { private_key: privateKeyFile } }) });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    const missing = await stack.jobs.submit({ job: jobFile('true', { ssh: { private_key: '/nowhere/id_rsa' } }) });
    await assert.rejects(
      stack.jobs.wait(missing.id),
      /ssh\.private_key: '\/nowhere\/id_rsa' cannot be read by the worker \(ENOENT\)/,
    );
  });

  it('a worker that is told to stop hands its jobs over: the command goes on, started once, no line lost', async () => {
    const command = 'for n in $(seq 40); do echo "line $n of start $(grep -c . ~/.jobctl/starts.log)"; sleep 0.2; done';
    const { id } = await stack.jobs.submit({ job: jobFile(command) });
    await until('every host has printed', async () =>
      (await Promise.all([0, 1, 2, 3].map((host) => log(id, 1, host)))).every((text) => text.includes('line 2')),
    );
    await stack.stopWorker();
    await stack.startWorker();
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts], ['succeeded', 1], stack.tail());
    const want = Array.from({ length: 40 }, (_, index) => `line ${index + 1} of start 1\n`).join('');
    for (const host of [0, 1, 2, 3]) assert.equal(await log(id, 1, host), want);
    const events = (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
    assert.doesNotMatch(events, /is gone/, 'it was handed over, not missed');
  });

  it('takes a name as an idempotency key: the same content is the same job, other content is refused', async () => {
    const submission = { name: 'nightly', job: jobFile('true') };
    const first = await stack.jobs.submit(submission);
    const again = await stack.jobs.submit(submission);
    assert.deepEqual([first.id, first.isNew, again.id, again.isNew], ['nightly', true, 'nightly', false]);
    await assert.rejects(stack.jobs.submit({ ...submission, job: jobFile('false') }), JobNameTaken);
    await stack.jobs.wait('nightly');
    assert.equal((await stack.jobs.submit(submission)).isNew, false, 'finished, it is still the same job');
  });
});

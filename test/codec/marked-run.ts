import assert from 'node:assert/strict';
import { FailureType } from '../../domain/errors.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { until } from '../until.js';
import { markedJob, markedZone } from './marked-job.js';

/**
 * One job for each way a job's values get into messages: it succeeds, is preempted and succeeds, is cancelled, is refused by
 * the cloud with a message until it is cancelled, and is invalid. All with markers of `tag`.
 * @returns the markers that were in it
 */
export async function runMarkedJobs(stack: TestStack, tag: string): Promise<readonly string[]> {
  const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
  const markers = new Set<string>();
  const submit = async (name: string, script: string): Promise<string> => {
    const { job, source, markers: own } = markedJob(tag, name, script);
    for (const marker of own) markers.add(marker);
    return (await stack.jobs.submit({ job, source, user: 'alice', name: `${tag}-${name}` })).id;
  };
  await offerMarkedZone(stack, tag);
  const [refusal, value] = [`mk${tag}refusal`, `mk${tag}invalid`];
  await admin.post('refuse', {
    method: 'CreateQueuedResource',
    code: 'INVALID_ARGUMENT',
    message: `${refusal} is refused`,
    nameMatches: `${tag}-refused`,
  });
  const endings = {
    good: submit('good', 'echo hi').then((id) => endOf(stack, id, 'succeeded')),
    failed: submit('failed', 'exit 3').then((id) => endOf(stack, id, 'failed')),
    // No refusal ends a job that waits (docs/adr/0121).
    refused: submit('refused', 'true').then(async (id) => {
      await until(
        `${id} is refused`,
        async () => JSON.stringify(await stack.jobs.describe(id)).includes(refusal),
        60_000,
      );
      await stack.jobs.cancel(id);
      await endOf(stack, id, 'cancelled');
    }),
    preempted: submit('preempted', '[ "$JOBCTL_ATTEMPT" = 2 ] || sleep 600').then(async (id) => {
      await preempt(stack, admin, id);
      assert.equal((await endOf(stack, id, 'succeeded')).attempts, 2);
    }),
    cancelled: submit('cancelled', 'sleep 600').then(async (id) => {
      await isRunning(stack, id);
      await stack.jobs.cancel(id);
      await endOf(stack, id, 'cancelled');
    }),
    invalid: failAsInvalid(stack, `${tag}-invalid`, value),
  };
  await Promise.all(Object.values(endings));
  return [...markers, refusal, value];
}

/** The zone of such a job is none of Google's: the rehearsed project has to have it. */
export async function offerMarkedZone(stack: TestStack, tag: string): Promise<void> {
  const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
  await admin.post('project', { zones: { [markedZone(tag)]: {} } });
}

async function endOf(stack: TestStack, id: string, result: string): ReturnType<TestStack['jobs']['wait']> {
  const outcome = await stack.jobs.wait(id);
  assert.equal(outcome.result, result, `${id}: ${JSON.stringify(outcome)}\n${stack.tail()}`);
  return outcome;
}

const isRunning = (stack: TestStack, id: string): Promise<unknown> =>
  until(`${id} runs`, async () => (await stack.jobs.row(id)).phase === 'running', 60_000);

async function preempt(stack: TestStack, admin: RehearsalAdmin, id: string): Promise<void> {
  await isRunning(stack, id);
  const [slice] = (await stack.jobs.describe(id)).slices;
  await admin.post('preempt', { name: slice?.ref.name as string, notice: false });
}

/** A service may start the workflow directly: then it is the workflow that says what is wrong, with the value. */
async function failAsInvalid(stack: TestStack, workflowId: string, value: string): Promise<void> {
  const job = { name: 'invalid', tpu: { accelerator: 'v5litepod-8', zone: value }, command: { run: 'true' } };
  const options = { workflowId, taskQueue: stack.taskQueue, args: [{ v: 1, job }] };
  await assert.rejects(stack.client.workflow.execute('job', options), (error: { cause?: unknown }) => {
    const { type, message } = error.cause as { type?: string; message?: string };
    assert.equal(type, FailureType.InvalidJob);
    assert.ok(message?.includes(value), 'who has the key reads the message');
    return true;
  });
}

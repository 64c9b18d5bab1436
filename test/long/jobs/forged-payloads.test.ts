import assert from 'node:assert/strict';
import { Client } from '@temporalio/client';
import { RawValue } from '@temporalio/common';
import { jobDataConverter } from '../../../client/connect.js';
import { newCodecKey } from '../../../cloud/codec/codec-key.js';
import * as jobContract from '../../../contract/job.js';
import { quotaWorkflowId, sliceWorkflowId } from '../../../contract/workflow-ids.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { TestStack } from '../../end-to-end/test-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

/** Environment variables of keys. The forger knows the id of the first, which stands in every payload. */
const [KEY, FORGED, NEXT, NOBODY] = ['KEY', 'FORGED', 'NEXT', 'NOBODY'].map((name) => `JOBCTL_TEST_FORGED_${name}`) as [
  string,
  string,
  string,
  string,
];
const POOL = 'forged-payloads';
const SIGNALS = Object.values(jobContract).flatMap((each: object | null) =>
  each !== null && 'type' in each && each.type === 'signal' && 'name' in each ? [String(each.name)] : [],
);

/** Ciphertext of somebody who has no key: too short for a tag. */
const SHORT = new RawValue(undefined, {
  toPayload: () => ({
    metadata: { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from('first') },
    data: Buffer.from('x'),
  }),
  fromPayload: () => assert.fail('it is only sent'),
});

/** docs/adr/0053: what a key does not open is dropped; what needs another key is waited for. */
describe('jobs with encrypted payloads that are sent ciphertext', function () {
  this.timeout(180_000);
  let stack: TestStack;
  let id: string;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    for (const [name, keyId] of Object.entries({
      [KEY]: 'first',
      [FORGED]: 'first',
      [NEXT]: 'next',
      [NOBODY]: 'nobody',
    }))
      process.env[name] = newCodecKey(new Date(), keyId);
    stack = await TestStack.start({ codec: { key: `env:${KEY}` }, pool: POOL });
    const job = jobFile('while :; do sleep 1; done', { pool: POOL, grace: 1, tpu: { accelerator: 'v5litepod-8' } });
    id = (await stack.jobs.submit({ job, user: 'alice' })).id;
    await until('it runs', async () => (await stack.jobs.row(id)).phase === 'running', 60_000);
  });
  after(() => stack?.stop());

  async function clientOf(key: string): Promise<Client> {
    const { connection, namespace } = stack.server;
    return new Client({ connection, namespace, dataConverter: await jobDataConverter({ key: `env:${key}` }) });
  }
  const tries = async (): Promise<number> =>
    (await stack.client.workflow.getHandle(id).describe()).raw.pendingWorkflowTask?.attempt ?? 0;
  const standsStill = (): Promise<unknown> => until('its task fails again', async () => (await tries()) >= 2, 60_000);
  const goesOn = (): Promise<unknown> => until('its task succeeds', async () => (await tries()) === 0, 60_000);
  async function restart(codec: object): Promise<void> {
    await stack.stopWorker();
    stack.workerConfig = { codec };
    await stack.startWorker();
  }
  async function prioritize(key: string, priority: number): Promise<void> {
    const { firstExecutionRunId: run } = (await stack.client.workflow.getHandle(id).describe()).raw
      .workflowExecutionInfo as { firstExecutionRunId?: string };
    const client = await clientOf(key);
    await client.workflow.getHandle(id).signal(jobContract.prioritySignal, { run: run ?? '', priority });
  }
  const priority = async (): Promise<number> => (await stack.jobs.describe(id)).spec.priority;

  it('drop what the key of its id does not open, and say so', async () => {
    const [slice] = (await stack.jobs.describe(id)).slices;
    const forger = await clientOf(FORGED);
    const targets = [
      ...SIGNALS.map((name) => [id, name] as const),
      [sliceWorkflowId(slice?.ref.name ?? ''), 'release'] as const,
      [quotaWorkflowId(POOL), 'leaseMessages'] as const,
    ];
    for (const [workflowId, name] of targets)
      for (const value of [{ v: 1, reason: 'forged' }, SHORT])
        await forger.workflow.getHandle(workflowId).signal(name, value);
    for (const [workflowId] of targets) {
      const { events } = await until('its tasks are done', async () => {
        const handle = stack.client.workflow.getHandle(workflowId);
        return (await handle.describe()).raw.pendingWorkflowTask ? undefined : handle.fetchHistory();
      });
      assert.deepEqual(
        events?.flatMap(({ workflowTaskFailedEventAttributes: failed }) => (failed ? [failed.failure?.message] : [])),
        [],
        workflowId,
      );
    }
    assert.match(
      stack.tail(2_000),
      /dropped a malformed signal.*cannot be decrypted with the key that it names|cannot be decrypted with the key that it names.*dropped a malformed signal/,
    );
    assert.equal((await stack.jobs.describe(id)).phase, 'running');
  });

  it('wait for a key of a rotation that their worker does not have yet, and lose nothing', async () => {
    await prioritize(NEXT, 1);
    await standsStill();
    await restart({ key: `env:${KEY}`, decodeKeys: [`env:${NEXT}`] });
    await until('it was heard', async () => (await priority()) === 1, 60_000);
  });

  it('wait while their worker has other bytes under the right id, and drop nothing', async () => {
    await restart({ key: `env:${FORGED}` });
    await prioritize(KEY, 2);
    await standsStill();
    await restart({ key: `env:${KEY}`, decodeKeys: [`env:${NEXT}`] });
    await until('it was heard', async () => (await priority()) === 2, 60_000);
  });

  it('wait for a key that nobody has until an operator says that it is forged, and end as they are told', async () => {
    await prioritize(NOBODY, 5);
    await standsStill();
    await restart({ key: `env:${KEY}`, decodeKeys: [`env:${NEXT}`], forgedKeyIds: ['nobody'] });
    await goesOn();
    assert.equal(await priority(), 2);
    await stack.jobs.cancel(id);
    assert.equal((await stack.jobs.wait(id)).result, 'cancelled', stack.tail());
  });
});

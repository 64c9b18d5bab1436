import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { RawValue } from '@temporalio/common';
import * as janitorContract from '../../../contract/janitor.js';
import * as jobContract from '../../../contract/job.js';
import * as quotaContract from '../../../contract/quota.js';
import * as sliceContract from '../../../contract/slice.js';
import { quotaWorkflowId, sliceWorkflowId, WorkflowType } from '../../../contract/workflow-ids.js';
import type { FullPool } from '../../end-to-end/full-pool.js';
import { withFullPool } from '../../end-to-end/with-full-pool.js';
import { until } from '../../until.js';

const POOL = 'garbage';

/** Names of all signals that a workflow takes. */
const signalsOf = (contract: object): readonly string[] =>
  Object.values(contract).flatMap((each: { readonly type?: string; readonly name?: string } | null) =>
    each?.type === 'signal' ? [String(each.name)] : [],
  );
const [OF_JOB, OF_SLICE, OF_QUOTA] = [jobContract, sliceContract, quotaContract].map(signalsOf) as [
  readonly string[],
  readonly string[],
  readonly string[],
];
/** The rounds make 200 trials of the kinds of garbage that the SDK decodes, and more of what it cannot. */
const ROUNDS = 2;

const someObject = (): object => ({
  v: 1,
  [randomBytes(2).toString('hex')]: randomInt(1_000),
  lease: { job: randomBytes(2).toString('hex') },
  run: [randomInt(9)],
});

/** What a client of another SDK, or a broken one, puts into a payload; the SDK's own converter throws at each. */
const UNDECODABLE = [
  { encoding: 'json/protobuf', text: '{}' },
  { encoding: 'json/plain', text: 'no json' },
  { encoding: 'of/nobody', text: 'x' },
].map(
  ({ encoding, text }) =>
    new RawValue(undefined, {
      toPayload: () => ({ metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(text) }),
      fromPayload: () => assert.fail('it is only sent'),
    }),
);

/** docs/design.md, "Nothing wedges": a message that does not have its contract's form is dropped, whoever sends it. */
describe('workflows that are sent garbage', function () {
  this.timeout(180_000);
  let full: FullPool;
  withFullPool(POOL, (own) => void (full = own));

  it('go on as if nothing had come: jobs end well, no workflow task fails, nothing is left', async () => {
    const { client, jobs } = full.stack;
    const running = await full.running();
    const waiting = await full.submit('echo ok');
    await until('it waits', () => full.isWaiting(waiting));
    const [slice] = (await jobs.describe(running)).slices;
    const sliceId = sliceWorkflowId(slice?.ref.name ?? '');
    const targets = [
      ...[running, waiting].flatMap((id) => OF_JOB.map((name) => ({ id, name }))),
      ...OF_SLICE.map((name) => ({ id: sliceId, name })),
      ...OF_QUOTA.map((name) => ({ id: quotaWorkflowId(POOL), name })),
    ];
    let trials = 0;
    for (let round = 0; round < ROUNDS; round++) {
      for (const { id, name } of targets) {
        for (const garbage of [null, 'x', 7, {}, [null], someObject()]) {
          await client.workflow.getHandle(id).signal(name, garbage);
          trials += 1;
        }
      }
    }
    assert.deepEqual(
      [OF_JOB.length, OF_SLICE.length, OF_QUOTA.length, signalsOf(janitorContract).length],
      [9, 4, 2, 0],
    );
    assert.ok(trials >= 200, `${trials} trials`);
    for (const { id, name } of targets)
      for (const garbage of UNDECODABLE) await client.workflow.getHandle(id).signal(name, garbage);

    assert.equal((await jobs.describe(running)).phase, 'running', full.stack.tail());
    assert.equal((await jobs.describe(running)).slices[0]?.state, 'ready');
    await jobs.cancel(running);
    assert.equal((await jobs.wait(running)).result, 'cancelled', full.stack.tail());
    const { result, attempts } = await jobs.wait(waiting);
    assert.deepEqual([result, attempts], ['succeeded', 1], full.stack.tail());
    await full.nothingIsLeft();
    for (const id of [running, waiting, sliceId, quotaWorkflowId(POOL)])
      assert.deepEqual(await failedTasks(id), [], `${id}: workflow tasks that failed`);
  });

  it('are refused, and do not stand still, when they are started with garbage', async () => {
    const { client, taskQueue } = full.stack;
    const inputs = [null, 'x', 7, {}, [null], someObject(), ...UNDECODABLE];
    const types = [WorkflowType.Job, WorkflowType.Slice, WorkflowType.Quota];
    for (const type of types)
      for (const [index, input] of inputs.entries()) {
        const workflowId = `garbage-${type}-${index}`;
        const handle = await client.workflow.start(type, { workflowId, taskQueue, args: [input] });
        await assert.rejects(handle.result(), WorkflowFailedError, `${type} started with ${JSON.stringify(input)}`);
        assert.deepEqual(await failedTasks(workflowId), []);
      }
    // A sweep has no use for its input, so nothing of it can stop one.
    for (const [index, input] of inputs.entries()) {
      const report = await client.workflow.execute<(given: unknown) => Promise<janitorContract.JanitorReport>>(
        'janitor',
        { workflowId: `garbage-janitor-${index}`, taskQueue, args: [input] },
      );
      assert.deepEqual([report.reclaimed, report.unknown, report.stuck], [[], [], []]);
    }
    await full.nothingIsLeft();
  });

  /** Of the first run: nothing continues as new for so few signals but the pool, whose present run is looked at. */
  async function failedTasks(id: string): Promise<readonly string[]> {
    const { events } = await full.stack.client.workflow.getHandle(id).fetchHistory();
    const messages = (events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
      failed ? [failed.failure?.message ?? 'without a message'] : [],
    );
    // The server's own: a signal came while the run was about to end or continue, so the task is done again with it.
    return messages.filter((message) => message !== 'UnhandledCommand');
  }
});

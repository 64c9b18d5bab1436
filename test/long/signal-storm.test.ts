import assert from 'node:assert/strict';
import type { FullPool } from '../end-to-end/full-pool.js';
import { poolState } from '../end-to-end/pool-watch.js';
import { withFullPool } from '../end-to-end/with-full-pool.js';
import { until } from '../until.js';

const POOL = 'storm';
/** Temporal takes 2,000 pending activities or signals of a workflow: who answered each signal would fail the task for ever. */
const MANY = 9_000;
const AT_A_TIME = 50;

/** docs/design.md, "Nothing wedges": signals that are each answered. docs/operations.md says how many a job hears in time. */
describe('a running job and its slice, asked 9,000 times while no worker is there', function () {
  this.timeout(300_000);
  let full: FullPool;
  withFullPool(POOL, (own) => void (full = own), {});

  async function storm(id: string, signal: string, value: unknown): Promise<void> {
    const handle = full.stack.client.workflow.getHandle(id);
    for (let sent = 0; sent < MANY; sent += AT_A_TIME)
      await Promise.all(Array.from({ length: AT_A_TIME }, () => handle.signal(signal, value)));
  }

  it('answer all of them together, and go on', async () => {
    const { stack } = full;
    const id = await full.running();
    const [slice] = (await stack.jobs.describe(id)).slices;
    const sliceId = `slice/${slice?.ref.name}`;
    const { epoch } = (await poolState(stack.client, POOL)) ?? {};
    await stack.stopWorker();
    await storm(id, 'restate', { epoch });
    await storm(sliceId, 'attach', null);
    await stack.startWorker();

    for (const workflowId of [id, sliceId])
      await until(
        `${workflowId} has heard them`,
        async () => !(await stack.client.workflow.getHandle(workflowId).describe()).raw.pendingWorkflowTask,
        120_000,
      );
    assert.equal((await stack.jobs.describe(id)).phase, 'running');
    for (const workflowId of [id, sliceId]) assert.deepEqual(await failures(workflowId), [], workflowId);
    await stack.jobs.cancel(id);
    assert.equal((await stack.jobs.wait(id)).result, 'cancelled', stack.tail());
    await full.nothingIsLeft();
  });

  /** Messages of workflow tasks that failed. One that only took too long, on a busy computer, is tried again and succeeds. */
  async function failures(workflowId: string): Promise<readonly string[]> {
    const { events } = await full.stack.client.workflow.getHandle(workflowId).fetchHistory();
    return (events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
      failed === null || failed === undefined ? [] : [String(failed.failure?.message)],
    );
  }
});

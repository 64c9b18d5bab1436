import assert from 'node:assert/strict';
import type { JanitorReport } from '../../../contract/janitor.js';
import type { FullPool } from '../../end-to-end/full-pool.js';
import { plant } from '../../end-to-end/planted.js';
import { leasedUnits, poolState } from '../../end-to-end/pool-watch.js';
import { withFullPool } from '../../end-to-end/with-full-pool.js';
import { until } from '../../until.js';

const POOL = 'terminated';

describe('workflows that are terminated, reset or continued as new', function () {
  this.timeout(90_000);
  let full: FullPool;
  withFullPool(POOL, (own) => void (full = own), undefined, 1);

  const runIdOf = async (id: string): Promise<string> =>
    (await full.stack.client.workflow.getHandle(id).describe()).runId;

  it('a reset job adopts its running slice and attempt, and a terminate then leaves nothing', async () => {
    const id = await full.running();
    const [slice] = (await full.admin.status()).nodes;
    const before = await runIdOf(id);
    await full.temporal('reset', '--workflow-id', id, '--type', 'FirstWorkflowTask', '--reason', 'test');
    await until('a new run is there', async () => (await runIdOf(id)) !== before);
    await full.inPhase(id, 'running');
    const { nodes, queuedResources } = await full.admin.status();
    assert.deepEqual([nodes.length, queuedResources.length, nodes[0]?.name], [1, 1, slice?.name], full.stack.tail());
    assert.equal((await full.stack.jobs.describe(id)).attempt, 1);
    const inits = await full.inits();
    await full.terminate(id);
    await full.nothingIsLeft(inits);
  });

  it('a terminated slice workflow is replaced by one that deletes what it owned; the job goes on with another', async () => {
    const id = await full.submit('echo started; [ "$JOBCTL_ATTEMPT" = 1 ] && sleep 600; true');
    await full.hasPrinted(id);
    const [slice] = (await full.stack.jobs.describe(id)).slices;
    await full.terminate(`slice/${slice?.ref.name}`);
    const outcome = await full.stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts], ['succeeded', 2], full.stack.tail());
    await full.nothingIsLeft();
  });

  const sweep = (): Promise<JanitorReport> =>
    full.stack.client.workflow.execute('janitor', {
      workflowId: `sweep-${Date.now()}`,
      taskQueue: full.stack.taskQueue,
      args: [{ v: 1 }],
    });

  it('the janitor reclaims what a closed slice workflow left, keeps what an open one has, and only reports the unknown', async () => {
    const id = await full.running();
    assert.deepEqual((await sweep()).reclaimed, [], 'a slice that is looked after is kept');
    const [slice] = (await full.stack.jobs.describe(id)).slices;
    // Neither the slice itself nor the reconciler may be quicker than the sweep.
    await full.admin.post('hold', { state: 'DELETING' });
    await full.terminate(`quota/${POOL}`);
    await full.terminate(id);
    await full.terminate(`slice/${slice?.ref.name}`);
    const stranger = await plant(full.stack, 'jc-stranger-g1');
    try {
      const report = await sweep();
      assert.deepEqual(report.reclaimed, [slice?.ref.name]);
      assert.deepEqual(report.unknown, ['jc-stranger-g1']);
      await full.admin.post('release', {});
      await until(
        'only the stranger is left',
        async () => (await full.admin.status()).queuedResources.length === 1,
        60_000,
      );
      assert.deepEqual((await sweep()).unknown, ['jc-stranger-g1'], 'and it is still there');
    } finally {
      await full.admin.post('release', {});
      await stranger.remove();
    }
    await full.nothingIsLeft();
  });

  it('a quota workflow that continues as new keeps its epoch, its leases and who waits', async () => {
    const holder = await full.running();
    const waiter = await full.submit('true');
    const before = await until('one holds, one waits', async () => {
      const state = await poolState(full.stack.client, POOL);
      return state?.leases.length === 1 && state.waiting.length === 1 ? state : undefined;
    });
    const run = await runIdOf(`quota/${POOL}`);
    await until('it continued as new', async () => (await runIdOf(`quota/${POOL}`)) !== run, 60_000);
    const after = await until('the new run answers', () => poolState(full.stack.client, POOL));
    const { raw } = await full.stack.client.workflow.getHandle(`quota/${POOL}`).describe();
    assert.equal(Number(raw.executionConfig?.defaultWorkflowTaskTimeout?.seconds), 60, 'time to read a long history');
    assert.equal(raw.workflowExecutionInfo?.priority?.priorityKey, 1, 'before all jobs');
    assert.equal(after.epoch, before.epoch);
    assert.deepEqual(
      [after.leases[0]?.lease.job, after.leases[0]?.slices, after.waiting[0]?.lease.job],
      [holder, before.leases[0]?.slices, waiter],
    );
    await full.stack.jobs.cancel(holder);
    assert.equal((await full.stack.jobs.wait(waiter)).result, 'succeeded', full.stack.tail());
    await full.nothingIsLeft();
  });

  it('a terminated quota workflow is rebuilt: nothing is granted twice, and the waiting job gets its turn', async () => {
    const holder = await full.running();
    const waiter = await full.submit('true');
    await until('it waits', () => full.isWaiting(waiter));
    const epoch = (await poolState(full.stack.client, POOL))?.epoch as number;
    await full.terminate(`quota/${POOL}`);
    // A third job's request brings it back.
    const third = await full.submit('true');
    const rebuilt = await until('it is back and knows all three', async () => {
      const state = await poolState(full.stack.client, POOL);
      return state && state.epoch > epoch && state.leases.length === 1 && state.waiting.length === 2
        ? state
        : undefined;
    });
    assert.equal(leasedUnits(rebuilt), 8);
    assert.equal(rebuilt.leases[0]?.lease.job, holder);
    await full.stack.jobs.cancel(holder);
    for (const id of [waiter, third])
      assert.equal((await full.stack.jobs.wait(id)).result, 'succeeded', full.stack.tail());
    await full.nothingIsLeft();
  });
});

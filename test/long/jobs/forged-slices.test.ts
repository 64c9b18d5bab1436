import assert from 'node:assert/strict';
import type { WorkflowFailedError } from '@temporalio/client';
import type { ApplicationFailure } from '@temporalio/common';
import type { SliceInput } from '../../../contract/slice.js';
import { sliceWorkflowId, WorkflowType } from '../../../contract/workflow-ids.js';
import type { MachineRef } from '../../../domain/machines.js';
import type { Owner } from '../../../domain/slice.js';
import { DEFAULT_TIMINGS } from '../../../domain/timings.js';
import type { FullPool } from '../../end-to-end/full-pool.js';
import { plant } from '../../end-to-end/planted.js';
import { withFullPool } from '../../end-to-end/with-full-pool.js';

const POOL = 'forged';

/** Whoever reaches Temporal can start a slice workflow with any input (docs/adr/0044). */
describe('slices that somebody started by hand', function () {
  this.timeout(180_000);
  let full: FullPool;
  withFullPool(POOL, (own) => void (full = own));

  it('delete nothing of others, whatever their input says', async () => {
    const { stack, admin } = full;
    const { workflow } = stack.client;
    const theirs = await plant(stack, 'stranger-prod', 'otherteam0001');
    const ours = await full.running();
    const [slice] = (await stack.jobs.describe(ours)).slices;
    assert.ok(slice);
    const { runId: run } = await workflow.getHandle(ours).describe();
    const lease = { pool: POOL, job: 'nobody', run: 'none', number: 1 };
    const forged = (ref: MachineRef, owner: Owner, workflowId = sliceWorkflowId(ref.name)) =>
      workflow.start(WorkflowType.Slice, {
        workflowId,
        taskQueue: stack.taskQueue,
        args: [{ v: 1, task: { kind: 'reclaim', ref, owner }, lease, timings: DEFAULT_TIMINGS } satisfies SliceInput],
      });
    const since = (await admin.journal()).length;
    const handles = [
      // Labels are readable for all who may list TPUs.
      await forged(theirs.ref, { owner: 'otherteam0001', job: 'stranger', run: 'nobody-knows' }),
      // Our own labels, under an id that does not own the name.
      await forged(slice.ref, { owner: stack.owner, job: ours, run }, 'slice/x1'),
    ];
    for (const handle of handles) {
      await assert.rejects(handle.result(), (error: WorkflowFailedError) => {
        const failure = error.cause?.cause ?? error.cause;
        assert.equal((failure as ApplicationFailure).type, 'InvalidInput', String(failure));
        return true;
      });
    }
    // Our owner for their resource: it is foreign, and the workflow ends.
    const strange = sliceWorkflowId(theirs.ref.name);
    await forged(theirs.ref, { owner: stack.owner, job: 'stranger', run: 'nobody-knows' }, strange).then((handle) =>
      handle.result(),
    );
    const deletes = (await admin.journal()).slice(since).filter(({ details }) => details.method?.startsWith('Delete'));
    assert.deepEqual(deletes, []);
    assert.equal((await stack.jobs.describe(ours)).phase, 'running');
    const { queuedResources } = await admin.status();
    assert.ok(queuedResources.some(({ name }) => name.endsWith(`/${theirs.ref.name}`)));
    await theirs.remove();
    await stack.jobs.cancel(ours);
    await stack.jobs.wait(ours);
    await full.nothingIsLeft();
  });
});

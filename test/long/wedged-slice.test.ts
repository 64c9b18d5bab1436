import assert from 'node:assert/strict';
import type { JanitorReport } from '../../contract/janitor.js';
import { WEDGED_FROM_ATTEMPT } from '../../domain/janitor.js';
import type { FullPool } from '../end-to-end/full-pool.js';
import { Poison } from '../end-to-end/poison.js';
import { poolState } from '../end-to-end/pool-watch.js';
import { withFullPool } from '../end-to-end/with-full-pool.js';
import { auditLeaks } from './audit-leaks.js';

const POOL = 'wedged-slice';

/** docs/adr/0035, "Janitor". Of real failures: Temporal waits longer before each next attempt of a workflow task. */
describe('a slice whose workflow task fails on every try', function () {
  this.timeout(240_000);
  let full: FullPool;
  withFullPool(POOL, (own) => void (full = own), {});

  const sweep = (): Promise<JanitorReport> =>
    full.stack.client.workflow.execute('janitor', {
      workflowId: `sweep-${Date.now()}`,
      taskQueue: full.stack.taskQueue,
      args: [{ v: 1 }],
    });

  it('serves its job on; once the job is closed the janitor names it, replaces it, and its chips are free', async () => {
    const { stack, admin } = full;
    const poison = await Poison.for(stack);
    const id = await full.running();
    const inits = await full.inits();
    const name = (await stack.jobs.describe(id)).slices[0]?.ref.name ?? '';
    await poison.give(`slice/${name}`, 'attach', WEDGED_FROM_ATTEMPT);

    const before = await sweep();
    assert.deepEqual([before.stuck, before.reclaimed], [[], []], 'its job is open');
    assert.equal((await admin.status()).nodes[0]?.state, 'READY');

    await full.terminate(id);
    const audited = await auditLeaks(stack).then(
      () => assert.fail('the audit found nothing'),
      (error: { readonly stdout: string; readonly code: number }) => error,
    );
    assert.equal(audited.code, 1);
    assert.match(audited.stdout, new RegExp(`${name} .*READY.* ${id} .*its job closed \\d+ s ago`));
    assert.equal((await poolState(stack.client, POOL))?.leases.length, 1, 'its chips are not given to anybody');

    const report = await sweep();
    assert.deepEqual(report.reclaimed, [name]);
    assert.match(
      report.stuck[0] ?? '',
      new RegExp(`^${name}: its job ${id} closed 0 min ago; attempt [5-9] of its workflow task`),
    );
    await full.nothingIsLeft(inits);
    assert.deepEqual((await sweep()).stuck, []);
    const counted = (await stack.metrics()).split('\n').filter((line) => line.startsWith('jobctl_stuck_slices_total'));
    assert.deepEqual(counted, ['jobctl_stuck_slices_total 1']);
    assert.match(stack.tail(10_000), new RegExp(`a slice outlived its job: ${name}: `));
    const { status } = await stack.client.workflow.getHandle(`slice/${name}`).describe();
    assert.equal(status.name, 'COMPLETED', 'of the one that replaced it');
  });
});

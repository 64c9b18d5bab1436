import assert from 'node:assert/strict';
import { cloudIsEmpty } from './nothing-left.js';
import type { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import type { TestStack } from './test-stack.js';
import { vmJob } from './vm-job.js';
import { withStack } from './with-stack.js';

/** Preemption and second zones: compute-engine.live.test.ts. */
describe('a job on VMs of Compute Engine', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((own, cloud) => {
    stack = own;
    admin = cloud;
  });
  afterEach(() => cloudIsEmpty(admin, 30_000));

  it('runs on every VM of its gang, each with its own name and rank, and leaves nothing behind', async () => {
    const { id } = await stack.jobs.submit({ job: vmJob('echo "$(hostname) $RANK of $WORLD_SIZE"') });
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
    for (const host of [0, 1])
      assert.equal(await storedLog(stack.store, { id, stream: 'command', host }), `jc-${id}-g1-${host} ${host} of 2\n`);
  });
});

import assert from 'node:assert/strict';
import { quotaWorkflowId } from '../../../contract/workflow-ids.js';
import { quotaFileText } from '../../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { poolState } from '../../end-to-end/pool-watch.js';
import { TestStack } from '../../end-to-end/test-stack.js';

const POOL = 'parked';
/** Room for two v5litepod-4, one for each project. */
const QUOTA = quotaFileText(
  { v5litepod: 8 },
  { a: { members: ['alice'], share: 0.5 }, b: { members: ['bob'], share: 0.5 } },
);
const FOR_EVER = 'echo started; while :; do sleep 0.2; done';
const ONCE = '[ "$JOBCTL_ATTEMPT" -gt 1 ] && exit 0; echo started; while :; do sleep 0.2; done';

describe('the lease of a job that was stopped', function () {
  this.timeout(120_000);
  let stack: TestStack;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ pool: POOL });
    // An hour: what is held is protected, what is parked is not.
    const poolFile = { name: 'pool.toml', text: '[quota]\nmin_runtime = "1h"\n' };
    await stack.jobs.quota(POOL).apply({ quotaFile: { name: 'quota.toml', text: QUOTA }, poolFile }, 'ann');
  });
  after(() => stack.stop());

  const submit = async (user: string, command: string): Promise<string> =>
    (
      await stack.jobs.submit({
        job: jobFile(command, { pool: POOL, grace: 5, tpu: { accelerator: 'v5litepod-4' } }),
        user,
      })
    ).id;
  const inPhase = (id: string, phase: string): Promise<unknown> =>
    until(`${id} is ${phase}`, async () => (await stack.jobs.row(id)).phase === phase, 60_000);
  const stateOf = async (id: string): Promise<string | undefined> =>
    (await poolState(stack.client, POOL))?.leases?.find(({ lease }) => lease.job === id)?.state;

  it('is taken first, whatever its job held before; a pool that lost its memory does not wait for a job that holds nothing', async () => {
    const kept = await submit('alice', FOR_EVER);
    await inPhase(kept, 'running');
    const borrower = await submit('alice', ONCE);
    await inPhase(borrower, 'running');
    await stack.jobs.stop(borrower, 'alice');
    await inPhase(borrower, 'paused');
    await until('its lease is parked', async () => (await stateOf(borrower)) === 'parked');

    const owner = await submit('bob', 'true');
    await inPhase(borrower, 'released');
    assert.equal((await stack.jobs.wait(owner)).result, 'succeeded', stack.tail());
    const events = (await stack.jobs.describe(borrower)).events.map(({ text }) => text).join('\n');
    assert.match(events, /its lease was taken: it is paused, and job .* of project b waits for its chips/);

    await stack.client.workflow.getHandle(quotaWorkflowId(POOL)).terminate('its memory is lost');
    const second = await submit('bob', 'true');
    assert.equal((await stack.jobs.wait(second)).result, 'succeeded', stack.tail());
    assert.equal((await stack.jobs.row(borrower)).phase, 'released', 'nobody asked for it');

    await stack.jobs.resume(borrower, 'alice');
    const outcome = await stack.jobs.wait(borrower);
    assert.deepEqual([outcome.result, outcome.attempts, outcome.quotaPreemptions], ['succeeded', 2, 1], stack.tail());
    await stack.jobs.cancel(kept);
    await stack.jobs.wait(kept);
  });
});

import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { ActivityDependencies } from '../../activities/dependencies.js';
import { sliceActivities } from '../../activities/slice.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { slicePlan } from '../cloud/cloud-tpu-plan.js';
import { type RehearsedCloud, startRehearsedCloud } from '../cloud/rehearsed-cloud.js';

/**
 * F6: a `slice` workflow that was started by hand, with the labels of another installation in its input, deleted that
 * installation's TPU. At 19b9c1e the input's owner was the one that counted, and the journal has the DeleteNode. The same with
 * workflows: test/long/jobs/forged-slices.test.ts.
 */
describe('F6: machines of another installation', function () {
  this.timeout(60_000);
  let cloud: RehearsedCloud;
  before(async () => {
    cloud = await startRehearsedCloud();
    await cloud.admin('configure', { creatingMs: 0, queueMs: 0, provisioningMs: 50, deletingMs: 0 });
  });
  after(() => cloud?.stop());

  const activities = (owner: string) =>
    sliceActivities({
      machinesOf: () => cloud.tpuPort(),
      installation: { owner, timings: DEFAULT_TIMINGS },
      meter: { provisioned: () => undefined },
    } as unknown as ActivityDependencies);

  for (const owner of ['ours', ''])
    it(`are not deleted by a worker of installation '${owner}', whatever the input of a slice says`, async () => {
      const theirs = slicePlan(`theirs-${owner}`, 'tpu-vm', { accelerator: 'v5litepod-8' });
      await cloud.tpuPort().create(theirs);
      const seq = (await cloud.journal()).at(-1)?.seq ?? 0;
      const { ref, ownership } = theirs;
      const input = { ref, owner: ownership, notBefore: 0, timings: DEFAULT_TIMINGS };
      await assert.rejects(
        new MockActivityEnvironment().run(() => activities(owner).deleteUntilGone(input)),
        /the input names owner '.*', and this installation is '.*'\. It creates and deletes nothing of another/,
      );
      const calls = (await cloud.journal(seq)).map(({ details }) => String(details['method']));
      assert.deepEqual(
        calls.filter((method) => method.startsWith('Delete')),
        [],
      );
    });
});

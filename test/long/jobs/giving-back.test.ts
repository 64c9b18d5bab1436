import assert from 'node:assert/strict';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import type { FullPool } from '../../end-to-end/full-pool.js';
import { withFullPool } from '../../end-to-end/with-full-pool.js';
import { auditLeaks } from '../audit-leaks.js';

const POOL = 'giving-back';
/** What Google says of a zone that does not exist, and of one that a project may not use. */
const NO_ZONE = {
  code: 'PERMISSION_DENIED',
  message: "Permission denied on 'locations/us-central1-a' (or it may not exist).",
  reason: 'LOCATION_POLICY_VIOLATED',
  zone: 'us-central1-a',
};

/** docs/adr/0099. What a provider will never say is not waited for if nobody ever accepted the slice. */
describe('a slice in a zone that refuses every call', function () {
  this.timeout(120_000);
  let full: FullPool;
  withFullPool(POOL, (own) => void (full = own), {});

  for (const mode of ['tpu-vm', 'queued-resources'])
    it(`was never accepted, so that its chips are back at once, and the next zone has them: ${mode}`, async () => {
      await full.admin.post('refuse', { method: '*', ...NO_ZONE });
      const tpu = { zone: null, zones: ['us-central1-a', 'us-west4-a'], allocation_mode: mode };
      const id = await full.submit('echo ran', { tpu });
      const { result, cause } = await full.stack.jobs.wait(id);
      assert.equal(result, 'succeeded', `${cause?.message}\n${full.stack.tail()}`);
      await full.nothingIsLeft();
      await auditLeaks(full.stack);
    });

  it('ends the job that has no other zone, and the pool has its chips for the next one', async () => {
    await full.admin.post('refuse', { method: '*', ...NO_ZONE });
    const id = await full.submit('echo ran', { retries: { infrastructure: 0 } });
    const { result, cause } = await full.stack.jobs.wait(id);
    assert.deepEqual([result, /zone us-central1-a does not exist/.test(cause?.message ?? '')], ['failed', true]);
    await full.nothingIsLeft();
    await full.admin.stopRefusing();
    assert.equal((await full.stack.jobs.wait(await full.submit('echo ran'))).result, 'succeeded');
    await cloudIsEmpty(full.admin);
  });
});

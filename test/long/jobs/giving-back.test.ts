import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import { poolState } from '../../end-to-end/pool-watch.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import type { FullPool } from '../../end-to-end/full-pool.js';
import { withFullPool } from '../../end-to-end/with-full-pool.js';
import { auditLeaks, environmentOf } from '../audit-leaks.js';

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

/** What Google says once a project may not be used any more; each would be true for ever. */
const ANSWERS = {
  'a zone that it may not use any more': { code: NO_ZONE.code, message: NO_ZONE.message, reason: NO_ZONE.reason },
  'a project that was deleted': {
    code: 7,
    message: 'Permission denied on resource project rehearsal.',
    reason: 'CONSUMER_INVALID',
  },
  'an API that was switched off': {
    code: 7,
    message: 'Cloud TPU API has not been used in project 1 before or it is disabled.',
    reason: 'SERVICE_DISABLED',
  },
} as const;

describe('a slice that runs, and whose provider refuses every call from then on', function () {
  this.timeout(180_000);
  let full: FullPool;
  withFullPool('undeletable', (own) => void (full = own), { giveBackMs: 2_000 });

  const jobctl = (...args: readonly string[]) => jobctlOf(full.stack, ...args);

  for (const [name, answer] of Object.entries(ANSWERS))
    it(`is told, ends 'delete', and is released by an admin: ${name}`, async () => {
      const { stack, admin, pool } = full;
      const id = await full.running();
      for (const method of ['GetNode', 'GetQueuedResource', 'DeleteNode', 'DeleteQueuedResource'])
        await admin.post('refuse', { method, ...answer });
      const deleted = await jobctl('delete', id, '--yes');
      assert.equal(deleted.code, 1, deleted.stdout + deleted.stderr);
      assert.match(deleted.stdout, /not all of it can be deleted[^]*does not change by itself[^]*jobctl quota release/);
      assert.equal((await poolState(stack.client, pool))?.leases.length, 1, 'its chips are not given to anybody');
      assert.match((await jobctl('quota', 'show', '--pool', pool)).stdout, new RegExp(`STUCK[^]*${id}`));
      assert.match((await jobctl('why', id)).stdout, /is being deleted for [^]*quota release/);
      const audited = await jobctl('audit', 'leaks', '--grace', '0s');
      assert.deepEqual(
        [audited.code, /quota release/.test(audited.stdout)],
        [1, true],
        audited.stdout + audited.stderr,
      );
      const next = await full.submit('echo ran');
      const released = await jobctl('quota', 'release', id, '--because', 'looked in the console');
      assert.match(released.stdout, /its lease is free/, released.stderr);
      assert.equal((await jobctl('quota', 'release', id, '--because', 'again')).code, 0);
      // What is there after all is a leak, which the audit names and the janitor deletes.
      assert.match((await jobctl('audit', 'leaks', '--grace', '0s')).stdout, new RegExp(`${id} +its job closed`));
      await admin.stopRefusing();
      await stack.client.workflow.execute('janitor', {
        workflowId: `sweep-${Date.now()}`,
        taskQueue: stack.taskQueue,
        args: [{ v: 1 }],
      });
      assert.equal((await stack.jobs.wait(next)).result, 'succeeded', stack.tail());
      await cloudIsEmpty(admin, 60_000);
      await auditLeaks(stack);
    });
});

describe('a deletion that goes on, and is not stuck yet', function () {
  this.timeout(180_000);
  let full: FullPool;
  withFullPool('going-on', (own) => void (full = own), {});

  it('is told with what its provider answered last, and `delete --timeout` ends with 124', async () => {
    const { stack, admin } = full;
    const id = await full.running();
    for (const method of ['GetNode', 'GetQueuedResource', 'DeleteNode', 'DeleteQueuedResource'])
      await admin.post('refuse', { method, ...ANSWERS['an API that was switched off'] });
    const { code, stdout, stderr } = await jobctlOf(stack, 'delete', id, '--yes', '--timeout', '30s');
    assert.equal(code, 124, stdout + stderr);
    const told = /: waits for slice \S+, which is being deleted since \S+ \S+ UTC: .*is not enabled in project 1: run/;
    assert.match(stdout, told);
    assert.match(stdout, /the time of --timeout is over; that goes on without you/);
    await admin.stopRefusing();
    assert.equal((await jobctlOf(stack, 'delete', id, '--yes')).code, 0);
    await full.nothingIsLeft();
  });
});

interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function jobctlOf(stack: TestStack, ...args: readonly string[]): Promise<Said> {
  const env = { ...process.env, ...environmentOf(stack) };
  const run = promisify(execFile)(process.execPath, ['--import', 'tsx', MAIN, ...args], { env });
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Said) => error,
  );
}

const MAIN = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url));

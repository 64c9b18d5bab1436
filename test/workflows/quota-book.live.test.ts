import assert from 'node:assert/strict';
import { admissionUpdate, leaseMessagesSignal } from '../../contract/quota.js';
import { quotaWorkflowId } from '../../contract/workflow-ids.js';
import { poolBookObject } from '../../domain/store-layout.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { LivePool, QUOTA_FILE } from './live-pool.js';

describe('a pool with many jobs', function () {
  this.timeout(120_000);
  const live = new LivePool();

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    await live.start();
    live.renew();
  });
  after(() => live.stop());

  it('hands a book that is too long for a payload to its next run through the store', async () => {
    await live.apply(QUOTA_FILE);
    await live.handle().executeUpdate(admissionUpdate, { args: [{ v: 1, by: 'alice', admission: 'frozen' }] });
    const first = (await live.handle().describe()).runId;
    // Their messages are more history than a run may have, and so is their book alone, which goes through the store.
    const many = 8_000;
    const messages = Array.from({ length: many }, (_, index) => ({
      lease: {
        pool: live.pool,
        job: `${live.pool}-job-${index}`,
        run: `01a1fe4e-0000-7000-8000-${String(index).padStart(12, '0')}`,
        number: 1,
      },
      sender: 'job',
      sequence: 1_795_274_000_000 + index,
      body: {
        kind: 'request' as const,
        demand: {
          project: 'owner',
          user: `u${index % 50}`,
          priority: 3,
          submittedAt: 1_795_274_000_000,
          units: { v4: 8 },
        },
        slices: [],
      },
    }));
    for (let from = 0; from < many; from += 500)
      await live.handle().signal(leaseMessagesSignal, messages.slice(from, from + 500));
    const kept = await until(
      'a later run has them all',
      async () => {
        const [{ runId }, state] = [await live.handle().describe(), await live.state()];
        return runId !== first && (await live.store.list(poolBookObject(live.pool, ''))).length > 0 ? state : undefined;
      },
      60_000,
    );
    // The comparison of leases has begun to take away those without a job.
    assert.ok(kept.waitingCount > many / 2, `${kept.waitingCount} are left`);
    await until('a run with more than its limit handed over works on', hasCompared, 30_000);
    await live.handle().terminate('test');
  });

  /** A run that ends at once never gets so far. */
  async function hasCompared(): Promise<boolean> {
    const { runId } = await live.handle().describe();
    const { events } = await live.client.workflow.getHandle(quotaWorkflowId(live.pool), runId).fetchHistory();
    const called = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
    return called.includes('readBook') && called.includes('findStrays');
  }
});

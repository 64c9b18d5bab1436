import assert from 'node:assert/strict';
import { defaultPayloadConverter } from '@temporalio/common';
import type { PoolFacts, StrayHolders } from '../../contract/quota-activities.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { emptyCarry, PoolRecords } from '../../workflows/quota/pool-records.js';
import { Reconciler } from '../../workflows/quota/rebuild.js';
import { until } from '../until.js';
import { BareRun } from './bare-run.js';
import { JOB, request } from './lease-messages.js';

const POOL = JOB.pool;
const FACTS: PoolFacts = { config: { kind: 'unlimited' }, timings: DEFAULT_TIMINGS, googleProject: 'ours' };

/** Facts as a worker or a run from before `poolLookMs` has them. */
function earlier(reconcileMs: number): PoolFacts {
  const { poolLookMs: _, ...timings } = { ...DEFAULT_TIMINGS, reconcileMs };
  return { ...FACTS, timings } as PoolFacts;
}

describe('the comparison of leases with what is open', () => {
  let run: BareRun;
  beforeEach(() => (run = new BareRun()));
  after(() => BareRun.end());

  function scene(facts = FACTS, records = new PoolRecords(POOL, emptyCarry(1), Date.now())) {
    const seen = { wakes: 0 };
    records.takeFiles(facts, Date.now());
    records.book.endRebuild();
    records.apply([{ lease: JOB, sender: 'job', sequence: 1, body: request }], Date.now());
    return { records, seen, reconciler: new Reconciler(records, () => seen.wakes++) };
  }

  /** Number of comparisons since the last call. */
  const begun = (): number => run.commands().filter(({ scheduleActivity }) => scheduleActivity).length;

  function answer(seq: number, found: StrayHolders = { closedJobs: [], lostSlices: [] }): void {
    run.activator.resolveActivity({ seq, result: { completed: { result: defaultPayloadConverter.toPayload(found) } } });
  }

  it('is made once more if the pool was woken during it, since it may have looked before', async () => {
    const { reconciler, seen } = scene();
    reconciler.compareIfDue();
    assert.equal(begun(), 1);
    reconciler.hurry();
    reconciler.compareIfDue();
    assert.equal(begun(), 0);
    assert.ok(!reconciler.isDue, 'the pool rests until the answer');
    answer(1);
    await until('the pool is woken', () => seen.wakes > 0);
    reconciler.takeFound();
    reconciler.compareIfDue();
    assert.equal(begun(), 1);
    answer(2);
    await until('the pool is woken', () => seen.wakes > 1);
    reconciler.compareIfDue();
    assert.equal(begun(), 0);
  });

  for (const reconcileMs of [30_000, 10_000])
    it(`is made every ${reconcileMs / 1000} s, as the files of an earlier worker say, which know one interval`, () => {
      const { reconciler } = scene(earlier(reconcileMs));
      const before = Date.now();
      reconciler.compareIfDue();
      assert.ok(reconciler.dueAt >= before + reconcileMs && reconciler.dueAt <= Date.now() + reconcileMs);
    });

  it('is made in a run whose facts were carried over from an earlier build', () => {
    const carried = new PoolRecords(POOL, { ...emptyCarry(1), facts: { ...earlier(30_000), mark: 'm' } }, Date.now());
    const { reconciler, records } = scene({ same: 'm' } as never, carried);
    assert.deepEqual(records.facts?.timings, { ...DEFAULT_TIMINGS, reconcileMs: 30_000 });
    reconciler.compareIfDue();
    assert.ok(reconciler.dueAt > Date.now());
  });
});

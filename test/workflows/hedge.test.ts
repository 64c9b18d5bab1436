import assert from 'node:assert/strict';
import type { JobSpec } from '../../domain/job-spec.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { Hedge, mostRequests, placeKeptMs, zonePatienceMs } from '../../workflows/job/hedge.js';

const MINUTE = 60_000;

function spec(machines: object, provision?: string): JobSpec {
  const timeouts = provision === undefined ? {} : { timeouts: { provision } };
  const resolved = resolveJob({ name: 'x', ...machines, ...timeouts, command: { run: 'true' } });
  assert.ok(resolved.ok, JSON.stringify(resolved));
  return resolved.spec;
}
const TWO = { zones: ['us-central1-a', 'us-west4-a'] };
const tpu = (keys: object): object => ({ tpu: { accelerator: 'v5litepod-16', ...keys } });

describe('how long one zone is asked alone', () => {
  const patience = (machines: object, provision?: string, isPreempted = false): number | undefined =>
    zonePatienceMs(spec(machines, provision), DEFAULT_TIMINGS, isPreempted);

  it('is timeouts.provision; without it ten minutes, and two after a preemption', () => {
    assert.equal(patience(tpu(TWO)), 10 * MINUTE);
    assert.equal(patience(tpu(TWO), undefined, true), 2 * MINUTE);
    assert.equal(patience(tpu(TWO), '3m'), 3 * MINUTE);
    assert.equal(patience(tpu(TWO), '3m', true), 3 * MINUTE);
  });

  it('is no reason to give a place up before it had ten minutes, unless timeouts.provision says so', () => {
    const kept = (provision?: string) => placeKeptMs(spec(tpu(TWO), provision), DEFAULT_TIMINGS, 2 * MINUTE);
    assert.deepEqual([kept(), kept('2m')], [10 * MINUTE, 2 * MINUTE]);
  });

  it('has no end where there is no other zone, or where the provider says no at once', () => {
    assert.equal(patience(tpu({ zone: 'us-central1-a' })), undefined);
    assert.equal(patience(tpu({ zone: 'us-central1-a' }), '3m'), undefined);
    const gce = { compute_engine: { machine_type: 'n2-standard-4', ...TWO } };
    assert.equal(patience(gce), undefined);
    assert.equal(patience(gce, '3m'), 3 * MINUTE);
  });
});

describe('how many requests a job may have at once', () => {
  const most = (keys: object, limit?: number, bought = {}): number =>
    mostRequests(spec(tpu(keys)), limit === undefined ? {} : { limits: { requestsPerJob: limit } }, bought);

  it('is two, or tpu.hedge; one of reserved capacity, and no more than its pool allows', () => {
    assert.equal(most(TWO), 2);
    assert.equal(most({ ...TWO, hedge: 4 }), 4);
    assert.equal(most({ ...TWO, hedge: 1 }), 1);
    assert.equal(most({ ...TWO, hedge: 4 }, 3), 3);
    assert.equal(most(TWO, 1), 1);
    assert.equal(most({ ...TWO, pricing: 'reserved' }), 1);
    assert.equal(most({ ...TWO, pricing: 'any', hedge: 3 }, undefined, { pricing: 'reserved' }), 1);
    assert.equal(most({ ...TWO, pricing: 'any' }, undefined, { pricing: 'spot' }), 2);
  });
});

describe('a job that hedges', () => {
  const TIMINGS = { zoneBackoffMs: 10, zoneBackoffMaxMs: 35 };
  const hedge = (patienceMs: number | undefined): Hedge =>
    new Hedge(TIMINGS, () => ({ patienceMs, keptMs: patienceMs }));

  it('asks a zone that refused again after a while, which grows to its bound', () => {
    const state = hedge(1_000);
    state.wait(0);
    for (const pause of [10, 20, 35, 35]) {
      state.refuse('a', 100);
      assert.deepEqual([state.dueAt, state.isOpen('b', 100)], [100, true]);
      assert.deepEqual([state.isOpen('a', 99 + pause), state.isOpen('a', 100 + pause)], [false, true]);
      state.rest(100);
      assert.equal(state.dueAt, 100 + pause);
    }
    state.refuse('b', 100);
    state.rest(100);
    assert.equal(state.dueAt, 110, 'the soonest of all');
    state.rest(500);
    assert.equal(state.dueAt, undefined, 'nobody is to be asked again');
    state.clear();
    assert.ok(state.isOpen('a', 100));
  });

  it('whose pool has no room asks no more, until it has left its zone', () => {
    const state = hedge(20);
    state.deny();
    state.wait(5);
    assert.deepEqual([state.isDenied, state.dueAt], [true, 25]);
    state.leftZone();
    assert.deepEqual([state.isDenied, state.dueAt, state.isTimed], [false, undefined, false]);
  });

  it('counts from when it asked, by the times that hold now', () => {
    let patience = { patienceMs: 20 as number | undefined, keptMs: 50 as number | undefined };
    const state = new Hedge(TIMINGS, () => patience);
    state.wait(100);
    assert.equal(state.dueAt, 120);
    state.wait(100, true);
    assert.equal(state.dueAt, 150);
    patience = { patienceMs: 3, keptMs: 4 };
    assert.equal(state.dueAt, 104);
    patience = { patienceMs: undefined, keptMs: undefined };
    assert.deepEqual([state.dueAt, state.isTimed], [undefined, true]);
  });
});

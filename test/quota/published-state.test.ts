import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { leaseKey } from '../../domain/lease.js';
import { packState, unpackState } from '../../quota/published-state.js';
import type { PackedPoolState, PoolSnapshot } from '../../quota/published-state.js';
import { NO_MEMORY } from '../../quota/quota-config.js';
import type { Pool, QuotaLease, QuotaMemory, QuotaRequest } from '../../quota/quota-config.js';
import { lease, pool, project, request } from './builders.js';

const AT = 1_795_000_000_000;

function snapshot(view: Partial<Pool>, more: Partial<PoolSnapshot> = {}): PoolSnapshot {
  const config = pool({ v4: 64 }, project('a', { v4: 32 }));
  return {
    pool: 'default',
    at: AT,
    epoch: 3,
    admission: 'open',
    ...more,
    view: { config, requests: [], leases: [], ...view },
  };
}

/** Through the object in the bucket. */
const written = (state: PoolSnapshot): PoolSnapshot =>
  unpackState(JSON.parse(JSON.stringify(packState(state))) as PackedPoolState);

/** A record whose fields may each be missing. */
const some = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T, never>(model, { requiredKeys: [] });

const time = fc.integer({ min: AT - 90 * 86_400_000, max: AT + 86_400_000 });
const id = fc.oneof(
  fc
    .tuple(fc.constantFrom('train-7f3k', 'a/b', '~x', 'x'), fc.uuid(), fc.nat(99))
    .map(([job, run, number]) => `${job}/${run}/${number}`),
  fc.constantFrom('plain', '~', '~~a/b/1', '~x/000000000000000000000000000z/1', ''),
  fc.string(),
);
const demand = fc.record({
  project: fc.constantFrom('a', 'B', 'none'),
  user: fc.constantFrom('alice', 'bob'),
  priority: fc.integer({ min: 1, max: 5 }),
  submittedAt: time,
  units: fc.constantFrom({ v4: 8 }, { v4: 16, v6e: 4 }),
});
const wishes = some({
  pricing: fc.constantFrom('spot', 'ondemand'),
  zones: fc.subarray(['us-central2-b', 'europe-west4-a']),
  isVerified: fc.constant<true>(true),
});
const requests: fc.Arbitrary<QuotaRequest> = fc
  .tuple(id, demand, wishes, some({ waitingSince: time }))
  .map(([name, ...parts]) => Object.assign({ id: name }, ...parts) as QuotaRequest);
const leases: fc.Arbitrary<QuotaLease> = fc
  .tuple(
    id,
    demand,
    wishes,
    fc.record({ tier: fc.nat(3), startedAt: time }),
    some({
      state: fc.constantFrom('asking', 'held', 'draining', 'parked'),
      heldMs: fc.nat(),
      askingSince: time,
      everywhere: fc.constantFrom('asked', 'refused'),
      zone: fc.constantFrom('us-central2-b', 'europe-west4-a'),
      isFromReservation: fc.boolean(),
    }),
  )
  .map(([name, ...parts]) => Object.assign({ id: name }, ...parts) as QuotaLease);

function memoryOf(ids: readonly string[], times: readonly [number, number]): QuotaMemory {
  const [first, second] = times;
  return {
    reservations: ids.slice(0, 2).map((of, tier) => ({ id: of, tier, madeAt: first })),
    dissolved: Object.fromEntries(ids.map((of) => [of, second])),
    heldBack: Object.fromEntries(
      ids.map((of, index) => [of, index % 2 === 0 ? { ms: index } : { ms: index, since: first }]),
    ),
    coolDowns: [{ type: 'v4', tier: 0, zone: 'us-central2-b', failures: 2, until: second }],
    winners: ids.slice(1, 3),
  };
}

describe('quota: the state of a pool that is published', () => {
  it("has the pool's zones, those of its leases, and what was seen of zones, each apart", () => {
    const seen = { zone: 'us-east1-d', accelerator: 'v6e-8', pricing: 'spot', asked: 1, got: 0, waiting: 0 } as const;
    const capacity = [{ ...seen, sliceHours: 0, preempted: 0, seenAt: AT }];
    const held = lease('j/r/1', { v4: 8 }, { zone: 'us-central2-b' });
    const state = snapshot({ leases: [held] }, { poolZones: ['us-east1-d', 'us-east5-a'], capacity });
    const { poolZones, capacity: rows, view } = written(state);
    assert.deepEqual(poolZones, ['us-east1-d', 'us-east5-a']);
    assert.deepEqual(rows, capacity);
    assert.equal(view.leases[0]?.zone, 'us-central2-b');
  });

  it('comes back from the object as it went in', () => {
    const several = fc.uniqueArray(requests, { selector: (row) => row.id, maxLength: 6 });
    fc.assert(
      fc.property(
        several,
        fc.array(leases, { maxLength: 6 }),
        fc.tuple(time, time),
        fc.boolean(),
        (asked, leased, times, isWhole) => {
          const memory = memoryOf([...asked.map((row) => row.id), 'gone/x/1'], times);
          const rest = isWhole ? { memory, isFrozen: true } : {};
          const head = isWhole ? { problem: 'not TOML', source: 'gs://q/quota.toml', admissionReason: 'moving' } : {};
          const state = snapshot({ requests: asked, leases: leased, ...rest }, head);
          assert.deepEqual(written(state), state);
        },
      ),
    );
  });

  it('a request or a lease of 10,000 each costs 100 bytes or less', () => {
    const key = (index: number): string =>
      leaseKey({ pool: 'default', job: `train-${index.toString(36)}xk`, run: randomUUID(), number: 1 });
    const rows = Array.from({ length: 10_000 }, (_, index) => index);
    const shared = (index: number) => ({
      project: `team-${index % 100}`,
      user: `user-${index % 500}`,
      zones: ['us-central2-b', 'us-east1-d'],
      submittedAt: AT - 90 * 86_400_000 + index * 7_919,
    });
    const asked = rows.map((index) => request(key(index), { v4: 8 }, shared(index)));
    const leased = rows.map((index) =>
      lease(
        key(index),
        { v4: 16 },
        {
          ...shared(index),
          state: 'held',
          heldMs: 86_400_000 + index,
          zone: 'us-east1-d',
          startedAt: AT - 5_000_000_000,
        },
      ),
    );
    const dissolved = Object.fromEntries(asked.map((row) => [row.id, AT - 3_600_000]));
    const bytes = (view: Partial<Pool>): number => JSON.stringify(packState(snapshot(view))).length;
    const empty = bytes({});
    const perRequest = (bytes({ requests: asked, memory: { ...NO_MEMORY, dissolved } }) - empty) / rows.length;
    const perLease = (bytes({ leases: leased }) - empty) / rows.length;
    assert.ok(perRequest <= 100 && perLease <= 100, `${perRequest} bytes a request, ${perLease} a lease`);
    assert.ok(perRequest > 40 && perLease > 40, 'they are there');
  });

  it('the object of another version is refused by name', () => {
    const packed = { ...packState(snapshot({})), v: 2 } as unknown as PackedPoolState;
    assert.throws(() => unpackState(packed), /state of pool 'default': written in form 2.*update it/);
  });
});

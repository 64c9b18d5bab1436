import assert from 'node:assert/strict';
import type { PoolFacts } from '../../contract/quota-activities.js';
import { leaseKey } from '../../domain/lease.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import {
  DEFAULT_RULES,
  NO_MEMORY,
  type QuotaConfig,
  type TierRule,
  UNLIMITED,
  moveMemory,
  tierMoves,
} from '../../quota/quota-config.js';
import { emptyCarry, PoolRecords } from '../../workflows/quota/pool-records.js';
import { DEMAND, JOB } from '../workflows/lease-messages.js';
import { pool } from './builders.js';

describe('tiers that have another place in the files', () => {
  const SPOT: TierRule = { pricing: 'spot' };
  const ON_DEMAND: TierRule = { pricing: 'ondemand' };
  const OURS: TierRule = { pricing: 'reserved', reservation: 'ours' };
  const THEIRS: TierRule = { pricing: 'reserved', reservation: 'theirs' };
  const config = (...tiers: readonly TierRule[]): QuotaConfig => ({
    ...(pool(tiers.map(() => ({ v4: 8 }))) as Extract<QuotaConfig, { kind: 'limited' }>),
    rules: { ...DEFAULT_RULES, tiers },
  });
  const cases: Record<string, { before: QuotaConfig; after: QuotaConfig; want: [number, number][] }> = {
    'the same order': { before: config(OURS, SPOT), after: config(OURS, SPOT), want: [] },
    'two that are swapped': {
      before: config(OURS, SPOT),
      after: config(SPOT, OURS),
      want: [
        [0, 1],
        [1, 0],
      ],
    },
    'one that is put before the others': {
      before: config(OURS, SPOT),
      after: config(ON_DEMAND, OURS, SPOT),
      want: [
        [0, 1],
        [1, 2],
      ],
    },
    'the first goes: what was second is first': { before: config(OURS, SPOT), after: config(SPOT), want: [[1, 0]] },
    'a reservation is part of what a tier is': {
      before: config(OURS, THEIRS),
      after: config(THEIRS, OURS),
      want: [
        [0, 1],
        [1, 0],
      ],
    },
    'two that are bought alike cannot be told apart': {
      before: config(SPOT, SPOT, OURS),
      after: config(OURS, SPOT, SPOT),
      want: [[2, 0]],
    },
    'one without a rule is known by that': {
      before: config(SPOT, {}),
      after: config({}, SPOT),
      want: [
        [0, 1],
        [1, 0],
      ],
    },
    'a tier that was bought otherwise until now is another one': {
      before: config(OURS),
      after: config(SPOT),
      want: [],
    },
    'an unlimited pool has none': { before: UNLIMITED, after: config(SPOT, OURS), want: [] },
  };
  for (const [name, { before, after, want }] of Object.entries(cases))
    it(name, () => assert.deepEqual(tierMoves(before, after), new Map(want)));

  it('take along what decisions remember of them', () => {
    const coolDown = { type: 'v4', tier: 0, zone: 'z', failures: 1, until: 9 };
    const reservation = { id: 'a', tier: 1, madeAt: 3 };
    const memory = { ...NO_MEMORY, reservations: [reservation], coolDowns: [coolDown, { ...coolDown, tier: 2 }] };
    const moved = moveMemory(memory, tierMoves(config(OURS, SPOT, ON_DEMAND), config(SPOT, OURS, ON_DEMAND)));
    assert.deepEqual(moved, {
      ...memory,
      reservations: [{ ...reservation, tier: 0 }],
      coolDowns: [
        { ...coolDown, tier: 1 },
        { ...coolDown, tier: 2 },
      ],
    });
  });

  it('are followed by the leases of a pool when its files are read', () => {
    const records = new PoolRecords('default', emptyCarry(0), 0);
    records.takeFiles({ config: config(OURS, SPOT), timings: DEFAULT_TIMINGS }, 0);
    records.book.apply(
      { lease: JOB, sender: 'job', sequence: 1, body: { kind: 'request', demand: DEMAND, slices: [] } },
      0,
    );
    records.book.endRebuild();
    records.book.grant({ id: leaseKey(JOB), tier: 1 }, 0);
    const tierAfter = (read: PoolFacts): number | undefined => {
      records.takeFiles(read, 1);
      return records.book.get(leaseKey(JOB))?.tier;
    };
    assert.equal(tierAfter({ config: config(SPOT, OURS), timings: DEFAULT_TIMINGS }), 0);
    // A file that is wrong changes nothing: what is in force is compared.
    assert.equal(tierAfter({ config: config(OURS, SPOT), timings: DEFAULT_TIMINGS, problem: 'wrong' }), 0);
    assert.equal(tierAfter({ config: config(OURS, SPOT), timings: DEFAULT_TIMINGS }), 1);
  });
});

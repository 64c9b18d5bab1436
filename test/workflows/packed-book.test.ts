import assert from 'node:assert/strict';
import fc from 'fast-check';
import { leaseKey } from '../../domain/lease.js';
import type { LeaseBookCarry, LeaseRow } from '../../workflows/quota/lease-book.js';
import { nothingPending, type Pending } from '../../workflows/quota/deliveries.js';
import { packBook, unpackBook } from '../../workflows/quota/packed-book.js';

const RUNS = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 100);
const time = fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 });
const name = fc.string({ minLength: 1, maxLength: 12 });
const ref = fc.record({
  kind: fc.constant('cloud-tpu' as const),
  googleProject: fc.constantFrom('one', 'two'),
  zone: fc.constantFrom('us-central1-a', 'us-west4-a'),
  name,
  mode: fc.constantFrom('queued-resources' as const, 'tpu-vm' as const),
});
const lease = fc.record({ pool: fc.constantFrom('p', 'q'), job: name, run: fc.uuid(), number: fc.nat(9) });
const senders = name.filter((sender) => sender !== '__proto__' && !/^\d+$/.test(sender));
const sequences = fc.dictionary(fc.oneof(fc.constant('job'), senders), time, { noNullPrototype: true });
const demand = fc.record(
  {
    project: name,
    user: name,
    priority: fc.integer({ min: 1, max: 5 }),
    submittedAt: time,
    units: fc.dictionary(fc.constantFrom('v4', 'v6e'), fc.nat(512), { noNullPrototype: true }),
    pricing: fc.constantFrom('spot' as const, 'reserved' as const),
    zones: fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 }),
  },
  { requiredKeys: ['project', 'user', 'priority', 'submittedAt', 'units'], noNullPrototype: true },
);
/** Of every state what it may have. */
const ofState: Record<LeaseRow['state'], fc.Arbitrary<Partial<LeaseRow>>> = {
  waiting: fc.constant({}),
  asking: fc.record({
    startedAt: time,
    askingSince: time,
    askedIn: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('asked' as const, 'refused' as const), {
      minKeys: 1,
      noNullPrototype: true,
    }),
    unallowed: fc.array(name, { minLength: 1, maxLength: 2 }),
  }),
  held: fc.record({ startedAt: time, heldSince: time }),
  parked: fc.record({ startedAt: time, hasChips: fc.boolean() }),
  draining: fc.record({
    startedAt: time,
    revoked: fc.record({ cause: fc.constant('quota' as const), reason: name, toldAt: time }),
  }),
};
const shared = fc.record(
  {
    lease,
    demand,
    tier: fc.nat(3),
    waitingSince: time,
    heldMs: fc.nat(),
    zone: fc.constantFrom('us-central1-a', 'us-west4-a'),
    isFromReservation: fc.constant(true),
    priority: fc.integer({ min: 1, max: 5 }),
    asks: fc.array(
      fc.record(
        {
          zone: fc.constantFrom('us-central1-a', 'us-west4-a'),
          googleProject: fc.constantFrom('one', 'two'),
          accelerator: fc.constantFrom('v6e-8', 'v4-8'),
          pricing: fc.constantFrom('spot' as const, 'ondemand' as const),
          since: time,
          isGot: fc.constant(true as const),
          isRefused: fc.constant(true as const),
        },
        { requiredKeys: ['zone', 'googleProject', 'accelerator', 'pricing', 'since'], noNullPrototype: true },
      ),
      { minLength: 1, maxLength: 2 },
    ),
    slices: fc.uniqueArray(ref, { maxLength: 3, selector: ({ name: one }) => one }),
    gone: fc.array(name, { maxLength: 2 }),
    sequences,
  },
  { requiredKeys: ['lease', 'demand', 'tier', 'slices', 'gone', 'sequences'], noNullPrototype: true },
);
const row: fc.Arbitrary<LeaseRow> = fc
  .constantFrom(...(Object.keys(ofState) as LeaseRow['state'][]))
  .chain((state) => fc.tuple(fc.constant(state), ofState[state], shared))
  .map(([state, own, all]) => ({ ...all, ...own, state }));
const book: fc.Arbitrary<LeaseBookCarry> = fc.record({
  epoch: time,
  rows: fc.array(row, { maxLength: 20 }),
  freed: fc.array(
    fc.record({
      key: fc
        .tuple(
          name.filter((one) => !one.includes('/')),
          fc.oneof(fc.uuid(), fc.constant('r')),
          fc.nat(9),
        )
        .map((parts) => parts.join('/')),
      at: time,
      sequences,
    }),
    { maxLength: 5 },
  ),
});

describe('a lease book that is carried over', () => {
  it('is the same after it was packed, sent as JSON and unpacked', () => {
    let withMore = 0;
    fc.assert(
      fc.property(book, (carry) => {
        withMore += carry.rows.some(({ state, slices }) => state !== 'waiting' && slices.length > 0) ? 1 : 0;
        assert.deepEqual(
          unpackBook(JSON.parse(JSON.stringify(packBook(carry))) as never),
          JSON.parse(JSON.stringify(carry)),
        );
      }),
      { numRuns: RUNS },
    );
    assert.ok(withMore > RUNS / 5, `only ${withMore} books had a lease with slices`);
  });

  it('is the same row by row, whatever a row has and lacks, with what is pending', () => {
    const [zone, slices] = ['us-central1-a', heldRow(rowOf(6), 6).slices];
    const rows: LeaseRow[] = [
      rowOf(0),
      heldRow(rowOf(1), 1),
      { ...heldRow(rowOf(2), 2), isUnconfirmed: true },
      { ...rowOf(3), state: 'draining' },
      { ...rowOf(4), tier: 1 },
      { ...rowOf(5), zone },
      { ...rowOf(6), slices },
      { ...rowOf(7), startedAt: BASE },
    ];
    const { lease } = rowOf(0);
    const pending: Pending = {
      ...nothingPending(),
      regrants: [lease],
      asked: [{ key: leaseKey(lease), slice: 's', at: 1 }],
    };
    const freed = [
      { key: leaseKey(lease), at: BASE + 9, sequences: { job: BASE + 8, 'jc-train-0-abcd-g1': BASE + 7 } },
    ];
    const carry: LeaseBookCarry = { epoch: 1, rows, freed, pending };
    const packed = packBook(carry);
    assert.deepEqual(unpackBook(JSON.parse(JSON.stringify(packed)) as never), carry);
    assert.ok(!('pending' in packBook({ epoch: 1, rows, freed })));
    // Its bytes are bounded because what all rows have is in columns, as a distance from the first.
    assert.deepEqual(
      [packed.rows.states, packed.rare, packed.base],
      ['whhdWWWW', { 2: { isUnconfirmed: true } }, BASE],
    );
    assert.deepEqual([packed.freed.senderCounts, packed.freed.sequences], [[1], [-1]]);
    const baseOf = (more: Partial<LeaseBookCarry>): number => packBook({ epoch: 1, rows: [], freed: [], ...more }).base;
    assert.deepEqual([baseOf({ freed }), baseOf({})], [BASE + 9, 0]);
  });

  it('is refused if its form or one of its rows is not known', () => {
    const packed = packBook({ epoch: 1, rows: [rowOf(0)], freed: [] });
    assert.throws(
      () => unpackBook({ ...packed, v: 2 } as never),
      new RangeError('packed lease book: form 2, this code reads form 1'),
    );
    assert.throws(
      () => unpackBook({ ...packed, rows: { ...packed.rows, states: 'x' } }),
      new RangeError("packed lease book: no state has the letter 'x'"),
    );
  });

  it('costs less than 100 bytes for a request that waits, and for a lease with one slice', () => {
    const rows = Array.from({ length: 1_000 }, (_, index) => rowOf(index));
    const bytesEach = (carry: Partial<LeaseBookCarry>, count: number): number =>
      JSON.stringify(packBook({ epoch: 1, rows: [], freed: [], ...carry })).length / count;
    const waiting = bytesEach({ rows }, rows.length);
    const held = bytesEach({ rows: rows.map(heldRow) }, rows.length);
    const freed = bytesEach(
      {
        freed: rows.map((one, index) => ({
          key: leaseKey(one.lease),
          at: BASE + index * 500,
          sequences: heldRow(one, index).sequences,
        })),
      },
      rows.length,
    );
    assert.ok(waiting <= 80, `${waiting} bytes a request`);
    assert.ok(held <= 100, `${held} bytes a lease`);
    assert.ok(freed <= 80, `${freed} bytes a freed lease`);
  });

  it('is short too where tiers, zones and priorities of leases go up and down', () => {
    const rows = Array.from({ length: 1_000 }, (_, index) => {
      const { demand, slices, ...row } = heldRow(rowOf(index), index);
      const zone = ['us-central1-a', 'us-west4-a', 'europe-west4-b'][index % 3] ?? '';
      const priority = 1 + (index % 5);
      return {
        ...row,
        tier: index % 2,
        zone,
        demand: { ...demand, priority },
        slices: slices.map((slice) => ({ ...slice, zone })),
      };
    });
    const bytes = JSON.stringify(packBook({ epoch: 1, rows, freed: [] })).length / rows.length;
    assert.ok(bytes <= 100, `${bytes} bytes a lease`);
  });
});

const BASE = 1_795_274_000_000;

function heldRow(waiting: LeaseRow, index: number): LeaseRow {
  const startedAt = waiting.demand.submittedAt + 5_000 + index * 300;
  const slice = `jc-${waiting.lease.job}-g1`;
  return {
    ...waiting,
    state: 'held',
    startedAt,
    heldSince: startedAt + 140_000 + (index % 1_000),
    zone: 'us-central1-a',
    slices: [
      { kind: 'cloud-tpu', googleProject: 'research', zone: 'us-central1-a', name: slice, mode: 'queued-resources' },
    ],
    sequences: { ...waiting.sequences, [slice]: startedAt + 900 },
  };
}

function rowOf(index: number): LeaseRow {
  const submittedAt = BASE + index * 20;
  return {
    lease: {
      pool: 'default',
      job: `train-${index}-abcd`,
      run: `01a1fe4e-0000-7000-8000-${String(index).padStart(12, '0')}`,
      number: 1,
    },
    demand: {
      project: `team-${index % 20}`,
      user: `user-${index % 100}`,
      priority: 5,
      submittedAt,
      units: { v5litepod: 16 },
      zones: ['us-central1-a', 'us-west4-a'],
    },
    state: 'waiting',
    waitingSince: submittedAt + 150,
    tier: 0,
    slices: [],
    gone: [],
    sequences: { job: submittedAt + 150 },
  };
}

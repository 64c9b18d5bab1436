import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { leaseKey } from '../../domain/lease.js';
import type { LeaseBookCarry, LeaseRow } from '../../workflows/quota/lease-book.js';
import { packBook, type PackedBook, unpackBook } from '../../workflows/quota/packed-book.js';
import { type PackedBook2, unpackBook2 } from '../../workflows/quota/packed-book-2.js';

const time = fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 });
const name = fc.string({ minLength: 1, maxLength: 12 });
const ref = fc.record({
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
  asking: fc.record({ startedAt: time, askingSince: time }),
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
    );
    assert.ok(withMore > 20, `only ${withMore} books had a lease with slices`);
  });

  it('costs less than 100 bytes for a request that waits, and for a lease with one slice', () => {
    const rows = Array.from({ length: 10_000 }, (_, index) => rowOf(index));
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
    const rows = Array.from({ length: 10_000 }, (_, index) => {
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

  it('is read as form 3 packed it, without counted columns and with longer run ids', () => {
    const written = readFileSync(fileURLToPath(new URL('./packed-book-of-form-3.json', import.meta.url)), 'utf8');
    const { packed, carry } = JSON.parse(written) as { packed: PackedBook; carry: LeaseBookCarry };
    assert.equal(packed.v, 3);
    assert.equal(carry.rows.length, 6);
    assert.deepEqual(unpackBook(packed), carry);
  });

  it('is read as version 0.1.0 packed it, and what was held then is held since its grant', () => {
    const packed: PackedBook2 = {
      v: 2,
      epoch: 7,
      base: 1_000,
      pools: ['p'],
      demands: [['a', 'u', 3, { v4: 8 }]],
      places: [['g', 'z', 'queued-resources']],
      rows: [
        ['j', 'r', 1, 0, 0, 0, ['', 5], { state: 'held', tier: 1, startedAt: 20, slices: [['s', 0]], gone: ['old'] }],
        ['k', 'r', 1, 0, 0, 3, ['', 6]],
      ],
      freed: [['x/r/1', 9, ['', 8]]],
    };
    const { epoch, rows, freed } = unpackBook2(packed);
    assert.equal(epoch, 7);
    assert.deepEqual(rows[0], {
      lease: { pool: 'p', job: 'j', run: 'r', number: 1 },
      demand: { project: 'a', user: 'u', priority: 3, submittedAt: 1_000, units: { v4: 8 } },
      state: 'held',
      tier: 1,
      startedAt: 1_020,
      heldSince: 1_020,
      slices: [{ googleProject: 'g', zone: 'z', name: 's', mode: 'queued-resources' }],
      gone: ['old'],
      sequences: { job: 1_005 },
    });
    assert.deepEqual([rows[1]?.state, freed], ['waiting', [{ key: 'x/r/1', at: 1_009, sequences: { job: 1_008 } }]]);
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
    slices: [{ googleProject: 'research', zone: 'us-central1-a', name: slice, mode: 'queued-resources' }],
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

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { LeaseBookCarry, LeaseRow } from '../../workflows/quota/lease-book.js';
import { packBook, unpackBook } from '../../workflows/quota/packed-book.js';

const time = fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 });
const name = fc.string({ minLength: 1, maxLength: 12 });
const ref = fc.record({
  googleProject: fc.constantFrom('one', 'two'),
  zone: fc.constantFrom('us-central1-a', 'us-west4-a'),
  name,
  mode: fc.constantFrom('queued-resources' as const, 'tpu-vm' as const),
});
const lease = fc.record({ pool: fc.constantFrom('p', 'q'), job: name, run: fc.uuid(), number: fc.nat(9) });
const sequences = fc.dictionary(
  fc.oneof(
    fc.constant('job'),
    name.filter((sender) => sender !== '__proto__'),
  ),
  time,
  { noNullPrototype: true },
);
const demand = fc.record({
  project: name,
  user: name,
  priority: fc.integer({ min: 1, max: 5 }),
  submittedAt: time,
  units: fc.dictionary(fc.constantFrom('v4', 'v6e'), fc.nat(512), { noNullPrototype: true }),
});
const row: fc.Arbitrary<LeaseRow> = fc
  .record(
    {
      lease,
      demand,
      state: fc.constantFrom('waiting' as const, 'held' as const, 'draining' as const),
      tier: fc.nat(3),
      startedAt: time,
      slices: fc.array(ref, { maxLength: 3 }),
      gone: fc.array(name, { maxLength: 2 }),
      sequences,
    },
    { requiredKeys: ['lease', 'demand', 'state', 'tier', 'slices', 'gone', 'sequences'], noNullPrototype: true },
  )
  .map((value) => value as LeaseRow);
const book: fc.Arbitrary<LeaseBookCarry> = fc.record({
  epoch: time,
  rows: fc.array(row, { maxLength: 20 }),
  freed: fc.array(fc.record({ key: name, at: time, sequences }), { maxLength: 5 }),
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

  it('costs 100 bytes or less for a request that waits, and 220 for a lease with one slice', () => {
    const rows = Array.from({ length: 10_000 }, (_, index) => rowOf(index));
    const held = rows.map((waiting, index) => ({
      ...waiting,
      state: 'held' as const,
      startedAt: waiting.demand.submittedAt + 5_000,
      slices: [
        {
          googleProject: 'research',
          zone: 'us-central1-a',
          name: `jc-train-${index}-abcd-g1`,
          mode: 'queued-resources' as const,
        },
      ],
      sequences: { ...waiting.sequences, [`jc-train-${index}-abcd-g1`]: waiting.demand.submittedAt + 9_000 },
    }));
    const bytesEach = (some: readonly LeaseRow[]): number =>
      JSON.stringify(packBook({ epoch: 1, rows: some, freed: [] })).length / some.length;
    assert.ok(bytesEach(rows) <= 100, `${bytesEach(rows)} bytes`);
    assert.ok(bytesEach(held) <= 220, `${bytesEach(held)} bytes`);
  });
});

function rowOf(index: number): LeaseRow {
  const submittedAt = 1_795_274_000_000 + index * 20;
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
    },
    state: 'waiting',
    tier: 0,
    slices: [],
    gone: [],
    sequences: { job: submittedAt + 150 },
  };
}

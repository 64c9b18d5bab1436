import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type AskedFor, leaseKey, type LeaseId, type LeaseMessageBody, TOLD_SCOPES } from '../../domain/lease.js';
import type { MachineRef } from '../../domain/machines.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { type CapacityRow, MOST_OUTCOMES, MOST_PLACES, MOST_REFUSAL } from '../../quota/seen-capacity.js';
import { packBook, unpackBook } from '../../workflows/quota/packed-book.js';
import { emptyCarry, PoolRecords } from '../../workflows/quota/pool-records.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = 1_790_000_000_000;
const ASKS: AskedFor = { accelerator: 'v6e-8', pricing: 'spot' };
const DEMAND = { project: 'a', user: 'u', priority: 3, submittedAt: START, units: { v6e: 8 } };

const leaseOf = (job: string): LeaseId => ({ pool: 'p', job, run: 'r', number: 1 });
const refOf = (name: string, zone = 'us-east1-d', googleProject = 'ours'): MachineRef => ({
  kind: 'cloud-tpu',
  googleProject,
  zone,
  name,
  mode: 'queued-resources',
});

/** A pool without a quota file, whose clock stands at `at` minutes. */
class Pool {
  readonly records: PoolRecords;
  #sequence = 0;

  constructor(carry = emptyCarry(1)) {
    this.records = new PoolRecords('p', carry, START);
    const config = { kind: 'unlimited' } as const;
    this.records.takeFiles({ config, timings: DEFAULT_TIMINGS, googleProject: 'ours' }, START);
    this.records.book.endRebuild();
  }

  tell(job: string, sender: string, body: LeaseMessageBody, at: number): void {
    const now = START + at * MINUTE;
    this.records.apply([{ lease: leaseOf(job), sender, sequence: ++this.#sequence, body }], now);
    // A decision needs a workflow around it, for its metrics.
    if (body.kind === 'request') this.records.book.grant({ id: leaseKey(leaseOf(job)), tier: 0 }, now);
    this.records.takeDeliveries(1_000, now);
  }

  ask(job: string, at: number, { demand = DEMAND, ref = refOf(job), asks = ASKS } = {}): void {
    this.tell(job, 'job', { kind: 'request', demand, slices: [] }, at);
    this.tell(job, ref.name, { kind: 'slice', ref, asks }, at);
  }

  rows(): readonly CapacityRow[] {
    return this.records.snapshot().capacity ?? [];
  }
}

describe('what a pool learns of zones, from messages that it gets anyway', () => {
  it('a gang that waits, gets its chips, is preempted, and whose slice goes', () => {
    const pool = new Pool();
    pool.ask('one', 0);
    assert.deepEqual(
      pool.rows().map(({ zone, asked, got, waiting, waitingSince }) => ({ zone, asked, got, waiting, waitingSince })),
      [{ zone: 'us-east1-d', asked: 1, got: 0, waiting: 1, waitingSince: START }],
    );
    pool.tell('one', 'job', { kind: 'chips', zone: 'us-east1-d' }, 6);
    assert.equal(pool.rows()[0]?.medianWaitMs, 6 * MINUTE);
    pool.tell('one', 'job', { kind: 'chips', isPreempted: true }, 126);
    pool.tell('one', 'one', { kind: 'gone' }, 127);
    const [row] = pool.rows();
    assert.deepEqual([row?.asked, row?.got, row?.waiting, row?.preempted], [1, 1, 0, 1]);
    assert.equal(row?.sliceHours, 2);
  });

  it('the words of every refusal of a zone, each of which was asked', () => {
    for (const scope of TOLD_SCOPES) {
      const pool = new Pool();
      pool.ask('one', 0);
      pool.tell('one', 'one', { kind: 'gone', isRefused: true, refused: { scope, message: `told: ${scope}` } }, 0);
      const [row] = pool.rows();
      assert.equal(row?.refusal?.text, `told: ${scope}`);
      assert.deepEqual([row.asked, row.got], [1, 0]);
    }
  });

  it('a refusal, with its words cut and cleaned', () => {
    const pool = new Pool();
    pool.ask('one', 0);
    const message = `\u001b[31mThere is no more capacity\r\nin the zone\u202e ${'x'.repeat(600)}`.slice(0, 500);
    pool.tell('one', 'one', { kind: 'gone', refused: { scope: 'zone', message } }, 1);
    const { refusal } = pool.rows()[0] ?? {};
    assert.equal(refusal?.at, START + MINUTE);
    assert.match(refusal.text, /^\\u001b\[31mThere is no more capacity in the zone\\u202e x+$/);
    assert.ok(refusal.text.length <= MOST_REFUSAL);
  });

  it('a gang of four that one refusal ends is one outcome, and its other slices add none', () => {
    const pool = new Pool();
    const demand = { ...DEMAND, units: { v6e: 32 } };
    pool.tell('one', 'job', { kind: 'request', demand, slices: [] }, 0);
    for (const name of ['s0', 's1', 's2', 's3'])
      pool.tell('one', name, { kind: 'slice', ref: refOf(name), asks: ASKS }, 0);
    pool.tell('one', 's2', { kind: 'gone', refused: { scope: 'zone', message: 'none' } }, 1);
    for (const name of ['s0', 's1', 's3']) pool.tell('one', name, { kind: 'gone' }, 2);
    assert.deepEqual(
      pool.rows().map(({ asked, got }) => [asked, got]),
      [[1, 0]],
    );
  });

  it('a job that its user takes back at once says nothing of the zone', () => {
    const pool = new Pool();
    for (let at = 0; at < 50; at++) {
      pool.ask(`job-${at}`, at);
      pool.tell(`job-${at}`, `job-${at}`, { kind: 'gone' }, at);
    }
    assert.deepEqual(pool.rows(), []);
  });

  it('another Google project than the pool’s says nothing of its zones', () => {
    const pool = new Pool();
    pool.ask('one', 0, { ref: refOf('one', 'us-east1-d', 'theirs') });
    pool.tell('one', 'one', { kind: 'gone', refused: { scope: 'zone', message: 'Quota exceeded' } }, 1);
    assert.deepEqual(pool.rows(), []);
  });

  const impossible: Record<string, Parameters<Pool['ask']>[2]> = {
    'a type that does not exist': { asks: { accelerator: 'v6e-7', pricing: 'spot' } },
    'a type of another generation than the lease': { asks: { accelerator: 'v5p-8', pricing: 'spot' } },
    'a type larger than the lease': { asks: { accelerator: 'v6e-256', pricing: 'spot' } },
    'a zone that is no zone': { ref: refOf('one', 'z'.repeat(5_000)) },
  };
  for (const [name, how] of Object.entries(impossible))
    it(`${name} is not counted`, () => {
      const pool = new Pool();
      pool.ask('one', 0, how);
      pool.tell('one', 'one', { kind: 'gone', refused: { scope: 'zone', message: 'no' } }, 1);
      assert.deepEqual(pool.rows(), []);
    });

  it('does not grow with jobs: any story of 2,000 jobs in 300 zones is kept within its bounds', () => {
    const word = fc.constantFrom('got', 'refused', 'left', 'lost');
    const story = fc.array(fc.tuple(fc.nat(299), word), { minLength: 2_000, maxLength: 2_000 });
    fc.assert(
      fc.property(story, (jobs) => {
        const pool = new Pool();
        jobs.forEach(([zone, end], at) => play(pool, `job-${at}`, `region-x${zone}-a`, end, at * 5));
        const { capacity = [] } = JSON.parse(JSON.stringify(pool.records.carry())) as {
          capacity?: { outcomes: unknown[]; refusal?: { text: string } }[];
        };
        assert.equal(capacity.length, MOST_PLACES);
        assert.ok(capacity.every(({ outcomes }) => outcomes.length <= MOST_OUTCOMES));
        assert.ok(capacity.every(({ refusal }) => (refusal?.text.length ?? 0) <= MOST_REFUSAL));
        assert.ok(pool.rows().length <= MOST_PLACES);
      }),
      { numRuns: 3, endOnFailure: true },
    );
  });

  it('goes over a continue-as-new whole, with what waits and what holds', () => {
    const pool = new Pool();
    pool.ask('waits', 0);
    pool.ask('holds', 1, { ref: refOf('holds', 'us-east5-a') });
    pool.tell('holds', 'job', { kind: 'chips', zone: 'us-east5-a' }, 5);
    pool.ask('gone', 6);
    pool.tell('gone', 'gone', { kind: 'gone', refused: { scope: 'zone', message: 'none' } }, 7);
    const { book, ...rest } = pool.records.carry();
    const packed = JSON.parse(JSON.stringify({ ...rest, book: packBook(book) })) as typeof rest & {
      book: ReturnType<typeof packBook>;
    };
    const next = new Pool({ ...packed, book: unpackBook(packed.book) });
    next.records.touch(START + HOUR);
    pool.records.touch(START + HOUR);
    assert.equal(pool.rows().length, 2);
    assert.deepEqual(next.rows(), pool.rows());
  });
});

function play(pool: Pool, job: string, zone: string, end: string, at: number): void {
  pool.ask(job, at, { ref: refOf(job, zone) });
  const message = `${'refused '.repeat(60)}`;
  if (end === 'got' || end === 'lost') pool.tell(job, 'job', { kind: 'chips', zone }, at + 1);
  if (end === 'lost') pool.tell(job, 'job', { kind: 'chips', isPreempted: true }, at + 2);
  pool.tell(job, 'job', { kind: 'release', slices: [] }, at + 3);
  pool.tell(job, job, { kind: 'gone', ...(end === 'refused' && { refused: { scope: 'zone', message } }) }, at + 3);
}

describe('the order of zones that a grant carries', () => {
  const zones = ['us-east1-d', 'us-east5-a'];
  const anyDemand = { ...DEMAND, zones, anyZone: ASKS };
  const grantOf = (pool: Pool, demand: typeof DEMAND) => {
    const now = START + 10 * MINUTE;
    pool.records.apply(
      [{ lease: leaseOf('new'), sender: 'job', sequence: 1, body: { kind: 'request', demand, slices: [] } }],
      now,
    );
    pool.records.book.grant({ id: leaseKey(leaseOf('new')), tier: 0 }, now);
    return pool.records.takeDeliveries(100, now)?.grants[0];
  };
  const learned = (scope: (typeof TOLD_SCOPES)[number] = 'zone', at = 1): Pool => {
    const pool = new Pool();
    pool.ask('one', 0);
    pool.tell('one', 'one', { kind: 'gone', refused: { scope, message: 'none' } }, at);
    return pool;
  };

  it('is the pool’s where the job takes any zone', () =>
    assert.deepEqual(grantOf(learned(), anyDemand)?.zones, ['us-east5-a', 'us-east1-d']));

  for (const scope of TOLD_SCOPES.filter((each) => each !== 'zone'))
    it(`stays as it was after a refusal that says nothing of chips: ${scope}`, () =>
      assert.deepEqual(grantOf(learned(scope, 0), anyDemand)?.zones, zones));

  it('is not sent to a job that lists its zones', () =>
    assert.equal('zones' in (grantOf(learned(), { ...DEMAND, zones } as typeof DEMAND) ?? {}), false));

  it('is told anew when the provider took the job’s chips', () => {
    const pool = new Pool();
    grantOf(pool, anyDemand);
    const now = START + 11 * MINUTE;
    const tell = (sender: string, sequence: number, body: LeaseMessageBody) =>
      pool.records.apply([{ lease: leaseOf('new'), sender, sequence, body }], now);
    tell('s', 2, { kind: 'slice', ref: refOf('s'), asks: ASKS });
    tell('job', 3, { kind: 'chips', zone: 'us-east1-d' });
    pool.records.takeDeliveries(100, now);
    tell('job', 4, { kind: 'chips', isPreempted: true });
    assert.deepEqual(pool.records.takeDeliveries(100, now)?.grants[0]?.zones, ['us-east5-a', 'us-east1-d']);
  });
});

import assert from 'node:assert/strict';
import { leaseKey, type LeaseMessageBody } from '../../domain/lease.js';
import { type BookEvent, LeaseBook } from '../../workflows/quota/lease-book.js';
import { type LeaseRow, toLease } from '../../workflows/quota/lease-row.js';
import { DEMAND, JOB, ref, register, release } from './lease-messages.js';

const ASKS: LeaseMessageBody = { kind: 'request', demand: { ...DEMAND, zones: ['z'] }, slices: [] };
const chips = (zone?: string): LeaseMessageBody => ({ kind: 'chips', ...(zone === undefined ? {} : { zone }) });

describe('the life of a lease', () => {
  const events: BookEvent['kind'][] = [];
  let book: LeaseBook;
  let sequence: number;
  beforeEach(() => {
    events.length = 0;
    sequence = 0;
    book = new LeaseBook({ epoch: 1, rows: [], freed: [] }, ({ kind }) => events.push(kind));
  });
  const say = (sender: string, body: LeaseMessageBody, now: number, lease = JOB): void =>
    book.apply({ lease, sender, sequence: ++sequence, body }, now);
  const key = leaseKey(JOB);
  const row = () => book.get(key);
  const granted = (now: number): void => {
    say('job', ASKS, now);
    book.grant({ id: key, tier: 1, isFromReservation: true }, now);
  };
  const revoke = (now: number): void =>
    book.revoke({ id: key, for: 'winner/r/1', cause: 'quota' }, 'its chips are asked back', now);

  it('asks until all its slices are ready, and asks again when it lost some to the provider', () => {
    granted(10);
    assert.deepEqual([row()?.state, row()?.askingSince, row()?.isFromReservation], ['asking', 10, true]);
    say('job', chips('z'), 20);
    assert.deepEqual([row()?.state, row()?.heldSince, row()?.zone], ['held', 20, 'z']);
    say('job', chips(), 50);
    assert.deepEqual([row()?.state, row()?.heldMs, row()?.askingSince], ['asking', 30, 50]);
    say('job', chips('z'), 60);
    assert.equal(toLease(row() as LeaseRow, 100).heldMs, 70, 'held time is summed over the lease');
    assert.deepEqual(events, ['granted', 'chips', 'lost-chips', 'chips']);
  });

  it('begins its asking timeout anew with each request for which its place is kept, and only while it asks', () => {
    const kept: LeaseMessageBody = { kind: 'slice', ref: ref('s1'), isPlaceKept: true };
    granted(10);
    say('s1', register('s1'), 20);
    assert.equal(row()?.askingSince, 10);
    say('s1', kept, 30);
    assert.deepEqual(
      [row()?.state, row()?.askingSince, toLease(row() as LeaseRow, 40).askingSince],
      ['asking', 30, 30],
    );
    say('job', chips('z'), 50);
    say('s1', kept, 60);
    assert.deepEqual([row()?.state, row()?.heldSince, row()?.askingSince], ['held', 50, undefined]);
  });

  it('does not count the time that it is parked, and is what it was when it is resumed', () => {
    granted(0);
    say('job', chips('z'), 10);
    say('job', { kind: 'parked', isParked: true }, 20);
    assert.equal(row()?.state, 'parked');
    say('job', { kind: 'parked', isParked: false }, 90);
    assert.deepEqual([row()?.state, toLease(row() as LeaseRow, 95).heldMs], ['held', 15]);
    say('job', chips(), 95);
    say('job', { kind: 'parked', isParked: true }, 96);
    say('job', { kind: 'parked', isParked: false }, 97);
    assert.deepEqual([row()?.state, row()?.askingSince], ['asking', 97]);
  });

  it('that is revoked counts until its job let go and its slices were seen gone, whichever comes first', () => {
    for (const isGoneFirst of [true, false]) {
      const lease = { ...JOB, job: `j-${isGoneFirst}` };
      say('job', ASKS, 0, lease);
      book.grant({ id: leaseKey(lease), tier: 0 }, 0);
      say('s1', register('s1'), 1, lease);
      book.revoke({ id: leaseKey(lease), for: 'w', cause: 'quota' }, 'r', 2);
      const steps = [
        (): void => say('s1', { kind: 'gone' }, 3, lease),
        (): void => say('job', release('s1'), 3, lease),
      ];
      const [first, last] = isGoneFirst ? steps : steps.toReversed();
      first?.();
      assert.equal(book.get(leaseKey(lease))?.state, 'draining');
      last?.();
      assert.equal(book.get(leaseKey(lease)), undefined);
    }
    assert.deepEqual(events, ['granted', 'revoked', 'freed', 'granted', 'revoked', 'freed']);
  });

  it('that is revoked is not given back to a job that claims it again; the job is told again', () => {
    granted(0);
    revoke(5);
    assert.deepEqual(book.takePending().revocations, [
      { lease: JOB, reason: 'its chips are asked back', cause: 'quota' },
    ]);
    say('job', { ...ASKS, heldSince: 0, slices: [ref('s1')] }, 6);
    assert.equal(row()?.state, 'draining');
    const { grants, revocations } = book.takePending();
    assert.deepEqual([grants.length, revocations.length], [0, 1]);
  });

  it('that is revoked and not answered is asked back again, once in a while', () => {
    granted(0);
    revoke(5);
    book.takePending();
    book.remind(50, 60);
    assert.equal(book.hasPending, false, 'too soon');
    book.remind(65, 60);
    assert.equal(book.takePending().revocations.length, 1);
    book.remind(66, 60);
    assert.equal(book.hasPending, false, 'it was just told');
  });

  it('says no to a slice of a revoked lease, and does not grant what was released before the grant was told', () => {
    granted(0);
    say('s1', register('s1'), 1);
    revoke(2);
    assert.deepEqual(book.takePending().answers, [{ slice: 's1', isHeld: false }]);
    const other = { ...JOB, job: 'other' };
    say('job', ASKS, 3, other);
    book.grant({ id: leaseKey(other), tier: 0 }, 3);
    say('job', release(), 4, other);
    assert.deepEqual(book.takePending().grants, []);
  });

  it('that is revoked gives way to the next number of its job, and still counts until its slices are gone', () => {
    granted(0);
    say('s1', register('s1'), 1);
    revoke(2);
    say('job', ASKS, 3, { ...JOB, number: 2 });
    assert.deepEqual([book.waiting.length, book.leased.length], [1, 1]);
    say('s1', { kind: 'gone' }, 4);
    assert.deepEqual([book.waiting.length, book.leased.length], [1, 0]);
  });

  it('tells more grants than one batch may have in the batches after it', () => {
    const leases = [1, 2, 3].map((index) => ({ ...JOB, job: `b${index}` }));
    for (const lease of leases) {
      say('job', ASKS, 0, lease);
      book.grant({ id: leaseKey(lease), tier: 0 }, 0);
    }
    const told = [2, 2].map((most) => book.takePending(most).grants.map(({ job }) => job));
    assert.deepEqual([told, book.hasPending], [[['b1', 'b2'], ['b3']], false]);
  });

  it('no batch holds more than it may, of whatever kind: thousands are asked back at once when a pool is drained', () => {
    const many = 1_000;
    const most = 200;
    for (let index = 0; index < many; index++) {
      const lease = { ...JOB, job: `b${index}` };
      say('job', ASKS, 0, lease);
      book.grant({ id: leaseKey(lease), tier: 0 }, 0);
      say(`s${index}`, register(`s${index}`), 0, lease);
    }
    book.takePending();
    for (let index = 0; index < many; index++) {
      const lease = { ...JOB, job: `b${index}` };
      book.setPriority(lease.job, 1, 1, 'alice');
      say(`s${index}`, register(`s${index}`), 1, lease);
      book.revoke({ id: leaseKey(lease), cause: 'quota' }, 'the pool is drained', 1);
      book.abandoned(leaseKey(lease), ref(`lost${index}`));
      book.jobClosed(leaseKey({ ...lease, number: 1 }), 2, 'closed');
    }
    const told = { revocations: 0, priorities: 0, answers: 0, releases: 0, reclaims: 0 };
    for (let batches = 0; book.hasPending; batches++) {
      const batch = book.takePending(most);
      const size = Object.values(batch).reduce<number>((sum, list: readonly unknown[]) => sum + list.length, 0);
      assert.ok(size <= most, `${size} in one batch`);
      assert.ok(batches < 100);
      for (const kind of Object.keys(told) as (keyof typeof told)[]) told[kind] += batch[kind].length;
    }
    // A job that closed has no revocation to hear any more.
    assert.deepEqual(told, { revocations: 0, priorities: many, answers: many, releases: many, reclaims: many });
  });

  it('follows its tier to another place, tells its job, and believes no older word of the job', () => {
    granted(0);
    const other = { ...JOB, job: 'other' };
    say('job', ASKS, 0, other);
    book.grant({ id: leaseKey(other), tier: 2 }, 0);
    const drains = { ...JOB, job: 'drains' };
    say('job', ASKS, 0, drains);
    book.grant({ id: leaseKey(drains), tier: 1 }, 0);
    say('s9', register('s9'), 0, drains);
    say('job', release('s9'), 0, drains);
    book.takePending();
    book.moveTiers(new Map([[1, 0]]));
    assert.deepEqual([row()?.tier, book.get(leaseKey(other))?.tier, book.get(leaseKey(drains))?.tier], [0, 2, 0]);
    assert.deepEqual(
      book.takePending().grants.map(({ job, tier }) => [job, tier]),
      [[JOB.job, 0]],
    );
    say('job', { ...ASKS, tier: 1, heldSince: 1 }, 3);
    assert.equal(row()?.tier, 0);
  });

  it('tells every lease that is asked back, once', () => {
    const keys = Array.from({ length: 450 }, (_, index) => ({ ...JOB, job: `b${index}` }));
    for (const lease of keys) {
      say('job', ASKS, 0, lease);
      book.grant({ id: leaseKey(lease), tier: 0 }, 0);
    }
    book.takePending();
    for (const lease of keys) book.revoke({ id: leaseKey(lease), cause: 'quota' }, 'the pool is drained', 1);
    const told: string[][] = [];
    while (book.hasPending) told.push(book.takePending(200).revocations.map(({ lease }) => lease.job));
    assert.deepEqual(
      told.map(({ length }) => length),
      [200, 200, 50],
    );
    assert.equal(new Set(told.flat()).size, 450);
  });

  it('keeps a priority that a person gave until the job says it itself, over a new number too', () => {
    granted(0);
    assert.equal(book.setPriority('j', 1, 5, 'alice'), true);
    assert.equal(book.setPriority('nobody', 1, 5, 'alice'), false);
    assert.deepEqual(book.takePending().priorities, [{ job: { id: 'j', run: 'r' }, priority: 1 }]);
    say('job', ASKS, 6);
    assert.equal(row()?.demand.priority, 1, 'the job had not heard');
    const second = { ...JOB, number: 2 };
    say('job', ASKS, 7, second);
    assert.equal(book.get(leaseKey(second))?.demand.priority, 1);
    assert.deepEqual(events, ['granted', 'priority', 'freed']);
  });

  it('ages from when its job first asked under its number, across a loss of memory too', () => {
    say('job', { ...ASKS, askedAt: 3 }, 50);
    assert.equal(row()?.waitingSince, 3);
    say('job', ASKS, 60);
    assert.equal(row()?.waitingSince, 3);
  });

  it('is taken from its job’s word by a pool without memory: tier, zone, and whether it is paused', () => {
    const claim = { ...ASKS, heldSince: 5, slices: [ref('s1')], tier: 1, zone: 'z' } as LeaseMessageBody;
    book.adopt(JOB, DEMAND, ref('s1'), 40);
    assert.equal(row()?.state, 'draining', 'nobody has claimed it yet');
    say('job', claim, 50);
    assert.deepEqual([row()?.state, row()?.tier, row()?.startedAt, row()?.zone], ['held', 1, 5, 'z']);
    const paused = { ...JOB, job: 'paused' };
    say('job', { ...claim, isParked: true } as LeaseMessageBody, 50, paused);
    assert.equal(book.get(leaseKey(paused))?.state, 'parked');
    const asking = { ...JOB, job: 'asking' };
    say('job', { ...ASKS, heldSince: 5, slices: [ref('s2')] }, 50, asking);
    assert.deepEqual([book.get(leaseKey(asking))?.state, book.get(leaseKey(asking))?.askingSince], ['asking', 50]);
  });

  it('does not grow with the slices that it has outlived', () => {
    granted(0);
    for (let generation = 1; generation <= 1_000; generation++) {
      say(`s${generation}`, register(`s${generation}`), generation);
      say(`s${generation}`, { kind: 'gone' }, generation);
    }
    const bytes = JSON.stringify(book.carry().rows).length;
    assert.ok(bytes < 3_000, `${bytes} bytes`);
    say('s1000', register('s1000'), 2_000);
    assert.equal(row()?.slices.length, 1, 'its own later word counts');
  });
});

import assert from 'node:assert/strict';
import { leaseKey } from '../../domain/lease.js';
import { type BookEvent, LeaseBook } from '../../workflows/quota/lease-book.js';
import { DEMAND, JOB, ref, register, release, request, speaker } from './lease-messages.js';

const KEY = leaseKey(JOB);
const NOTHING = { priorities: [], reclaims: [], releases: [], giveUps: [], grants: [], revocations: [], answers: [] };
const SECOND = { ...JOB, number: 2 };

describe('what a lease book has to tell', () => {
  let events: BookEvent[];
  let book: LeaseBook;
  let say: ReturnType<typeof speaker>;
  beforeEach(() => {
    events = [];
    book = new LeaseBook({ epoch: 1, rows: [], freed: [] }, (event) => events.push(event));
    say = speaker(book);
  });
  const granted = (lease = JOB): void => {
    say('job', request, 0, lease);
    book.grant({ id: leaseKey(lease), tier: 0 }, 0);
  };
  const revoke = (now: number): void => book.revoke({ id: KEY, cause: 'quota' }, 'asked back', now);

  it('is nothing in the beginning, and nothing twice', () => {
    assert.deepEqual([book.hasPending, book.takePending()], [false, NOTHING]);
    granted();
    say('job', request);
    say('job', request);
    assert.equal(book.hasPending, true);
    assert.deepEqual(book.takePending(), { ...NOTHING, grants: [{ ...JOB, tier: 0 }] });
    assert.deepEqual([book.hasPending, book.takePending()], [false, NOTHING]);
  });

  it('is a revocation once, however often it is due, and none of a lease that was given back', () => {
    granted();
    book.takePending();
    revoke(5);
    book.remind(70, 60);
    assert.deepEqual(book.takePending().revocations, [{ lease: JOB, reason: 'asked back', cause: 'quota' }]);
    say('s1', register('s1'));
    book.remind(140, 60);
    say('job', release());
    assert.deepEqual(book.takePending().revocations, []);
    book.remind(900, 60);
    assert.deepEqual(book.takePending().revocations, [], 'nobody is left to remind');
    say('s1', { kind: 'gone' });
    granted();
    revoke(5);
    say('job', release());
    assert.deepEqual(book.takePending().revocations, [], 'the lease is free');
  });

  it('is, when a job has ended without a word, that its slices are to go', () => {
    granted();
    for (const name of ['s1', 's2']) say(name, register(name));
    book.takePending();
    book.jobClosed('nobody/r/1', 5, 'x');
    assert.equal(book.hasPending, false);
    revoke(5);
    book.jobClosed(KEY, 6, 'its job has ended');
    const reason = 'its job has ended';
    assert.deepEqual(book.takePending(), {
      ...NOTHING,
      releases: [
        { slice: 's1', reason },
        { slice: 's2', reason },
      ],
    });
    assert.equal(book.leased.length, 1);
    for (const name of ['s1', 's2']) say(name, { kind: 'gone' }, 7);
    assert.equal(book.leased.length, 0);
    granted();
    book.jobClosed(KEY, 9, reason);
    assert.deepEqual([book.leased.length, events.at(-1)?.kind, events.at(-1)?.at], [0, 'freed', 9]);
  });

  it('is a slice to reclaim of which nobody else knows', () => {
    granted();
    book.takePending();
    book.abandoned(KEY, ref('s1'));
    assert.deepEqual(book.takePending(), { ...NOTHING, reclaims: [{ lease: JOB, ref: ref('s1') }] });
    assert.throws(() => book.abandoned('nobody/r/1', ref('s1')), new TypeError('no lease nobody/r/1 in the book'));
  });

  it('is of what was decided only what can be: a waiting request is granted, a lease that is held is revoked', () => {
    granted();
    const again = new TypeError(`lease ${KEY} is asking, only a waiting one can be granted`);
    assert.throws(() => book.grant({ id: KEY, tier: 0 }, 1), again);
    say('job', request, 1, { ...JOB, job: 'waits' });
    const early = new TypeError('lease waits/r/1 is waiting, only one that is held can be revoked');
    assert.throws(() => book.revoke({ id: 'waits/r/1', cause: 'quota' }, '', 1), early);
  });

  it('tells the history of each lease what happened, when, by whom and for whom', () => {
    granted();
    const row = book.get(KEY);
    book.setPriority('j', 1, 3, 'alice');
    say('job', { kind: 'chips', zone: 'z' }, 4);
    say('job', { kind: 'chips', zone: 'z' }, 5);
    say('job', { kind: 'chips' }, 6);
    book.revoke({ id: KEY, for: 'winner/r/1', cause: 'quota' }, 'asked back', 7);
    say('job', { kind: 'chips', zone: 'z' }, 8);
    say('job', release(), 9);
    assert.deepEqual(events, [
      { kind: 'granted', row, at: 0 },
      { kind: 'priority', row, at: 3, by: 'alice', reason: 'priority 1' },
      { kind: 'chips', row, at: 4 },
      { kind: 'lost-chips', row, at: 6 },
      { kind: 'revoked', row, at: 7, reason: 'asked back', for: 'winner/r/1' },
      { kind: 'freed', row, at: 9 },
    ]);
    events.length = 0;
    granted();
    revoke(1);
    assert.ok(!('for' in (events.at(-1) ?? {})), 'a pool that is drained wants the chips for nobody');
    events.length = 0;
    say('job', request, 1, { ...JOB, job: 'waits' });
    say('job', { kind: 'chips', zone: 'z' }, 2, { ...JOB, job: 'waits' });
    say('job', { kind: 'chips', zone: 'z' }, 2, { ...JOB, job: 'unknown' });
    say('job', { kind: 'parked', isParked: true }, 2, { ...JOB, job: 'unknown' });
    say('job', release(), 3, { ...JOB, job: 'waits' });
    const [only, ...more] = events;
    assert.deepEqual(
      [only?.kind, only?.row.lease.job, only?.at, more, book.waiting],
      ['withdrawn', 'waits', 3, [], []],
      'what never was a lease only waited',
    );
  });

  it('lets a person change the request of a job that also has a lease that drains', () => {
    granted();
    say('s1', register('s1'));
    say('job', request, 1, SECOND);
    assert.equal(book.setPriority('j', 1, 2, 'alice'), true);
    assert.deepEqual([book.get(KEY)?.priority, book.get(leaseKey(SECOND))?.priority], [undefined, 1]);
    assert.deepEqual(book.get(leaseKey(SECOND))?.demand, { ...DEMAND, priority: 1 });
  });

  it('follows the job again once it has said the priority that a person gave', () => {
    const asks = (priority: number): void => say('job', { ...request, demand: { ...DEMAND, priority } } as never);
    asks(3);
    book.setPriority('j', 1, 5, 'alice');
    asks(1);
    assert.equal(book.get(KEY)?.priority, undefined);
    asks(4);
    assert.equal(book.get(KEY)?.demand.priority, 4);
  });
});

describe('what a lease book makes of a message', () => {
  let book: LeaseBook;
  let say: ReturnType<typeof speaker>;
  beforeEach(() => {
    book = new LeaseBook({ epoch: 1, rows: [], freed: [] });
    say = speaker(book);
  });
  const granted = (): void => {
    say('job', request);
    book.grant({ id: KEY, tier: 0 }, 0);
  };

  it('ends the former lease of the same run alone, and at once if it has no slices', () => {
    granted();
    say('s1', register('s1'));
    say('job', request, 1, { ...SECOND, run: 'later' });
    assert.equal(book.get(KEY)?.state, 'asking', 'a later job of the same name');
    say('job', request, 2, SECOND);
    assert.deepEqual(book.takePending().releases, [{ slice: 's1', reason: 'its job asked for lease 2' }]);
    assert.equal(book.get(leaseKey(SECOND))?.demand.priority, DEMAND.priority);
    say('job', request, 3, { ...JOB, number: 3 });
    assert.equal(book.get(leaseKey(SECOND)), undefined);
  });

  it('corrects a lease by what its job says again, but not its tier', () => {
    granted();
    assert.equal(book.get(KEY)?.isFromReservation, undefined);
    say('job', { ...request, tier: 2, zone: 'z' } as never, 5);
    assert.deepEqual([book.get(KEY)?.state, book.get(KEY)?.tier, book.get(KEY)?.heldSince], ['held', 0, 5]);
  });

  it('says yes to a slice of a lease that is parked', () => {
    granted();
    say('job', { kind: 'parked', isParked: true });
    say('s1', register('s1'));
    assert.deepEqual(book.takePending().answers, [{ slice: 's1', isHeld: true }]);
  });

  it('learns from a slice where the lease asks, and not where it is held', () => {
    const inZone = (name: string, zone: string): void => say(name, { kind: 'slice', ref: { ...ref(name), zone } });
    granted();
    inZone('s1', 'y');
    assert.equal(book.get(KEY)?.zone, 'y');
    say('job', { kind: 'chips', zone: 'z' });
    inZone('s2', 'x');
    assert.equal(book.get(KEY)?.zone, 'z');
  });

  it("believes a slice's own later word that it is there, of this slice alone", () => {
    granted();
    for (const name of ['s1', 's2']) {
      say(name, register(name));
      say(name, { kind: 'gone' });
    }
    say('s1', register('s1'));
    assert.deepEqual([book.get(KEY)?.slices, book.get(KEY)?.gone], [[ref('s1')], ['s2']]);
  });

  it('counts slices that a request or a release names', () => {
    say('job', { ...request, slices: [ref('s1')] } as never);
    assert.deepEqual(book.get(KEY)?.slices, [ref('s1')]);
    say('job', release('s2'));
    assert.deepEqual(book.get(KEY)?.slices, [ref('s1'), ref('s2')]);
    assert.deepEqual([book.get(KEY)?.state, book.waiting.length], ['draining', 0]);
  });

  it('knows the senders of a lease that it has not heard of yet', () => {
    say('s1', { kind: 'gone' });
    say('s2', { kind: 'gone' });
    say('job', request);
    for (const [sender, sequence] of [
      ['s1', 1],
      ['s2', 2],
    ] as const)
      book.apply({ lease: JOB, sender, sequence, body: register(sender) }, 3);
    assert.deepEqual([book.takePending().answers, book.get(KEY)?.slices], [[], []]);
    assert.deepEqual(book.carry().freed, [], 'it is no freed lease any more');
  });

  it('changes nothing of the memory that it began with', () => {
    granted();
    say('s1', register('s1'));
    say('s2', register('s2'));
    say('s2', { kind: 'gone' });
    const carry = JSON.parse(JSON.stringify(book.carry())) as ReturnType<LeaseBook['carry']>;
    const before = structuredClone(carry);
    const next = new LeaseBook(carry);
    assert.deepEqual(next.carry(), before);
    next.apply({ lease: JOB, sender: 's1', sequence: 99, body: { kind: 'gone' } }, 9);
    next.apply({ lease: JOB, sender: 's2', sequence: 99, body: register('s2') }, 9);
    assert.deepEqual(carry.rows, before.rows);
  });
});

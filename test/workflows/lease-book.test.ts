import assert from 'node:assert/strict';
import fc from 'fast-check';
import { leaseKey, type LeaseId, type LeaseMessage, type LeaseMessageBody } from '../../domain/lease.js';
import type { SliceRef } from '../../domain/slice.js';
import { MOST_FREED } from '../../workflows/quota/freed-leases.js';
import { type BookEvent, LeaseBook } from '../../workflows/quota/lease-book.js';
import { type LeaseRow, toLease } from '../../workflows/quota/lease-row.js';
import { describePool, MOST_WAITING } from '../../workflows/quota/pool-state.js';

const JOB: LeaseId = { pool: 'p', job: 'j', run: 'r', number: 1 };
const DEMAND = { project: 'a', user: 'u', priority: 3, submittedAt: 0, units: { v4: 8 } };
const ref = (name: string): SliceRef => ({ googleProject: 'g', zone: 'z', name, mode: 'queued-resources' });
const empty = (): LeaseBook => new LeaseBook({ epoch: 1, rows: [], freed: [] });

/** Sends messages one after another, each with the next sequence of its sender. */
class Post {
  #sequence = 0;
  readonly book: LeaseBook;
  readonly #lease: LeaseId;
  constructor(book: LeaseBook, lease: LeaseId = JOB) {
    this.book = book;
    this.#lease = lease;
  }
  letter(sender: string, body: LeaseMessageBody): LeaseMessage {
    return { lease: this.#lease, sender, sequence: ++this.#sequence, body };
  }
  send(sender: string, body: LeaseMessageBody): LeaseMessage {
    const letter = this.letter(sender, body);
    this.book.apply(letter, this.#sequence);
    return letter;
  }
}
const request: LeaseMessageBody = { kind: 'request', demand: DEMAND, slices: [] };
const release = (...names: string[]): LeaseMessageBody => ({ kind: 'release', slices: names.map(ref) });
const register = (name: string): LeaseMessageBody => ({ kind: 'slice', ref: ref(name) });

function held(): Post {
  const post = new Post(empty());
  post.send('job', request);
  post.book.grant({ id: leaseKey(JOB), tier: 0 }, 0);
  return post;
}

describe('the lease book', () => {
  it('frees a lease only when its job let go and every slice was seen gone', () => {
    const post = held();
    post.send('s1', register('s1'));
    post.send('job', release('s1'));
    assert.equal(post.book.leased.length, 1, 'its slice is still there');
    post.send('s1', { kind: 'gone' });
    assert.equal(post.book.leased.length, 0);
  });

  it('keeps a lease whose slice is gone while its job holds on (a preemption)', () => {
    const post = held();
    post.send('s1', register('s1'));
    post.send('s1', { kind: 'gone' });
    assert.equal(post.book.leased[0]?.state, 'held');
  });

  it('does not wait for a slice that was seen gone before the job, not knowing it, named it', () => {
    const post = held();
    post.send('s1', register('s1'));
    post.send('s1', { kind: 'gone' });
    post.send('job', release('s1'));
    assert.equal(post.book.leased.length, 0);
  });

  it('tells a slice no when its lease is unknown, waiting or draining, and yes when it is held', () => {
    const answer = (post: Post): boolean | undefined => {
      post.send('s1', register('s1'));
      return post.book.takePending().answers[0]?.isHeld;
    };
    assert.equal(answer(new Post(empty())), false);
    const waiting = new Post(empty());
    waiting.send('job', request);
    assert.equal(answer(waiting), false);
    assert.equal(answer(held()), true);
    const draining = held();
    draining.send('s0', register('s0'));
    draining.send('job', release());
    assert.equal(answer(draining), false);
  });

  it('ignores a request that arrives again after its lease was freed', () => {
    const post = new Post(empty());
    const first = post.send('job', request);
    post.send('job', release());
    post.book.apply(first, 9);
    assert.deepEqual([post.book.waiting.length, post.book.leased.length], [0, 0]);
  });

  it('carries the leases that were freed last, and no more of them than fit into a payload', () => {
    const { book } = new Post(empty());
    const leases = Array.from({ length: MOST_FREED + 1 }, (_, index) => ({ ...JOB, job: `j${index}` }));
    for (const lease of leases) {
      book.apply({ lease, sender: 'job', sequence: 1, body: request }, 1);
      book.apply({ lease, sender: 'job', sequence: 2, body: release() }, 2);
    }
    const { freed } = book.carry();
    assert.deepEqual([freed.length, freed[0]?.key], [MOST_FREED, leaseKey({ ...JOB, job: 'j1' })]);
  });

  it('forgets a freed lease ten minutes after its last message, and not a younger one', () => {
    const { book } = new Post(empty());
    const [early, late] = [JOB, { ...JOB, job: 'late' }];
    for (const [lease, now] of [
      [early, 0],
      [late, 500_000],
    ] as const) {
      book.apply({ lease, sender: 'job', sequence: 1, body: request }, now);
      book.apply({ lease, sender: 'job', sequence: 2, body: release() }, now);
    }
    const freed = (): string[] => book.carry().freed.map(({ key }) => key);
    book.apply({ lease: early, sender: 's1', sequence: 1, body: { kind: 'gone' } }, 550_000);
    assert.deepEqual(freed(), [late, early].map(leaseKey));
    book.apply({ lease: early, sender: 's1', sequence: 2, body: { kind: 'gone' } }, 1_120_000);
    assert.deepEqual(freed(), [early].map(leaseKey));
  });

  it('names a thousand of those who wait to someone who looks at it, and counts all', () => {
    const { book } = new Post(empty());
    for (let index = 0; index <= MOST_WAITING; index++)
      book.apply({ lease: { ...JOB, job: `j${index}` }, sender: 'job', sequence: 1, body: request }, 1);
    const { waiting, waitingCount } = describePool('p', book, undefined, 1);
    assert.deepEqual([waiting.length, waiting[0]?.lease.job, waitingCount], [MOST_WAITING, 'j0', MOST_WAITING + 1]);
  });

  it('says a grant again to a job that asks again', () => {
    const post = held();
    post.send('job', request);
    assert.deepEqual(post.book.takePending().grants, [{ ...JOB, tier: 0 }]);
  });

  it('lets go of the former lease when a job asks under another number', () => {
    const post = held();
    post.send('s1', register('s1'));
    const second = { ...JOB, number: 2 };
    post.book.apply({ lease: second, sender: 'job', sequence: 99, body: request }, 99);
    assert.deepEqual(
      post.book.leased.map(({ state }) => state),
      ['draining'],
    );
    assert.deepEqual(
      post.book.takePending().releases.map(({ slice }) => slice),
      ['s1'],
    );
    post.send('s1', { kind: 'gone' });
    assert.equal(post.book.leased.length, 0);
  });

  it('takes a job that held chips under a lost epoch as a holder, one without slices as a waiter', () => {
    const inUse = new Post(empty());
    inUse.send('job', { kind: 'request', demand: DEMAND, heldSince: 5, slices: [ref('s1')] });
    assert.deepEqual(
      inUse.book.leased.map(({ state, startedAt }) => [state, startedAt]),
      [['held', 5]],
    );
    const empties = new Post(empty());
    empties.send('job', { kind: 'request', demand: DEMAND, heldSince: 5, slices: [] });
    assert.equal(empties.book.waiting.length, 1);
  });

  it('takes along what it has told nobody yet', () => {
    const post = held();
    post.send('s1', register('s1'));
    post.send('job', request);
    const next = new LeaseBook(JSON.parse(JSON.stringify(post.book.carry())) as ReturnType<LeaseBook['carry']>);
    const { answers, grants } = next.takePending();
    assert.deepEqual([answers, grants], [[{ slice: 's1', isHeld: true }], [{ ...JOB, tier: 0 }]]);
  });

  it('survives a continue-as-new as it is', () => {
    const post = held();
    post.send('s1', register('s1'));
    const carried = JSON.parse(JSON.stringify(post.book.carry())) as ReturnType<LeaseBook['carry']>;
    const next = new LeaseBook(carried);
    assert.deepEqual(next.carry(), post.book.carry());
    next.apply(post.letter('job', release()), 9);
    assert.equal(next.leased.length, 1, 'the slice is still counted');
  });

  it('SAFETY: whatever order, loss or repetition of messages, no lease is free while a registered slice is not gone', () => {
    const names = ['s1', 's2', 's3'];
    const step = fc.oneof(
      fc.constant({ sender: 'job', body: request }),
      fc.constant({ sender: 'job', body: release() }),
      fc.constantFrom(...names).map((name) => ({ sender: name, body: register(name) })),
      fc.constantFrom(...names).map((name) => ({ sender: name, body: { kind: 'gone' } as LeaseMessageBody })),
    );
    let interesting = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.boolean()), { maxLength: 25 }), (steps) => {
        const post = new Post(empty());
        // The oracle knows only what slices themselves said while the lease was held.
        const alive = new Set<string>();
        let last: LeaseMessage | undefined;
        for (const [{ sender, body }, isRepeated] of steps) {
          last = post.send(sender, body);
          if (isRepeated) post.book.apply(last, 0);
          const row = post.book.get(leaseKey(JOB));
          if (row?.state === 'waiting') post.book.grant({ id: leaseKey(JOB), tier: 0 }, 0);
          if (body.kind === 'slice' && row?.state === 'held') alive.add(sender);
          if (body.kind === 'gone') alive.delete(sender);
          if (alive.size > 0) {
            interesting += 1;
            assert.ok(post.book.leased.length === 1, `freed while ${[...alive].join()} live`);
          }
        }
      }),
      { numRuns: 5_000 },
    );
    assert.ok(interesting > 1_000, `only ${interesting} interesting states were seen`);
  });
});

/** A job that says when its chips come: it names its zones. */
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

  it('holds from the grant on where its job is of a version that does not say when chips come', () => {
    say('job', request, 1);
    book.grant({ id: key, tier: 0 }, 5);
    assert.deepEqual([row()?.state, row()?.heldSince], ['held', 5]);
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

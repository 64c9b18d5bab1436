import assert from 'node:assert/strict';
import fc from 'fast-check';
import { leaseKey, type LeaseId, type LeaseMessage, type LeaseMessageBody } from '../../domain/lease.js';
import { MOST_FREED } from '../../workflows/quota/freed-leases.js';
import { LeaseBook } from '../../workflows/quota/lease-book.js';
import { describePool, MOST_WAITING } from '../../workflows/quota/queries.js';
import { DEMAND, JOB, ref, register, release, request } from './lease-messages.js';

const RUNS = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 2_000);
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
function held(): Post {
  const post = new Post(empty());
  post.send('job', request);
  post.book.grant({ id: leaseKey(JOB), tier: 0 }, 0);
  post.send('job', { kind: 'chips', zone: 'z' });
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
    const before = Array.from({ length: MOST_FREED }, (_, index) => ({
      key: leaseKey({ ...JOB, job: `j${index}` }),
      at: 1,
      sequences: { job: 2 },
    }));
    const book = new LeaseBook({ epoch: 1, rows: [], freed: before });
    book.apply({ lease: JOB, sender: 'job', sequence: 1, body: request }, 1);
    book.apply({ lease: JOB, sender: 'job', sequence: 2, body: release() }, 2);
    const { freed } = book.carry();
    assert.deepEqual([freed.length, freed[0]?.key, freed.at(-1)?.key], [MOST_FREED, before[1]?.key, leaseKey(JOB)]);
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
    book.apply({ lease: early, sender: 's1', sequence: 2, body: { kind: 'gone' } }, 1_100_000);
    assert.deepEqual(freed(), [late, early].map(leaseKey));
    book.apply({ lease: early, sender: 's1', sequence: 3, body: { kind: 'gone' } }, 1_100_001);
    assert.deepEqual(freed(), [early].map(leaseKey));
  });

  it('names a thousand of those who wait to someone who looks at it, and counts all', () => {
    const { book } = new Post(empty());
    for (let index = 0; index <= MOST_WAITING; index++)
      book.apply({ lease: { ...JOB, job: `j${index}` }, sender: 'job', sequence: 1, body: request }, 1);
    const { waiting, waitingCount } = describePool({ pool: 'p', book, facts: undefined, rebuilding: undefined }, 1);
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

  it('counts the same message once, a younger one anew, and none that is older, of each sender on its own', () => {
    const cases: Record<string, { readonly known?: number; readonly next: number; readonly isHeard: boolean }> = {
      'the first': { next: 1, isHeard: true },
      'the same again': { known: 5, next: 5, isHeard: false },
      'an older one': { known: 5, next: 4, isHeard: false },
      'the next': { known: 5, next: 6, isHeard: true },
    };
    for (const [name, { known, next, isHeard }] of Object.entries(cases)) {
      const book = empty();
      const say = (sequence: number, body: LeaseMessageBody, sender = 'job'): void =>
        book.apply({ lease: JOB, sender, sequence, body }, 0);
      if (known !== undefined) say(known, request);
      book.takePending();
      say(99, register('s1'), 's1');
      book.takePending();
      const asked = { ...DEMAND, priority: 1 };
      say(next, { kind: 'request', demand: asked, slices: [] });
      assert.equal(book.get(leaseKey(JOB))?.demand.priority === 1, isHeard, name);
    }
  });

  it('does not let the same message undo what was decided since', () => {
    const post = new Post(empty());
    post.send('job', request);
    post.book.grant({ id: leaseKey(JOB), tier: 0 }, 0);
    post.send('s1', register('s1'));
    const released = post.send('job', release());
    post.send('job', { kind: 'request', demand: DEMAND, heldSince: 5, slices: [ref('s1')], zone: 'z' });
    post.book.apply(released, 9);
    assert.equal(post.book.get(leaseKey(JOB))?.state, 'held');
  });

  it('asks a late claim back where more is leased than there is, and only there', () => {
    const cases: Record<string, { readonly total: number; readonly isRebuilding: boolean; readonly want: string }> = {
      'it fits': { total: 16, isRebuilding: false, want: 'held' },
      'it does not fit': { total: 15, isRebuilding: false, want: 'draining' },
      'it was claimed during the rebuild, with chips': { total: 15, isRebuilding: true, want: 'held' },
    };
    for (const [name, { total, isRebuilding, want }] of Object.entries(cases)) {
      const post = new Post(
        new LeaseBook({ epoch: 1, rows: [], freed: [], ...(isRebuilding ? { isRebuilding } : {}) }),
      );
      const other = { ...JOB, job: 'other' };
      post.book.apply({ lease: other, sender: 'job', sequence: 1, body: request }, 1);
      post.book.grant({ id: leaseKey(other), tier: 0 }, 1);
      post.send('job', { kind: 'request', demand: DEMAND, heldSince: 1, slices: [ref('s1')], zone: 'z' });
      post.send('s1', register('s1'));
      post.book.revokeUnconfirmed([{ v4: total }], 2);
      assert.equal(post.book.get(leaseKey(JOB))?.state, want, name);
      assert.deepEqual(post.book.takePending().answers, [{ slice: 's1', isHeld: want === 'held' }], name);
      assert.equal(post.book.get(leaseKey(other))?.state, 'asking', `${name}: what was granted stays`);
    }
  });

  it('takes a job that held chips under a lost epoch as a holder, one without slices as a waiter', () => {
    const inUse = new Post(empty());
    inUse.send('job', { kind: 'request', demand: DEMAND, heldSince: 5, slices: [ref('s1')], zone: 'z' });
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
          if (body.kind === 'slice' && row?.state === 'asking') alive.add(sender);
          if (body.kind === 'gone') alive.delete(sender);
          if (alive.size > 0) {
            interesting += 1;
            assert.ok(post.book.leased.length === 1, `freed while ${[...alive].join()} live`);
          }
        }
      }),
      { numRuns: RUNS },
    );
    assert.ok(interesting > RUNS / 5, `only ${interesting} interesting states were seen`);
  });
});

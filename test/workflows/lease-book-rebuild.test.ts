import assert from 'node:assert/strict';
import { leaseKey, type LeaseMessageBody } from '../../domain/lease.js';
import { type BookEvent, LeaseBook } from '../../workflows/quota/lease-book.js';
import { DEMAND, JOB, ref, register, release, request, speaker } from './lease-messages.js';

const KEY = leaseKey(JOB);
const claim = (more: object = {}): LeaseMessageBody => ({
  kind: 'request',
  demand: DEMAND,
  slices: [ref('s1')],
  heldSince: 5,
  ...more,
});
const jobNamed = (job: string) => ({ ...JOB, job });

describe('a lease book without memory', () => {
  let events: BookEvent[];
  let book: LeaseBook;
  let say: ReturnType<typeof speaker>;
  const begin = (isRebuilding: boolean): void => {
    events = [];
    book = new LeaseBook({ epoch: 1, rows: [], freed: [], isRebuilding }, (event) => events.push(event));
    say = speaker(book);
  };
  beforeEach(() => begin(true));

  it('has heard the jobs that have spoken themselves, be it that they let go, until the rebuild ends', () => {
    say('job', request, 1, jobNamed('asks'));
    say('job', release(), 1, jobNamed('lets-go'));
    say('s1', register('s1'), 1, jobNamed('silent'));
    const heard = (id: string, run = 'r'): boolean => book.hasHeard({ id, run });
    assert.deepEqual(
      ['asks', 'lets-go', 'silent'].map((id) => heard(id)),
      [true, true, false],
    );
    assert.equal(heard('asks', 'other'), false, 'a later job of the same name');
    book.endRebuild();
    assert.equal(heard('asks'), false);
    say('job', request, 2, jobNamed('late'));
    assert.equal(heard('late'), false);
  });

  it('forgets what jobs said before they were asked: a lease with slices counts, one without waits', () => {
    say('job', claim({ zone: 'z', askedAt: 3, tier: 1 }), 10);
    say('s1', { kind: 'gone' }, 1);
    const other = jobNamed('other');
    say('job', claim({ zone: 'z' }), 11, other);
    say('job', request, 12, jobNamed('third'));
    book.adopt(jobNamed('third'), DEMAND, ref('s3'), 13);
    assert.equal(book.get(leaseKey(jobNamed('third')))?.state, 'draining', 'it was only heard to wait');
    assert.deepEqual([book.get(KEY)?.state, book.get(leaseKey(other))?.state], ['held', 'held']);
    book.hearAnew(20);
    assert.equal(book.hasHeard({ id: JOB.job, run: JOB.run }), false);
    const { sequences, ...row } = book.get(KEY) ?? assert.fail('its request is kept');
    const waits = { lease: JOB, demand: DEMAND, state: 'waiting', tier: 0, waitingSince: 3, slices: [], gone: ['s1'] };
    assert.deepEqual([row, Object.keys(sequences)], [waits, ['job', 's1']]);
    assert.equal(book.get(leaseKey(other))?.state, 'draining');
    say('job', claim({ zone: 'z' }), 30, other);
    assert.equal(book.get(leaseKey(other))?.state, 'held', 'its answer counts');
  });

  it('counts slices that are found under a lease, in its tier, until its job claims it', () => {
    book.adopt(JOB, DEMAND, ref('s1'), 40, 1);
    book.adopt(JOB, DEMAND, ref('s2'), 41, 1);
    book.adopt(jobNamed('other'), DEMAND, ref('s3'), 42);
    const found = { lease: JOB, demand: DEMAND, state: 'draining', tier: 1, startedAt: 40, gone: [], sequences: {} };
    assert.deepEqual(book.get(KEY), { ...found, slices: [ref('s1'), ref('s2')] });
    assert.equal(book.get('other/r/1')?.tier, 0);
    say('job', claim({ zone: 'z' }), 50);
    assert.deepEqual([book.get(KEY)?.state, book.get(KEY)?.startedAt, book.get(KEY)?.tier], ['held', 5, 1]);
    book.adopt(JOB, DEMAND, ref('s9'), 60);
    assert.deepEqual([book.get(KEY)?.state, book.get(KEY)?.slices.length], ['held', 3]);
  });

  it('holds a lease for a job that does not answer, from its submit on, and lets the job say more later', () => {
    book.adopt(JOB, { ...DEMAND, submittedAt: 2 }, ref('s1'), 40, 1);
    book.holdUnheard(KEY, 50);
    const { state, tier, startedAt, heldSince, zone } = book.get(KEY) ?? {};
    assert.deepEqual([state, tier, startedAt, heldSince, zone], ['held', 1, 2, 50, 'z']);
    book.endRebuild();
    say('job', claim({ heldSince: 30, zone: 'z' }), 60);
    assert.deepEqual([book.get(KEY)?.startedAt, book.get(KEY)?.isUnconfirmed], [30, true], 'its first word');
    say('job', claim({ heldSince: 35, zone: 'z' }), 70);
    assert.equal(book.get(KEY)?.startedAt, 30, 'its second');
    say('job', request, 80, jobNamed('none'));
    book.holdUnheard('none/r/1', 90);
    assert.equal(book.get('none/r/1')?.state, 'asking', 'without slices');
    assert.throws(() => book.holdUnheard('nobody/r/1', 50), /no lease nobody/);
  });

  it('takes the word of a job that waits only if it has chips in use', () => {
    say('job', request, 1);
    say('job', claim({ slices: [] }), 2);
    say('job', claim({ slices: [], tier: 2, zone: 'z' }), 2);
    const { state, tier, zone } = book.get(KEY) ?? {};
    assert.deepEqual([state, tier, zone], ['waiting', 0, undefined]);
    assert.deepEqual(book.takePending().grants, []);
    say('job', claim(), 3);
    assert.equal(book.get(KEY)?.state, 'asking');
    assert.deepEqual(book.takePending().grants, [{ ...JOB, tier: 0 }], 'it is confirmed');
  });

  it('confirms what has chips while it rebuilds, and asks back later what does not fit', () => {
    say('job', claim({ zone: 'z' }), 1, jobNamed('in-time'));
    say('job', claim(), 1, jobNamed('asks'));
    book.endRebuild();
    say('job', claim({ zone: 'z' }), 1, jobNamed('late'));
    book.revokeUnconfirmed([{ v4: 23 }], 2);
    const revoked = book.takePending().revocations;
    assert.deepEqual(
      revoked.map(({ lease }) => lease.job),
      ['asks', 'late'],
    );
    assert.deepEqual(
      new Set(revoked.map(({ cause, reason }) => `${cause}: ${reason}`)),
      new Set([
        "quota: its pool lost its memory and did not hear of this lease in time: its chips may be another job's",
      ]),
    );
    const count = events.length;
    book.revokeUnconfirmed([{ v4: 23 }], 3);
    assert.equal(events.length, count, 'once');
  });

  it('asks back in the tier that has too little alone; a tier that is no more counts as the last', () => {
    const tiers = { first: 0, second: 1, 'of-old': 7 };
    const revokedWith = (...units: readonly number[]): readonly string[] => {
      begin(false);
      for (const [job, tier] of Object.entries(tiers)) say('job', claim({ tier }), 1, jobNamed(job));
      book.takePending();
      book.revokeUnconfirmed(
        units.map((v4) => ({ v4 })),
        2,
      );
      return book.takePending().revocations.map(({ lease }) => lease.job);
    };
    assert.deepEqual(revokedWith(8, 16), []);
    assert.deepEqual(revokedWith(7, 16), ['first']);
    assert.deepEqual(revokedWith(8, 15), ['second', 'of-old']);
    assert.deepEqual(revokedWith(24), []);
    assert.deepEqual(revokedWith(23), ['first', 'second', 'of-old']);
  });

  it('asks nothing back that was granted here, however little there is', () => {
    say('job', request);
    book.grant({ id: KEY, tier: 0 }, 0);
    book.revokeUnconfirmed([{ v4: 0 }], 2);
    assert.deepEqual(book.takePending().revocations, []);
  });
});

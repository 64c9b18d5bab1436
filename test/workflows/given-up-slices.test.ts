import assert from 'node:assert/strict';
import { deletionSender, leaseKey, type LeaseMessageBody } from '../../domain/lease.js';
import type { BookEvent } from '../../workflows/quota/lease-book.js';
import { LeaseBook } from '../../workflows/quota/lease-book.js';
import { givableSlices } from '../../workflows/quota/lease-row.js';
import { packBook, unpackBook } from '../../workflows/quota/packed-book.js';
import { JOB, register, release, request, speaker } from './lease-messages.js';

const KEY = leaseKey(JOB);
const STUCK: LeaseMessageBody = { kind: 'stuck', slice: 's1', since: 7, answer: 'no such project', isFinal: true };
const BY = { by: 'alice', because: 'the project was deleted', now: 50 };

/** A lease whose job has let go at 10, and which waits for two slices. */
function draining() {
  const events: BookEvent[] = [];
  const book = new LeaseBook({ epoch: 1, rows: [], freed: [] }, (event) => void events.push(event));
  const say = speaker(book);
  say('job', request);
  book.grant({ id: KEY, tier: 0 }, 0);
  say('s1', register('s1'));
  say('s2', register('s2'));
  say('job', release('s1', 's2'), 10);
  return { book, say, events, row: () => book.get(KEY) ?? assert.fail('its lease was freed') };
}

describe('a slice whose deletion does not end', () => {
  it('goes on counting, and its lease knows what was answered last', () => {
    const { say, row } = draining();
    say(deletionSender('s1'), STUCK);
    assert.deepEqual(row().stuck, { s1: { since: 7, answer: 'no such project', isFinal: true } });
    say(deletionSender('s1'), { kind: 'stuck', slice: 's1', since: 7, answer: 'UNAVAILABLE' });
    assert.deepEqual(row().stuck, { s1: { since: 7, answer: 'UNAVAILABLE' } });
    assert.equal(row().slices.length, 2);
  });

  it('that ends after all is forgotten, and what was told of it late is not believed', () => {
    const { say, row } = draining();
    say(deletionSender('s1'), STUCK);
    say('s1', { kind: 'gone' });
    say(deletionSender('s1'), STUCK);
    assert.deepEqual([row().stuck, row().slices.map(({ name }) => name)], [undefined, ['s2']]);
  });

  it('is carried to the next run', () => {
    const { book, say, row } = draining();
    say(deletionSender('s1'), STUCK);
    const [carried] = unpackBook(JSON.parse(JSON.stringify(packBook(book.carry()))) as never).rows;
    assert.deepEqual([carried?.stuck, carried?.drainingSince], [row().stuck, 10]);
  });

  it('can be given up by a person; no other slice of its lease can, until nothing was heard for long', () => {
    const { say, row } = draining();
    assert.deepEqual(givableSlices(row(), 1_000, 100_000), []);
    say(deletionSender('s1'), STUCK);
    assert.deepEqual(givableSlices(row(), 1_000, 100_000), ['s1']);
    assert.deepEqual(givableSlices(row(), 100_009, 100_000), ['s1']);
    assert.deepEqual(givableSlices(row(), 100_010, 100_000), ['s1', 's2'], 'their workflows are wedged, or closed');
  });

  it('of a lease that its job holds is given up alone: the lease stays', () => {
    const book = new LeaseBook({ epoch: 1, rows: [], freed: [] });
    const say = speaker(book);
    say('job', request);
    book.grant({ id: KEY, tier: 0 }, 0);
    say('s1', register('s1'));
    say('s2', register('s2'));
    say(deletionSender('s1'), STUCK);
    const row = book.get(KEY) ?? assert.fail();
    assert.deepEqual(givableSlices(row, 1e9, 1), ['s1']);
    book.giveUp(KEY, ['s1'], BY);
    assert.deepEqual([book.leased.length, row.slices.map(({ name }) => name)], [1, ['s2']]);
  });

  it('that was given up frees its lease with the last one, is in the history, and its workflow is told', () => {
    const { book, say, events } = draining();
    say(deletionSender('s1'), STUCK);
    book.takePending();
    book.giveUp(KEY, ['s1'], BY);
    assert.equal(book.leased.length, 1, 'the other slice is waited for');
    say('s2', { kind: 'gone' });
    assert.equal(book.leased.length, 0);
    assert.ok(book.wasFreed('j') && !book.wasFreed('k'));
    const told = events.find(({ kind }) => kind === 'released');
    assert.deepEqual([told?.by, told?.reason, told?.at], ['alice', 's1: the project was deleted', 50]);
    assert.deepEqual(book.takePending().giveUps, [
      { slice: 's1', reason: 'alice released it: the project was deleted' },
    ]);
  });

  it('that was given up does not come back by an old word of its job', () => {
    const { book, say } = draining();
    say(deletionSender('s1'), STUCK);
    book.giveUp(KEY, ['s1'], BY);
    say('job', release('s1', 's2'), 60);
    assert.deepEqual(
      book.get(KEY)?.slices.map(({ name }) => name),
      ['s2'],
    );
  });

  it('frees its lease at once where nothing else is waited for, and the history names all that was given up', () => {
    const { book, events } = draining();
    book.giveUp(KEY, ['s1', 's2'], BY);
    assert.equal(book.leased.length, 0);
    assert.equal(events.find(({ kind }) => kind === 'released')?.reason, 's1, s2: the project was deleted');
  });

  it('of a lease that the pool does not know, or no more, is no news', () => {
    const { book, say } = draining();
    const rows = book.carry().rows.length;
    say(deletionSender('x1'), { ...STUCK, slice: 'x1' }, 20, { ...JOB, job: 'unheard-of' });
    assert.equal(book.carry().rows.length, rows);
  });

  it('can be given up in a lease that a pool of an earlier build let drain, once that lasts long from now', () => {
    const { book, row } = draining();
    delete row().drainingSince;
    book.noteDraining(500);
    assert.equal(row().drainingSince, 500);
    book.noteDraining(900);
    assert.equal(row().drainingSince, 500);
  });
});

describe('the rows of a job', () => {
  it('are those of all its leases: one that drains, and one that it holds', () => {
    const { book, say } = draining();
    const next = { ...JOB, number: 2 };
    say('job', request, 20, next);
    say('job', request, 20, { ...JOB, job: 'other' });
    book.grant({ id: leaseKey(next), tier: 0 }, 20);
    book.noteDraining(30);
    assert.deepEqual(
      book.allOfJob(JOB.job).map(({ lease, state, drainingSince }) => [lease.number, state, drainingSince]),
      [
        [1, 'draining', 10],
        [2, 'asking', undefined],
      ],
    );
  });

  it('are remembered for a while once they are freed, also beside those of others', () => {
    const book = new LeaseBook({ epoch: 1, rows: [], freed: [] });
    const say = speaker(book);
    for (const lease of [JOB, { ...JOB, job: 'other' }]) {
      say('job', request, 0, lease);
      book.grant({ id: leaseKey(lease), tier: 0 }, 0);
      say('job', release(), 1, lease);
    }
    assert.deepEqual(
      [JOB.job, 'other', 'third'].map((job) => book.wasFreed(job)),
      [true, true, false],
    );
  });
});

import assert from 'node:assert/strict';
import { type HistoryLine, leaseStories, type LeaseStory, type OpenLease, usageOf } from '../../quota/pool-history.js';

const HOUR = 3_600_000;
const T0 = Date.UTC(2026, 10, 21, 0);
const WINDOW = { from: T0, to: T0 + 24 * HOUR };

/** A line of alice's job `a` (16 v4), `hour` hours after the window begins. */
function line(hour: number, kind: HistoryLine['kind'], over: Partial<HistoryLine> = {}): HistoryLine {
  const whose = { job: 'a', lease: 1, project: 'vision', user: 'alice', tier: 0, units: { v4: 16 } };
  return { at: T0 + hour * HOUR, kind, ...whose, ...over };
}
function only(lines: readonly HistoryLine[], open: readonly OpenLease[] | undefined = []): LeaseStory {
  const [story, ...more] = leaseStories(lines, WINDOW, open);
  assert.ok(story && more.length === 0);
  return story;
}
const OPEN: OpenLease = {
  ...{ job: 'a', number: 1, project: 'vision', user: 'alice', priority: 3, submittedAt: T0, tier: 0 },
  ...{ units: { v4: 16 }, startedAt: T0 + HOUR },
};

describe('what history tells of a lease', () => {
  it('chips count from all slices ready until they are seen gone, not from the grant', () => {
    const story = only([line(1, 'granted'), line(2, 'chips'), line(5, 'freed')]);
    assert.deepEqual([story.grantedAt, story.heldMs, story.freedAt], [T0 + HOUR, 3 * HOUR, T0 + 5 * HOUR]);
  });

  it('chips that the provider took are not counted until they are there again', () => {
    const lines = [line(1, 'chips'), line(3, 'lost-chips'), line(4, 'chips'), line(5, 'freed')];
    assert.equal(only(lines).heldMs, 3 * HOUR);
  });

  it('after a revocation they count until they are seen gone', () => {
    const story = only([line(1, 'chips'), line(2, 'revoked'), line(2.5, 'freed')]);
    assert.deepEqual([story.heldMs, story.revokedAt], [1.5 * HOUR, T0 + 2 * HOUR]);
  });

  it('an open lease counts until the window ends', () => {
    const story = only([line(20, 'granted'), line(22, 'chips')], [OPEN]);
    assert.deepEqual([story.heldMs, story.isEndUnknown], [2 * HOUR, undefined]);
  });

  it('a lease that is open no more and whose end is not told counts until its last line, and says so', () => {
    const story = only([line(20, 'granted'), line(22, 'chips'), line(23, 'revoked')]);
    assert.deepEqual([story.heldMs, story.isEndUnknown], [HOUR, true]);
  });

  it('one that began before the window is counted from there; where no line tells that it had chips, it is said', () => {
    const assumed = only([line(-3, 'granted'), line(6, 'freed')]);
    assert.deepEqual([assumed.heldMs, assumed.grantedAt, assumed.isStartAssumed], [6 * HOUR, undefined, true]);
    const known = only([line(6, 'lost-chips'), line(7, 'freed')]);
    assert.deepEqual([known.heldMs, known.isStartAssumed], [6 * HOUR, undefined]);
  });

  it('an open lease of which nothing is told had its chips as long as the pool says', () => {
    assert.equal(only([], [{ ...OPEN, startedAt: T0 - 9 * HOUR, heldMs: 30 * HOUR }]).heldMs, 24 * HOUR);
    assert.equal(only([], [{ ...OPEN, heldMs: HOUR }]).heldMs, HOUR);
    assert.equal(only([], [{ ...OPEN, state: 'asking' }]).heldMs, 0);
  });

  it('the order of the lines does not matter, and a job’s leases are kept apart', () => {
    const lines = [line(5, 'freed'), line(1, 'granted'), line(2, 'chips'), line(6, 'granted', { lease: 2 })];
    const second: OpenLease = { ...OPEN, number: 2 };
    const stories = leaseStories(lines, WINDOW, [second]);
    assert.deepEqual(
      stories.map(({ lease, heldMs }) => [lease, heldMs]),
      [
        [1, 3 * HOUR],
        [2, 0],
      ],
    );
  });
});

describe('chip-hours', () => {
  it('are per project, user and type; cores are two a chip; preemptions are counted', () => {
    const lines = [
      ...[line(0, 'chips'), line(2, 'revoked'), line(3, 'freed')],
      ...[line(4, 'chips', { lease: 2, project: 'VISION' }), line(5, 'freed', { lease: 2 })],
      line(0, 'chips', { job: 'b', user: 'bob', units: { v5litepod: 8, other: 2 } }),
      line(1, 'freed', { job: 'b', user: 'bob' }),
    ];
    assert.deepEqual(usageOf(leaseStories(lines, WINDOW, [])), [
      { project: 'vision', user: 'alice', type: 'v4', leases: 2, preempted: 1, unitHours: 64, chipHours: 32 },
      { project: 'vision', user: 'bob', type: 'v5litepod', leases: 1, preempted: 0, unitHours: 8, chipHours: 8 },
      { project: 'vision', user: 'bob', type: 'other', leases: 1, preempted: 0, unitHours: 2 },
    ]);
  });
});

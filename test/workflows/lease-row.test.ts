import assert from 'node:assert/strict';
import {
  addSlice,
  adoptClaim,
  conform,
  drain,
  heldMsOf,
  isInUse,
  type LeaseRow,
  newRow,
  noteAskedIn,
  noteChips,
  noteGone,
  notePaused,
  startRow,
  toLease,
  toRequest,
} from '../../workflows/quota/lease-row.js';
import { DEMAND, JOB, ref } from './lease-messages.js';

const waiting = (more: Partial<LeaseRow> = {}): LeaseRow => newRow(JOB, DEMAND, more);
const asking = (now = 0): LeaseRow => {
  const row = waiting();
  startRow(row, { tier: 0 }, now);
  return row;
};
const held = (now: number): LeaseRow => {
  const row = asking(0);
  noteChips(row, 'z', now);
  return row;
};
const parked = (of: LeaseRow, now: number): LeaseRow => {
  notePaused(of, true, now);
  return of;
};
const drained = (of: LeaseRow, now: number): LeaseRow => {
  drain(of, now);
  return of;
};
/** What a row has beyond what every row has. */
const own = ({ lease: _, demand: _demand, slices: _slices, gone: _gone, sequences: _sequences, ...rest }: LeaseRow) =>
  rest;
const claim = (more: Partial<Parameters<typeof conform>[1]> = {}): Parameters<typeof conform>[1] => ({
  kind: 'request',
  demand: DEMAND,
  slices: [],
  ...more,
});

describe('a row of the lease book', () => {
  it('begins as a waiting request of the first tier', () =>
    assert.deepEqual(waiting(), {
      lease: JOB,
      demand: DEMAND,
      state: 'waiting',
      tier: 0,
      slices: [],
      gone: [],
      sequences: {},
    }));

  it('asks from its grant on, and knows nothing of an earlier one', () => {
    const row = waiting({ heldMs: 40, isUnconfirmed: true, isFromReservation: true });
    startRow(row, { tier: 2 }, 7);
    assert.deepEqual(own(row), { state: 'asking', tier: 2, startedAt: 7, askingSince: 7 });
    startRow(row, { tier: 1, isFromReservation: true }, 8);
    assert.deepEqual(own(row), { state: 'asking', tier: 1, startedAt: 8, askingSince: 8, isFromReservation: true });
  });

  it('has news of its chips when it gets them or loses them, and then only', () => {
    const row = asking(0);
    assert.equal(noteChips(row, undefined, 5), false);
    assert.equal(noteChips(row, 'z', 10), true);
    assert.deepEqual(own(row), { state: 'held', tier: 0, startedAt: 0, heldSince: 10, zone: 'z' });
    assert.equal(noteChips(row, 'y', 12), false);
    assert.deepEqual([row.heldSince, row.zone], [10, 'y']);
    assert.equal(noteChips(row, undefined, 30), true);
    assert.deepEqual(own(row), { state: 'asking', tier: 0, startedAt: 0, askingSince: 30, heldMs: 20, zone: 'y' });
    const none = waiting();
    assert.equal(noteChips(none, undefined, 1), false);
    assert.deepEqual(own(none), { state: 'waiting', tier: 0 });
  });

  it('remembers while it is parked whether it had chips, or got or lost them since', () => {
    const resumed = (row: LeaseRow): object => {
      notePaused(row, false, 90);
      return own(row);
    };
    const before = { tier: 0, startedAt: 0, zone: 'z' };
    assert.deepEqual(own(parked(held(10), 30)), { ...before, state: 'parked', hasChips: true, heldMs: 20 });
    assert.deepEqual(resumed(parked(held(10), 30)), { ...before, state: 'held', heldMs: 20, heldSince: 90 });
    assert.deepEqual(own(parked(asking(), 30)), { state: 'parked', tier: 0, startedAt: 0, hasChips: false });
    assert.deepEqual(resumed(parked(asking(), 30)), { state: 'asking', tier: 0, startedAt: 0, askingSince: 90 });
    const came = parked(asking(), 30);
    assert.equal(noteChips(came, 'z', 40), false);
    assert.deepEqual(resumed(came), { ...before, state: 'held', heldSince: 90 });
    const went = parked(held(10), 30);
    assert.equal(noteChips(went, undefined, 40), false);
    assert.deepEqual(resumed(went), { ...before, state: 'asking', askingSince: 90, heldMs: 20 });
  });

  it('is paused only while it is held or asks, and resumed only while it is parked', () => {
    const again = parked(held(10), 30);
    notePaused(again, true, 40);
    assert.deepEqual([again.state, again.hasChips, again.heldMs], ['parked', true, 20]);
    for (const row of [waiting(), drained(asking(), 5)]) {
      const before = own(row);
      notePaused(row, true, 9);
      notePaused(row, false, 9);
      assert.deepEqual(own(row), before);
    }
    const running = held(10);
    notePaused(running, false, 30);
    assert.deepEqual([running.state, running.heldSince], ['held', 10]);
  });

  it('that drains keeps the time that it was held, and no other', () => {
    const draining = { state: 'draining', tier: 0, startedAt: 0 };
    assert.deepEqual(own(drained(held(10), 30)), { ...draining, zone: 'z', heldMs: 20, drainingSince: 30 });
    assert.deepEqual(own(drained(parked(held(10), 30), 50)), { ...own(drained(held(10), 30)), drainingSince: 50 });
    assert.deepEqual(own(drained(held(10), 10)), { ...draining, zone: 'z', drainingSince: 10 });
    assert.deepEqual(own(drained(asking(), 10)), { ...draining, drainingSince: 10 });
  });

  it('that drains keeps the time from which on it drains', () => {
    const row = drained(held(10), 30);
    assert.equal(own(drained(row, 90))['drainingSince'], 30);
  });

  it('has held its chips for the sum of all stretches, and never for less than no time', () => {
    assert.equal(heldMsOf(waiting(), 9), 0);
    assert.equal(heldMsOf(waiting({ heldMs: 5, heldSince: 10 }), 30), 25);
    assert.equal(heldMsOf(waiting({ heldMs: 5, heldSince: 40 }), 30), 5, 'a worker whose clock is ahead');
  });

  it('counts a slice once, and one that was seen gone not at all', () => {
    const row = asking();
    for (const name of ['s1', 's1', 's2']) addSlice(row, ref(name));
    noteGone(row, 's1');
    noteGone(row, 's1');
    addSlice(row, ref('s1'));
    assert.deepEqual([row.slices, row.gone], [[ref('s2')], ['s1']]);
  });

  it('asks where the gang is that its job goes on with, once the zone before is left', () => {
    const row = asking();
    for (const [name, zone] of [
      ['s-g1', 'a'],
      ['s-g2', 'b'],
    ] as const)
      addSlice(row, { ...ref(name), zone });
    row.zone = 'a';
    const zoneAfter = (name: string): string | undefined => {
      noteGone(row, name);
      return toLease(row, 0).zone;
    };
    assert.deepEqual([zoneAfter('another'), zoneAfter('s-g1'), zoneAfter('s-g2')], ['a', 'b', 'b']);
  });
  it('forgets the oldest of 51 slices that were seen gone, with its sequence', () => {
    const row = asking();
    const names = Array.from({ length: 51 }, (_, index) => `s${index}`);
    for (const name of names) row.sequences[name] = 1;
    for (const name of names.slice(0, 50)) noteGone(row, name);
    assert.deepEqual([row.gone.length, row.sequences['s0']], [50, 1]);
    noteGone(row, 's50');
    assert.deepEqual(row.gone, names.slice(1));
    assert.deepEqual(Object.keys(row.sequences), names.slice(1));
  });
});

describe('a row of the lease book, of where it asks', () => {
  const asksIn = (answers: Readonly<Record<string, 'asked' | 'refused'>>): LeaseRow => {
    const row = newRow(JOB, { ...DEMAND, zones: ['a', 'b'] });
    startRow(row, { tier: 0 }, 0);
    for (const [zone, answer] of Object.entries(answers)) noteAskedIn(row, zone, answer);
    return row;
  };
  const everywhere = (row: LeaseRow) => toLease(row, 0).everywhere;

  it('has asked everywhere once each zone that it names was asked, and is refused where each said so last', () => {
    assert.equal(everywhere(asksIn({})), undefined);
    assert.equal(everywhere(asksIn({ a: 'refused' })), undefined);
    assert.equal(everywhere(asksIn({ a: 'refused', b: 'asked' })), 'asked');
    assert.equal(everywhere(asksIn({ a: 'refused', b: 'refused' })), 'refused');
    const again = asksIn({ a: 'refused', b: 'refused' });
    noteAskedIn(again, 'a', 'asked');
    assert.equal(everywhere(again), 'asked');
  });

  it('knows nothing of a zone that it does not name, nor without zones', () => {
    assert.equal(everywhere(asksIn({ a: 'refused', c: 'refused' })), undefined);
    const nowhere = asking();
    noteAskedIn(nowhere, 'a', 'refused');
    assert.equal(everywhere(nowhere), undefined);
  });

  it('begins anew with its chips, their loss, a pause and its next grant', () => {
    const changes: readonly ((row: LeaseRow) => void)[] = [
      (row) => void noteChips(row, 'a', 1),
      (row) => [noteChips(row, 'a', 1), noteChips(row, undefined, 2)],
      (row) => notePaused(row, true, 1),
      (row) => startRow(row, { tier: 1 }, 1),
      (row) => drain(row, 1),
    ];
    for (const change of changes) {
      const row = asksIn({ a: 'refused', b: 'refused' });
      change(row);
      assert.equal(row.askedIn, undefined);
      assert.equal(everywhere(row), undefined);
    }
  });
});

describe("a job's word of what it holds", () => {
  it('is a claim only with chips in use: a grant of which nothing was started waits again', () => {
    const slices = [ref('s1')];
    assert.equal(isInUse(claim({ heldSince: 0, slices })), true);
    assert.equal(isInUse(claim({ heldSince: 0 })), false);
    assert.equal(isInUse(claim({ slices })), false);
  });

  it('corrects pause and chips of a lease that is known, but not its tier', () => {
    const row = asking();
    conform(row, claim({ tier: 2, zone: 'z' }), 5);
    assert.deepEqual(own(row), { state: 'held', tier: 0, startedAt: 0, zone: 'z', heldSince: 5 });
    conform(row, claim({ zone: 'z', isParked: true }), 9);
    assert.deepEqual([row.state, row.tier, row.hasChips], ['parked', 0, true]);
    conform(row, claim({ zone: 'z' }), 12);
    assert.deepEqual([row.state, row.heldSince, row.heldMs], ['held', 12, 4]);
    conform(row, claim(), 20);
    assert.deepEqual([row.state, row.askingSince], ['asking', 20]);
  });

  it('makes a lease of which nothing else is known, as of its grant; it is confirmed if it has chips in a rebuild', () => {
    const adopted = (said: Parameters<typeof conform>[1], isRebuilding: boolean, row = waiting({ tier: 1 })) => {
      adoptClaim(row, said, 50, isRebuilding);
      return own(row);
    };
    const asks = { state: 'asking', startedAt: 5, askingSince: 50, isUnconfirmed: true };
    assert.deepEqual(adopted(claim({ heldSince: 5 }), true), { ...asks, tier: 1 });
    assert.deepEqual(adopted(claim({ heldSince: 5, tier: 2 }), false), { ...asks, tier: 2 });
    const holds = { state: 'held', tier: 1, startedAt: 5, heldSince: 5, zone: 'z' };
    assert.deepEqual(adopted(claim({ heldSince: 5, zone: 'z' }), true), holds);
    assert.deepEqual(adopted(claim({ heldSince: 5, zone: 'z' }), false), { ...holds, isUnconfirmed: true });
    const { startedAt, heldSince } = adopted(claim({ zone: 'z' }), true);
    assert.deepEqual([startedAt, heldSince], [50, 50]);
    const { state, hasChips } = adopted(claim({ heldSince: 5, zone: 'z', isParked: true }), true);
    assert.deepEqual([state, hasChips], ['parked', true]);
  });
});

describe('a row as a decision sees it', () => {
  it('is a request from when it began to wait', () => {
    assert.deepEqual(toRequest(waiting()), { id: 'j/r/1', ...DEMAND });
    assert.deepEqual(toRequest(waiting({ waitingSince: 0 })), { id: 'j/r/1', ...DEMAND, waitingSince: 0 });
  });

  it('is a lease with what it knows', () => {
    const dull = { id: 'j/r/1', ...DEMAND, tier: 0, startedAt: 0, heldMs: 0 };
    assert.deepEqual(toLease(waiting(), 9), { ...dull, state: 'asking' });
    assert.deepEqual(toLease(drained(held(5), 8), 9), { ...dull, state: 'draining', heldMs: 3, zone: 'z' });
    const row = waiting();
    startRow(row, { tier: 3, isFromReservation: true }, 4);
    const granted = { ...dull, tier: 3, startedAt: 4, isFromReservation: true };
    assert.deepEqual(toLease(row, 9), { ...granted, state: 'asking', askingSince: 4 });
    noteChips(row, 'z', 6);
    assert.deepEqual(toLease(row, 9), { ...granted, state: 'held', heldMs: 3, zone: 'z' });
  });
});

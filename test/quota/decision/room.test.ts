import assert from 'node:assert/strict';
import { Room } from '../../../quota/decision/room.js';
import { ShapeTable } from '../../../quota/decision/shapes.js';

const table = new ShapeTable({ kind: 'limited', tiers: [{ v4: 100, v6e: 100 }], projects: [] }, []);
const shape = (units: Record<string, number>): ReturnType<ShapeTable['of']> => table.of({ units });
/** Two types: 16 and 8 units, 12 and 8 leased, of which 4 and 0 drain. */
const room = (): Room => new Room([[16, 8]], [[12, 8]], [[4, 0]]);

describe('quota: what a tier has while a pass is made', () => {
  it('free is what nobody has; coming is that and what drains', () => {
    const { free, coming, draining, reserved, started, claimed } = room().of(0);
    assert.deepEqual({ free, coming, draining }, { free: [4, 0], coming: [8, 0], draining: [4, 0] });
    assert.deepEqual(
      [reserved, started, claimed],
      [
        [0, 0],
        [0, 0],
        [0, 0],
      ],
    );
  });
  it('of a pool that was shrunk nothing is free, and what comes makes up for what is too much first', () => {
    const { free, coming } = new Room([[8]], [[12]], [[2]]).of(0);
    assert.deepEqual({ free, coming }, { free: [0], coming: [-2] });
  });
  it('a tier without leases is free', () => assert.deepEqual(new Room([[8]], [], []).of(0).free, [8]));
  it('has no tier that the pool has not', () => assert.throws(() => room().of(1), /tier 1: the pool has 1/));
  it('a gang fits whole or not at all', () => {
    assert.equal(room().isFree(shape({ v4: 4 }), 0), true);
    assert.equal(room().isFree(shape({ v4: 5 }), 0), false);
    assert.equal(room().isFree(shape({ v4: 1, v6e: 1 }), 0), false);
    assert.equal(room().isComing(shape({ v4: 8 }), 0), true);
    assert.equal(room().isComing(shape({ v4: 9 }), 0), false);
  });
  it('a grant takes free units, which are no longer coming', () => {
    const one = room();
    one.take(shape({ v4: 3 }), 0);
    assert.deepEqual(
      [one.of(0).free, one.of(0).coming],
      [
        [1, 0],
        [5, 0],
      ],
    );
  });
  it('a claim takes what comes, free units first, and no more than there is', () => {
    const one = room();
    one.claim(shape({ v4: 6 }), 0);
    assert.deepEqual(
      [one.of(0).free, one.of(0).coming, one.of(0).claimed],
      [
        [0, 0],
        [2, 0],
        [6, 0],
      ],
    );
    one.claim(shape({ v4: 6 }), 0);
    assert.deepEqual(
      [one.of(0).coming, one.of(0).claimed],
      [
        [0, 0],
        [8, 0],
      ],
    );
  });
  it('a small claim leaves the rest of what is free', () => {
    const one = room();
    one.claim(shape({ v4: 1 }), 0);
    assert.deepEqual(one.of(0).free, [3, 0]);
  });
  it('of a pool that was shrunk a claim takes nothing', () => {
    const one = new Room([[8]], [[12]], [[2]]);
    one.claim(shape({ v4: 1 }), 0);
    assert.deepEqual([one.of(0).coming, one.of(0).claimed, one.of(0).free], [[-2], [0], [0]]);
  });
  it('a lease that is told to go is coming and draining, and not free', () => {
    const one = room();
    one.drain(shape({ v4: 2, v6e: 4 }), 0);
    assert.deepEqual(
      [one.of(0).free, one.of(0).coming, one.of(0).draining],
      [
        [4, 0],
        [10, 4],
        [6, 4],
      ],
    );
  });
  it('a shortage is what free and coming units lack, by type; reserved ones count where they may be used', () => {
    const one = room();
    one.reserve(shape({ v4: 3 }), 0);
    assert.deepEqual(one.shortage(shape({ v4: 9, v6e: 2 }), 0), [4, 2]);
    assert.deepEqual(one.shortage(shape({ v4: 9, v6e: 2 }), 0, true), [1, 2]);
  });
  it('a reservation collects what is free, and says whether it is full', () => {
    const one = room();
    assert.equal(one.reserve(shape({ v4: 3 }), 0), true);
    assert.deepEqual(
      [one.of(0).free, one.of(0).coming, one.of(0).reserved],
      [
        [1, 0],
        [5, 0],
        [3, 0],
      ],
    );
    assert.equal(one.reserve(shape({ v4: 3 }), 0), false);
    assert.deepEqual(
      [one.of(0).free, one.of(0).reserved],
      [
        [0, 0],
        [4, 0],
      ],
    );
    assert.equal(room().reserve(shape({ v4: 1, v6e: 1 }), 0), false, 'full in one type of two');
    assert.equal(room().reserve(shape({ v6e: 1, v4: 1 }), 0), false, 'full in the last type alone');
  });
  it('reservations are in the way of every demand that asks for one of their types, also when they just started', () => {
    const one = room();
    const both = shape({ v4: 1, v6e: 1 });
    assert.equal(one.hasReserved(both, 0) || one.isBehindReservations(both, 0), false);
    one.reserve(shape({ v4: 3 }), 0);
    assert.equal(one.hasReserved(both, 0) && one.isBehindReservations(both, 0), true);
    assert.equal(one.hasReserved(shape({ v6e: 1 }), 0) || one.isBehindReservations(shape({ v6e: 1 }), 0), false);
    one.spend(shape({ v4: 3 }), 0);
    assert.deepEqual(
      [one.of(0).reserved, one.of(0).started],
      [
        [0, 0],
        [3, 0],
      ],
    );
    assert.deepEqual([one.hasReserved(both, 0), one.isBehindReservations(both, 0)], [false, true]);
  });
});

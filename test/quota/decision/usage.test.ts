import assert from 'node:assert/strict';
import { ShapeTable } from '../../../quota/decision/shapes.js';
import { Nominal, ProjectQuota, workloadOf, type Workload } from '../../../quota/decision/project-quota.js';
import { Room } from '../../../quota/decision/room.js';
import { compareShares, NO_SHARE, ProjectDrafts, ProjectUsage, UserUsage } from '../../../quota/decision/usage.js';
import { lease } from '../builders.js';
import type { Share } from '../../../quota/decision/usage.js';

const BIG = Number.MAX_SAFE_INTEGER;
const table = new ShapeTable({ kind: 'limited', tiers: [{ v4: 100, v6e: 100 }], projects: [] }, []);
const shape = (units: Record<string, number>): ReturnType<ShapeTable['of']> => table.of({ units });
const workload = (id: string, units: Record<string, number>, tier = 0): Workload => ({
  id,
  priority: 3,
  startedAt: 0,
  shape: shape(units),
  tier,
});

describe('quota: shares are exact fractions', () => {
  const cases: Readonly<Record<string, { a: Share; b: Share; want: number }>> = {
    'a smaller part is less': { a: { part: 1, of: 8 }, b: { part: 2, of: 8 }, want: -1 },
    'the same part of more is less': { a: { part: 1, of: 9 }, b: { part: 1, of: 8 }, want: -1 },
    '1 of 5 is 2 of 10': { a: { part: 1, of: 5 }, b: { part: 2, of: 10 }, want: 0 },
    'a part of nothing is more than all of something': { a: { part: 1, of: 0 }, b: { part: 9, of: 9 }, want: 1 },
    'products beyond 2^53 differ by one': { a: { part: BIG, of: BIG }, b: { part: BIG - 1, of: BIG }, want: 1 },
    'the left product alone beyond 2^53': { a: { part: BIG, of: 1 }, b: { part: 1, of: 3 }, want: 1 },
    'the right product alone beyond 2^53': { a: { part: 1, of: 3 }, b: { part: BIG, of: 1 }, want: -1 },
    'equal beyond 2^53': { a: { part: BIG, of: BIG - 2 }, b: { part: BIG, of: BIG - 2 }, want: 0 },
    'nearly equal beyond 2^53, where doubles are equal': {
      a: { part: BIG, of: BIG - 1 },
      b: { part: BIG - 1, of: BIG - 2 },
      want: -1,
    },
  };
  for (const [name, { a, b, want }] of Object.entries(cases)) {
    it(name, () => {
      assert.equal(Math.sign(compareShares(a, b)), want);
      assert.equal(Math.sign(compareShares(b, a)), want === 0 ? 0 : -want);
    });
  }
});

describe('quota: the usage of a project in a pass', () => {
  const room = (): Room =>
    new Room(
      [
        [16, 16],
        [16, 16],
      ],
      [[], []],
      [[], []],
    );
  const project = (
    used: readonly number[] = [0, 0],
    workloads: readonly Workload[] = [],
    of = room(),
  ): ProjectUsage => {
    const nominal = new Nominal([
      [8, 4],
      [2, 0],
    ]);
    return new ProjectUsage(0, { name: 'own', quota: new ProjectQuota(nominal, workloads), used, room: of });
  };

  it('its dominant share is the largest of the types asked for, over the nominal quota of all tiers', () => {
    assert.deepEqual(project().shareWith(shape({ v4: 5, v6e: 1 })), { part: 5, of: 10 });
    assert.deepEqual(project().shareWith(shape({ v4: 1, v6e: 3 })), { part: 3, of: 4 });
    assert.deepEqual(project([6, 1]).shareWith(shape({ v6e: 1 })), { part: 2, of: 4 });
  });
  it('of a demand that asks for nothing the share is none', () =>
    assert.deepEqual(project().shareWith(shape({})), NO_SHARE));
  it('grows with what the pass gives it', () => {
    const own = project([6, 1]);
    own.add(workload('a', { v4: 3 }));
    assert.deepEqual(own.shareWith(shape({ v4: 1 })), { part: 10, of: 10 });
  });
  it('borrows over all tiers what does not lie on nominal quota', () => {
    const leases = [workload('a', { v4: 9 }), workload('b', { v4: 3 }, 1)];
    assert.equal(project([12, 0], leases).borrowed(0), 3);
    assert.equal(project().borrowed(0), 0);
  });
  it('is in quota in a tier where others within theirs leave it room', () => {
    const of = room();
    of.countWithinQuota([[9], [8]]);
    const own = project([0, 0], [], of);
    assert.deepEqual(
      [0, 1].map((tier) => own.isInQuota(shape({ v4: 8 }), 3, tier)),
      [false, true],
    );
    assert.ok(own.isCovered(shape({ v4: 10 }), 3) && !own.isCovered(shape({ v4: 11 }), 3));
  });
  it('its own worse priorities count there only as far as it leaves them within quota', () => {
    const isIn = (worse: number): boolean => {
      const of = room();
      of.countWithinQuota([[12], [12]]);
      const own = project([worse, 0], [{ ...workload('worse', { v4: worse }), priority: 5 }], of);
      return own.isInQuota(shape({ v4: 4 }), 3, 0);
    };
    assert.deepEqual([isIn(4), isIn(8)], [false, true], '4 and 4 are within 10, beside 8 one is pushed out');
  });
});

describe('quota: the usage of a user in a pass', () => {
  it('is the largest share of the pool over all types, and only grows', () => {
    const user = new UserUsage(0, [10, 100]);
    assert.deepEqual(user.share, NO_SHARE);
    user.hold(shape({ v6e: 10 }));
    assert.deepEqual(user.share, { part: 10, of: 100 });
    user.hold(shape({ v4: 5 }));
    assert.deepEqual(user.share, { part: 5, of: 10 });
    user.hold(shape({ v6e: 20 }));
    assert.deepEqual(user.share, { part: 5, of: 10 });
  });
  it('a type that the pool no longer has is the largest share of all', () => {
    const user = new UserUsage(0, [0, 100]);
    user.hold(shape({ v6e: 100 }));
    user.hold(shape({ v4: 1 }));
    assert.deepEqual(user.share, { part: 1, of: 0 });
  });
  it('another object only when it changed: a queue is put in order anew by it', () => {
    const user = new UserUsage(0, [10, 100]);
    user.hold(shape({ v4: 5 }));
    const before = user.share;
    user.hold(shape({ v6e: 50 }));
    assert.equal(user.share, before);
  });
});

describe('quota: projects while leases are read', () => {
  it('are one whatever the case of their names, with leases and units by type', () => {
    const drafts = new ProjectDrafts(2);
    drafts.of('Own').add(workload('a', { v4: 3 }));
    drafts.of('own').add(workload('b', { v6e: 2 }, 1));
    assert.deepEqual([...drafts.byName.keys()], ['own']);
    const { workloads, used } = drafts.of('OWN');
    assert.deepEqual(
      [workloads.map(({ id }) => id), used],
      [
        ['a', 'b'],
        [3, 2],
      ],
    );
  });
  it('a lease of a tier that the pool no longer has lies in the last', () => {
    const late = lease('a', { v4: 3 }, { tier: 5 });
    assert.equal(workloadOf(late, shape({ v4: 3 }), 2).tier, 1);
  });
});

import assert from 'node:assert/strict';
import { ShapeTable } from '../../../quota/decision/shapes.js';
import { TierQuota } from '../../../quota/decision/tier-quota.js';
import { compareShares, NO_SHARE, ProjectDrafts, ProjectUsage, UserUsage } from '../../../quota/decision/usage.js';
import type { Share } from '../../../quota/decision/usage.js';

const BIG = Number.MAX_SAFE_INTEGER;
const table = new ShapeTable({ kind: 'limited', tiers: [{ v4: 100, v6e: 100 }], projects: [] }, []);
const shape = (units: Record<string, number>): ReturnType<ShapeTable['of']> => table.of({ units });
const workload = (id: string, units: Record<string, number>) => ({
  id,
  priority: 3,
  startedAt: 0,
  shape: shape(units),
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
  const project = (used: readonly number[] = [0, 0]): ProjectUsage =>
    new ProjectUsage(0, 'own', [new TierQuota([8, 4], []), new TierQuota([2, 0], [])], used);

  it('its dominant share is the largest of the types asked for, over the nominal quota of all tiers', () => {
    assert.deepEqual(project().shareWith(shape({ v4: 5, v6e: 1 })), { part: 5, of: 10 });
    assert.deepEqual(project().shareWith(shape({ v4: 1, v6e: 3 })), { part: 3, of: 4 });
    assert.deepEqual(project([6, 1]).shareWith(shape({ v6e: 1 })), { part: 2, of: 4 });
  });
  it('of a demand that asks for nothing the share is none', () =>
    assert.deepEqual(project().shareWith(shape({})), NO_SHARE));
  it('grows with what the pass gives it', () => {
    const own = project([6, 1]);
    own.use(shape({ v4: 3 }));
    assert.deepEqual(own.shareWith(shape({ v4: 1 })), { part: 10, of: 10 });
  });
  it('borrows over all tiers what does not lie on nominal quota', () => {
    const tiers = [new TierQuota([8], [workload('a', { v4: 9 })]), new TierQuota([2], [workload('b', { v4: 3 })])];
    assert.equal(new ProjectUsage(0, 'own', tiers, [12]).borrowed(0), 12);
    assert.equal(project().borrowed(0), 0);
  });
  it('has no tier that the pool has not', () => assert.throws(() => project().quota(2), /tier 2: project own has 2/));
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
  it('are one whatever the case of their names, with leases by tier and units by type', () => {
    const drafts = new ProjectDrafts(2, 2);
    drafts.of('Own').add(workload('a', { v4: 3 }), 0);
    drafts.of('own').add(workload('b', { v6e: 2 }), 1);
    assert.deepEqual([...drafts.byName.keys()], ['own']);
    const { workloads, used } = drafts.of('OWN');
    assert.deepEqual(
      [workloads.map((tier) => tier.map(({ id }) => id)), used],
      [
        [['a'], ['b']],
        [3, 2],
      ],
    );
  });
  it('a lease of a tier that the pool no longer has lies in the last', () => {
    const drafts = new ProjectDrafts(2, 2);
    drafts.of('own').add(workload('a', { v4: 3 }), 5);
    assert.equal(drafts.of('own').workloads[1]?.length, 1);
  });
});

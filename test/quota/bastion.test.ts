import assert from 'node:assert/strict';
import { bastionPass, type BastionInput, type BastionJob } from '../../bench/quota/bastion.js';
import { bastionPython } from '../../bench/quota/bastion-python.js';
import { Random, seededState } from '../../rehearsal/random.js';

const POOLS = 300;
const SEED = 7;

describe('Bastion’s pass, for comparison', function () {
  this.timeout(20_000);

  it('is the same in Python and in TypeScript, job by job in the order of visits', () => {
    const random = new Random(seededState(SEED));
    const pools = Array.from({ length: POOLS }, () => randomPool(random));
    const inPython = bastionPython(pools).map(({ verdicts }) => verdicts);
    const interesting = { admitted: 0, 'passed over': 0, 'second tier': 0 };
    for (const [index, pool] of pools.entries()) {
      const verdicts = bastionPass(pool);
      assert.deepEqual(verdicts, inPython[index], `seed ${SEED}, pool ${index}: ${JSON.stringify(pool)}`);
      for (const { tier } of verdicts)
        interesting[tier === null ? 'passed over' : tier > 0 ? 'second tier' : 'admitted'] += 1;
    }
    for (const [what, count] of Object.entries(interesting)) assert.ok(count > POOLS, `only ${count} jobs ${what}`);
  });

  const tiers = [{ v4: 16 }];
  const shares = { a: { v4: 0.5 }, b: { v4: 0.5 } };
  const admitted = (jobs: readonly BastionJob[]): string[] =>
    bastionPass({ tiers, shares, jobs }).flatMap(({ id, tier }) => (tier === null ? [] : [id]));

  it('starves 12 of 16 while the other project keeps small jobs queued (docs/facts.md, "Predecessors")', () => {
    const small = Array.from({ length: 16 }, (_, index) => job(`small-${index}`, 1, { project: 'b', submittedAt: 1 }));
    assert.deepEqual(admitted([job('large', 12), ...small]).includes('large'), false);
  });

  it('displaces a user’s second running job by another user’s first', () => {
    const running = [job('first', 8, { project: 'a', user: 'ann' }), job('second', 8, { project: 'a', user: 'ann' })];
    assert.deepEqual(admitted(running), ['first', 'second']);
    assert.deepEqual(admitted([...running, job('new', 8, { project: 'a', user: 'bob', submittedAt: 9 })]), [
      'first',
      'new',
    ]);
  });
});

function job(id: string, v4: number, more: Partial<BastionJob> = {}): BastionJob {
  return { id, project: 'a', user: 'u', priority: 3, submittedAt: 0, units: { v4 }, ...more };
}

function randomPool(random: Random): BastionInput {
  const pick = <Item>(items: readonly Item[]): Item => items[random.integer(0, items.length - 1)] as Item;
  const units = (): Record<string, number> =>
    pick([
      { v4: random.integer(1, 12) },
      { v6e: random.integer(1, 12) },
      { v4: random.integer(1, 6), v6e: random.integer(1, 6) },
    ]);
  const share = (): number => random.integer(0, 6) / 10;
  return {
    tiers: Array.from({ length: random.integer(1, 3) }, () => ({
      v4: random.integer(0, 20),
      v6e: random.integer(0, 20),
    })),
    shares: { a: { v4: share(), v6e: share() }, b: { v4: share() }, c: { v6e: share() } },
    jobs: Array.from({ length: random.integer(0, 30) }, (_, index) =>
      job(`job-${index}`, 1, {
        project: pick(['a', 'a', 'b', 'c', 'none']),
        user: pick(['ann', 'bob', 'carol']),
        priority: random.integer(1, 5),
        submittedAt: random.integer(0, 5),
        units: units(),
      }),
    ),
  };
}

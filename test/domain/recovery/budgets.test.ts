import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Budget, budgetLeft, charge, NO_RETRIES, type Retries } from '../../../domain/recovery/budgets.js';
import { decide } from '../../../domain/recovery/decide.js';
import type { Fact } from '../../../domain/recovery/facts.js';
import { DULL } from './cases.js';

/** A job that has nothing but bad luck: how often each budget paid, until it failed. */
function retriesOf(
  allowed: Retries,
  ends: readonly Fact<'attempt ended', 'end'>[],
): { readonly used: Retries; readonly failedAt?: number; readonly by?: Budget } {
  let used: Retries = NO_RETRIES;
  for (const [at, end] of ends.entries()) {
    const decision = decide('attempt ended', { ...DULL['attempt ended'], end, ...budgetLeft(used, allowed) });
    if (decision.do === 'fail') return { used, failedAt: at, by: decision.by };
    if (decision.do === 'retry') used = charge(used, decision.budget);
  }
  return { used };
}

describe('budgets', () => {
  const ACCOUNTS = {
    'slices preempted': 'preemption',
    'slices failed': 'infrastructure',
    'run lost': 'infrastructure',
    'host bad': 'infrastructure',
    'worker failed': 'infrastructure',
    'another code': 'task',
    'run time over': 'task',
    silent: 'task',
    'restart code': 'requested',
  } as const satisfies Partial<Record<Fact<'attempt ended', 'end'>, Budget>>;
  const ENDS = Object.keys(ACCOUNTS) as (keyof typeof ACCOUNTS)[];

  it('n retries allowed are exactly n, on the account of what happened, in whatever order it happens', () => {
    let failures = 0;
    const retries = fc.record({
      preemption: fc.nat(5),
      infrastructure: fc.nat(5),
      task: fc.nat(5),
      requested: fc.nat(5),
    });
    const ends = fc.array(fc.constantFrom(...ENDS), { maxLength: 24 });
    fc.assert(
      fc.property(retries, ends, (allowed, happened) => {
        const { used, failedAt, by } = retriesOf(allowed, happened);
        const until = happened.slice(0, failedAt ?? happened.length);
        for (const budget of ['preemption', 'infrastructure', 'task', 'requested'] as const) {
          const count = until.filter((end) => ACCOUNTS[end] === budget).length;
          assert.equal(used[budget], count, 'each was paid once');
          assert.ok(count <= allowed[budget], 'never one retry more');
        }
        if (failedAt === undefined) return;
        failures += 1;
        const last = ACCOUNTS[happened[failedAt] as keyof typeof ACCOUNTS];
        assert.equal(by, last);
        assert.equal(used[last], allowed[last], 'never one retry less');
      }),
      { numRuns: 500 },
    );
    assert.ok(failures > 50, `${failures} jobs failed`);
  });
});

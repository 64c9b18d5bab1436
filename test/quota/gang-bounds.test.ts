import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decide } from '../../quota/decide.js';
import { gangBounds, nominalQuota } from '../../quota/nominal-quota.js';
import { DEFAULT_RULES } from '../../quota/quota-config.js';
import type { LimitedQuota, QuotaLease } from '../../quota/quota-config.js';
import { lease, pool, project, request } from './builders.js';
import { minutesAgo, NOW, withRules } from './decision-table.js';
import { holds } from './properties/check.js';

const v4 = (...amounts: readonly number[]) => amounts.map((units) => ({ v4: units }));

describe('quota: how large a gang may be that has quota in several tiers', () => {
  const halves = pool(v4(16, 16), project('p1', v4(8, 8)), project('p2', v4(8, 8)));
  const rows = (config: typeof halves): string[] =>
    gangBounds(config).map(
      ({ project: name, pricing = 'any', nominal, tier, sure }) => `${name} ${pricing}: ${sure}/${nominal} of ${tier}`,
    );
  const cases: Readonly<Record<string, { readonly config: typeof halves; readonly want: readonly string[] }>> = {
    'one tier holds what it promises': { config: pool(v4(16), project('p1', v4(8))), want: [] },
    'two halves of two tiers: 8 for sure, 16 at most': {
      config: halves,
      want: ['p1 any: 8/16 of 16', 'p2 any: 8/16 of 16'],
    },
    'a project alone is sure of a tier, and no tier holds all of its quota': {
      config: pool(v4(16, 16), project('p1', v4(16, 16))),
      want: ['p1 any: 16/32 of 16'],
    },
    'three tiers and unequal shares': {
      config: pool(v4(16, 16, 8), project('p1', v4(8, 8, 4)), project('p2', v4(4, 4, 2)), project('p3', v4(4, 4, 2))),
      want: ['p1 any: 7/20 of 16', 'p2 any: 4/10 of 16', 'p3 any: 4/10 of 16'],
    },
    'a job that names a pricing may meet those who name none in its tiers': {
      config: withRules(halves, { tiers: [{ pricing: 'reserved' }, { pricing: 'spot' }] }),
      want: [
        ...['p1 any: 8/16 of 16', 'p2 any: 8/16 of 16', 'p1 reserved: 0/8 of 16', 'p2 reserved: 0/8 of 16'],
        ...['p1 spot: 0/8 of 16', 'p2 spot: 0/8 of 16'],
      ],
    },
    'unless its project does not lend what it has there: that much is sure': {
      config: withRules(halves, {
        tiers: [{ pricing: 'reserved' }, { pricing: 'spot' }],
        lendingLimits: { p1: { v4: 2 }, p2: { v4: 0 } },
      }),
      want: ['p1 any: 8/16 of 16', 'p2 any: 8/16 of 16', 'p1 reserved: 6/8 of 16', 'p1 spot: 6/8 of 16'],
    },
    'an unlimited pool promises nothing': { config: { kind: 'unlimited' }, want: [] },
  };
  for (const [name, { config, want }] of Object.entries(cases)) {
    it(name, () => assert.deepEqual(rows(config), want));
  }

  it('what is said to be sure has room whatever others run within their quota, and no more is sure', () => {
    const drawn = fc.record({
      tiers: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 3 }),
      share: fc.integer({ min: 1, max: 9 }),
    });
    holds(
      drawn,
      ({ tiers, share }) => {
        const config = twoProjects(tiers, share / 10);
        const bound = gangBounds(config).find(({ project: name }) => name === 'own');
        if (bound === undefined) return false;
        const starts = (gang: number): boolean =>
          occupations(config).every((others) => getsChips(config, gang, others));
        assert.ok(bound.sure === 0 || starts(bound.sure), `${bound.sure} of ${bound.nominal} has no room`);
        assert.ok(!starts(bound.sure + 1), `${bound.sure + 1} of ${bound.nominal} always has room`);
        return bound.sure > 0;
      },
      { interesting: 0.2, share: 0.15 },
    );
  });
});

function twoProjects(tiers: readonly number[], share: number): LimitedQuota {
  const nominal = tiers.map((units) =>
    nominalQuota(units, new Map([...Object.entries({ own: share, other: 1 - share })])),
  );
  const of = (name: string) => project(name, v4(...nominal.map((byName) => byName.get(name) ?? 0)));
  return { kind: 'limited', tiers: v4(...tiers), projects: [of('own'), of('other')], rules: DEFAULT_RULES };
}

/** Every way in which the other project may have all of its quota in use: units by tier. */
function occupations({ tiers, projects }: LimitedQuota): readonly (readonly number[])[] {
  const all = (projects[1]?.nominal ?? []).reduce((sum, units) => sum + (units['v4'] ?? 0), 0);
  const ways = (at: number, left: number): number[][] => {
    const size = tiers[at]?.['v4'] ?? 0;
    if (at === tiers.length - 1) return left <= size ? [[left]] : [];
    return Array.from({ length: Math.min(size, left) + 1 }, (_, units) => units).flatMap((units) =>
      ways(at + 1, left - units).map((rest) => [units, ...rest]),
    );
  };
  return ways(0, all);
}

/** The rest of the pool is borrowed, by leases that may be preempted. */
function getsChips(config: LimitedQuota, gang: number, others: readonly number[]): boolean {
  const leases = config.tiers.flatMap((units, tier): QuotaLease[] => {
    const within = others[tier] ?? 0;
    return Array.from({ length: units['v4'] ?? 0 }, (_, index) =>
      lease(
        `l${tier}-${index}`,
        { v4: 1 },
        {
          tier,
          project: index < within ? 'other' : 'none',
          startedAt: minutesAgo(60),
        },
      ),
    );
  });
  const ask = request('ask', { v4: gang }, { project: 'own', submittedAt: minutesAgo(1) });
  return decide({ config, requests: [ask], leases }, NOW).preemptions.length > 0;
}

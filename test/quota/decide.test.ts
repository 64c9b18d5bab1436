import assert from 'node:assert/strict';
import { decide } from '../../quota/decide.js';
import { canEverFit } from '../../quota/submission.js';
import { UNLIMITED } from '../../quota/quota-config.js';
import type { QuotaConfig, QuotaLease, QuotaRequest } from '../../quota/quota-config.js';
import { lease, pool, project, request } from './builders.js';

interface Case {
  readonly config: QuotaConfig;
  readonly requests: readonly QuotaRequest[];
  readonly leases?: readonly QuotaLease[];
  /** `id@tier`, in the order of the grants. */
  readonly want: readonly string[];
}

const v4 = (units: number): { v4: number } => ({ v4: units });

const cases: Record<string, Case> = {
  'an unlimited pool grants everything': {
    config: UNLIMITED,
    requests: [request('b', v4(1e6)), request('a', v4(1e6))],
    want: ['a@0', 'b@0'],
  },
  'a gang is granted whole': { config: pool(v4(16)), requests: [request('a', v4(16))], want: ['a@0'] },
  'a gang that does not fit whole gets nothing': { config: pool(v4(16)), requests: [request('a', v4(17))], want: [] },
  'a lease counts until it is gone': {
    config: pool(v4(16)),
    requests: [request('a', v4(8))],
    leases: [lease('old', v4(9))],
    want: [],
  },
  'a gang of two types needs both': {
    config: pool({ v4: 8, v6e: 4 }),
    requests: [request('a', { v4: 8, v6e: 8 }), request('b', { v4: 8, v6e: 4 }, { submittedAt: 1 })],
    want: ['b@0'],
  },
  'a type that the pool lacks is never granted': {
    config: pool(v4(8)),
    requests: [request('a', { v6e: 1 })],
    want: [],
  },
  'the better priority comes first': {
    config: pool(v4(8)),
    requests: [request('low', v4(8), { priority: 4 }), request('high', v4(8), { priority: 2, submittedAt: 9 })],
    want: ['high@0'],
  },
  'among equals the earlier submit comes first': {
    config: pool(v4(8)),
    requests: [request('a', v4(8), { submittedAt: 2 }), request('b', v4(8), { submittedAt: 1 })],
    want: ['b@0'],
  },
  'at the same instant the id decides': {
    config: pool(v4(8)),
    requests: [request('b', v4(8)), request('a', v4(8))],
    want: ['a@0'],
  },
  'others go past a head that cannot start': {
    config: pool(v4(16)),
    requests: [request('head', v4(16)), request('small', v4(8), { submittedAt: 1 })],
    leases: [lease('old', v4(8))],
    want: ['small@0'],
  },
  'in-quota demand comes before best effort of a better priority': {
    config: pool(v4(16), project('own', v4(8)), project('guest')),
    requests: [
      request('guest-job', v4(16), { project: 'guest', priority: 1 }),
      request('own-job', v4(8), { project: 'own', priority: 5 }),
    ],
    want: ['own-job@0'],
  },
  'a project is found without regard to case': {
    config: pool(v4(16), project('Own', v4(8))),
    requests: [
      request('guest-job', v4(16), { priority: 1 }),
      request('own-job', v4(8), { project: 'oWN', priority: 5 }),
    ],
    want: ['own-job@0'],
  },
  'what goes over the nominal quota is best effort': {
    config: pool(v4(16), project('own', v4(8)), project('other', v4(8))),
    requests: [
      request('own-2', v4(8), { project: 'own', priority: 3 }),
      request('other-1', v4(8), { project: 'other', priority: 5 }),
    ],
    leases: [lease('own-1', v4(8), { project: 'own' })],
    want: ['other-1@0'],
  },
  'best effort borrows what nobody asks for': {
    config: pool(v4(16), project('own', v4(8))),
    requests: [request('a', v4(16), { project: 'own' })],
    want: ['a@0'],
  },
  'a lease of a worse priority does not lie below the request': {
    config: pool(v4(24), project('own', v4(8)), project('guest')),
    requests: [
      request('guest-job', v4(16), { project: 'guest', priority: 1 }),
      request('own-2', v4(8), { project: 'own', priority: 2 }),
    ],
    leases: [lease('own-1', v4(8), { project: 'own', priority: 4 })],
    want: ['own-2@0'],
  },
  'leases are laid by priority, whatever order they come in': {
    config: pool(v4(24), project('own', v4(8)), project('other', v4(8))),
    requests: [
      request('other-1', v4(8), { project: 'other', priority: 5, submittedAt: 9 }),
      request('own-3', v4(8), { project: 'own', priority: 3 }),
    ],
    leases: [
      lease('own-2', v4(8), { project: 'own', priority: 5 }),
      lease('own-1', v4(8), { project: 'own', priority: 1 }),
    ],
    want: ['other-1@0'],
  },
  'a lease too large for the nominal quota takes none of it': {
    config: pool(v4(40), project('own', v4(8)), project('guest')),
    requests: [
      request('guest-job', v4(24), { project: 'guest', priority: 1 }),
      request('own-2', v4(8), { project: 'own', priority: 5 }),
    ],
    leases: [lease('own-1', v4(16), { project: 'own' })],
    want: ['own-2@0'],
  },
  'the first tier with room is taken': {
    config: pool([v4(8), v4(16)]),
    requests: [request('a', v4(16)), request('b', v4(8), { submittedAt: 1 })],
    want: ['a@1', 'b@0'],
  },
  'a gang never lies in two tiers': { config: pool([v4(8), v4(8)]), requests: [request('a', v4(16))], want: [] },
  'nominal quota in a later tier counts there': {
    config: pool([v4(8), v4(8)], project('own', [{}, v4(8)])),
    requests: [request('guest', v4(8), { priority: 1 }), request('own-1', v4(8), { project: 'own', priority: 5 })],
    want: ['own-1@1', 'guest@0'],
  },
  'a pool that was shrunk under its leases grants nothing until they end': {
    config: pool({ v4: 4, v6e: 4 }),
    requests: [request('a', v4(1)), request('b', { v6e: 4 })],
    leases: [lease('old', v4(8))],
    want: ['b@0'],
  },
  'a lease in a tier that is no more counts in the last one': {
    config: pool(v4(8)),
    requests: [request('a', v4(8))],
    leases: [lease('old', v4(8), { tier: 3 })],
    want: [],
  },
};

describe('quota: decide', () => {
  for (const [name, { config, requests, leases = [], want }] of Object.entries(cases)) {
    it(name, () => {
      const { grants } = decide({ config, requests, leases }, 100);
      assert.deepEqual(
        grants.map(({ id, tier }) => `${id}@${tier}`),
        want,
      );
    });
  }
});

describe('quota: what can never fit', () => {
  const refusals: Record<string, { config: QuotaConfig; units: Record<string, number>; want: string | undefined }> = {
    'everything fits an unlimited pool': { config: UNLIMITED, units: v4(1e9), want: undefined },
    'what fits when the pool is empty fits': { config: pool(v4(16)), units: v4(16), want: undefined },
    'more than the pool is refused': {
      config: pool(v4(16)),
      units: v4(32),
      want: 'can never start: 32 v4 asked, the pool has 16',
    },
    'more than any tier is refused, though all together have it': {
      config: pool([v4(8), v4(16)]),
      units: v4(24),
      want: 'can never start: 24 v4 asked, its largest tier has 16',
    },
    'a type that the pool lacks is refused': {
      config: pool({ v4: 8, v6e: 8 }),
      units: { v5p: 8 },
      want: 'can never start: the pool has no v5p (it has v4, v6e)',
    },
    'two types that lie in different tiers are refused': {
      config: pool([v4(8), { v6e: 8 }]),
      units: { v4: 8, v6e: 8 },
      want: 'can never start: no tier of the pool has all of the types asked for',
    },
  };
  for (const [name, { config, units, want }] of Object.entries(refusals)) {
    it(name, () => {
      const verdict = canEverFit(config, units);
      assert.equal(verdict.fits ? undefined : verdict.message, want);
    });
  }
});

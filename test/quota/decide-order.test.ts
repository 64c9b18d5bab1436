import { lease, pool, project, request } from './builders.js';
import { decideEach, minutesAgo, withRules } from './decision-table.js';

const v4 = (units: number): { v4: number } => ({ v4: units });
const [a, b] = [{ project: 'a' }, { project: 'b' }];

describe('quota: rule 5, the order of service', () => {
  const two = pool(v4(16), project('a', v4(8)), project('b', v4(8)));
  decideEach({
    'inside a project, of one priority, the user who holds least comes first: a new user does not wait for a busy one':
      {
        config: pool(v4(16), project('a', v4(16))),
        requests: [
          request('busy-2', v4(8), { ...a, user: 'busy', submittedAt: 1 }),
          request('new-1', v4(8), { ...a, user: 'new', submittedAt: 9 }),
        ],
        leases: [lease('busy-1', v4(8), { ...a, user: 'busy', startedAt: minutesAgo(30) })],
        grants: ['new-1@0'],
      },
    'and displaces nobody: a second job that runs is left alone': {
      config: pool(v4(16), project('a', v4(16))),
      requests: [request('new-1', v4(8), { ...a, user: 'new' })],
      leases: [
        lease('busy-1', v4(8), { ...a, user: 'busy', startedAt: minutesAgo(30) }),
        lease('busy-2', v4(8), { ...a, user: 'busy', startedAt: minutesAgo(20) }),
      ],
    },
    'who comes within nominal quota by a grant before it starts in the same pass: the lease was pushed out, and left room for less':
      {
        config: withRules(pool(v4(32), project('a', v4(9))), { borrowingLimits: { a: v4(0) } }),
        requests: [request('first', v4(4), { ...a, priority: 1 }), request('small', v4(2), { ...a, priority: 2 })],
        leases: [lease('large', v4(8), { ...a, priority: 2, startedAt: minutesAgo(30) })],
        grants: ['first@0', 'small@0'],
      },
    'users take turns': {
      config: pool(v4(24), project('a', v4(24))),
      requests: [
        request('u-1', v4(8), { ...a, submittedAt: 1 }),
        request('u-2', v4(8), { ...a, submittedAt: 2 }),
        request('v-1', v4(8), { ...a, user: 'v', submittedAt: 3 }),
      ],
      grants: ['u-1@0', 'v-1@0', 'u-2@0'],
    },
    'what a user holds in another project counts': {
      config: pool(v4(24), project('a', v4(8)), project('b', v4(16))),
      requests: [
        request('u-1', v4(8), { ...a, user: 'u', submittedAt: 1 }),
        request('w-1', v4(8), { ...a, user: 'w', submittedAt: 2 }),
      ],
      leases: [lease('u-0', v4(8), { ...b, user: 'u' })],
      grants: ['w-1@0', 'u-1@0'],
    },
    'what a user gets in this pass in another project counts': {
      config: pool(v4(24), project('a', v4(16)), project('b', v4(8))),
      requests: [
        request('b-1', v4(2), { ...b, user: 'u', submittedAt: 9 }),
        request('a-1', v4(16), { ...a, user: 'u', submittedAt: 1 }),
        request('a-2', v4(16), { ...a, user: 'w', submittedAt: 2 }),
      ],
      grants: ['b-1@0', 'a-2@0'],
    },
    'between projects the smallest dominant share comes first': {
      config: pool(v4(16), project('a', v4(8)), project('b', v4(16))),
      requests: [request('a-1', v4(4), { ...a, submittedAt: 1 }), request('b-1', v4(4), { ...b, submittedAt: 2 })],
      grants: ['b-1@0', 'a-1@0'],
    },
    'shares are compared exactly: 3 of 10 and 1 of 10 beside it are no more than 4 of 10': {
      config: pool(v4(40), project('a', v4(10)), project('b', v4(10))),
      requests: [request('a-2', v4(1), { ...a, submittedAt: 1 }), request('b-1', v4(4), { ...b, submittedAt: 2 })],
      leases: [lease('a-1', v4(3), a)],
      grants: ['a-2@0', 'b-1@0'],
    },
    'a project without nominal quota comes last': {
      config: pool(v4(16), project('a', v4(8))),
      requests: [request('none-1', v4(9), { submittedAt: 1 }), request('a-1', v4(16), { ...a, submittedAt: 2 })],
      grants: ['a-1@0'],
    },
    'in-quota demand comes first though its project holds more': {
      config: two,
      requests: [request('a-2', v4(4), { ...a, submittedAt: 9 }), request('b-1', v4(12), { ...b, submittedAt: 1 })],
      leases: [lease('a-1', v4(4), a)],
      grants: ['a-2@0'],
    },
  });
});

describe('quota: rule 4, borrowing and lending limits', () => {
  const three = pool(v4(16), project('a', v4(8)), project('b', v4(8)));
  decideEach({
    'a project borrows no more than its limit': {
      config: withRules(three, { borrowingLimits: { a: v4(2) } }),
      requests: [request('a-2', v4(3), a)],
      leases: [lease('a-1', v4(8), a)],
    },
    'what it borrows already counts': {
      config: withRules(three, { borrowingLimits: { a: v4(4) } }),
      requests: [request('a-3', v4(2), a)],
      leases: [lease('a-1', v4(8), a), lease('a-2', v4(3), a)],
    },
    'up to the limit it borrows': {
      config: withRules(three, { borrowingLimits: { a: v4(4) } }),
      requests: [request('a-3', v4(1), a)],
      leases: [lease('a-1', v4(8), a), lease('a-2', v4(3), a)],
      grants: ['a-3@0'],
    },
    'a lender keeps what it does not lend': {
      config: withRules(three, { lendingLimits: { b: v4(2) } }),
      requests: [request('a-2', v4(3), a)],
      leases: [lease('a-1', v4(8), a)],
    },
    'and lends up to its limit': {
      config: withRules(three, { lendingLimits: { b: v4(2) } }),
      requests: [request('a-2', v4(2), a)],
      leases: [lease('a-1', v4(8), a)],
      grants: ['a-2@0'],
    },
    'what a lender uses itself need not stay free': {
      config: withRules(three, { lendingLimits: { b: v4(2) } }),
      requests: [request('a-2', v4(2), a)],
      leases: [lease('a-1', v4(8), a), lease('b-1', v4(6), b)],
      grants: ['a-2@0'],
    },
    'limits do not stand against in-quota demand': {
      config: withRules(three, { lendingLimits: { b: v4(0) }, borrowingLimits: { a: v4(0) } }),
      requests: [request('a-1', v4(8), a)],
      grants: ['a-1@0'],
    },
    'a spot job starts in a tier of spot chips only, and one that names no pricing in any': {
      config: withRules(pool([v4(8), v4(8)]), { tiers: [{ pricing: 'ondemand' }, { pricing: 'spot' }] }),
      requests: [request('any', v4(8), { submittedAt: 1 }), request('spot', v4(8), { pricing: 'spot' })],
      grants: ['spot@1', 'any@0'],
    },
    'a spot job beside one plain tier starts there': {
      config: pool(v4(8)),
      requests: [request('spot', v4(8), { pricing: 'spot' })],
      grants: ['spot@0'],
    },
    'a negative or fractional demand adds nothing to what is free': {
      config: pool(v4(8)),
      requests: [request('bad', v4(-8)), request('half', v4(0.5)), request('next', v4(9), { submittedAt: 1 })],
    },
  });
});

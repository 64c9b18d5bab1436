import { pool, project, lease, request } from '../builders.js';
import { decideEach, minutesAgo, withRules } from '../decision-table.js';
import type { QuotaUnits } from '../../../domain/units.js';

const v4 = (...amounts: readonly number[]): QuotaUnits[] => amounts.map((units) => ({ v4: units }));
/** A lease that is old enough to be preempted if it borrows; the first of a project counts before the second. */
const held = (id: string, units: number, tier: number, of: string, ago = 60) =>
  lease(id, { v4: units }, { tier, project: of, startedAt: minutesAgo(ago) });
const asks = (units: number, of: string, more: object = {}) => request('ask', { v4: units }, { project: of, ...more });

const HALVES = pool(v4(16, 16), project('p1', v4(8, 8)), project('p2', v4(8, 8)));
const BOUGHT = withRules(HALVES, { tiers: [{ pricing: 'reserved' }, { pricing: 'spot' }] });
const UNEQUAL = pool(v4(16, 16, 8), project('p1', v4(8, 8, 4)), project('p2', v4(4, 4, 2)), project('p3', v4(4, 4, 2)));
const BOTH_LENT = [held('first', 16, 0, 'p1', 90), held('second', 16, 1, 'p1')];

describe('quota, scenario: what a project may use on several tiers is one guarantee (docs/adr/0126)', () => {
  decideEach({
    'two tiers of 16 and two halves: the gang of 16 gets a whole tier back': {
      config: HALVES,
      requests: [asks(16, 'p2')],
      leases: BOTH_LENT,
      preemptions: ['second for ask'],
    },
    'three tiers and unequal shares: 10 of 4 + 4 + 2, though no tier has more than 4 of its own': {
      config: UNEQUAL,
      requests: [asks(10, 'p2')],
      leases: [...BOTH_LENT, held('third', 8, 2, 'p3', 80)],
      preemptions: ['second for ask'],
    },
    'what it holds in another tier counts: 8 more beside 8': {
      config: HALVES,
      requests: [asks(8, 'p2')],
      leases: [held('own', 8, 1, 'p2', 80), held('first', 16, 0, 'p1', 90), held('second', 8, 1, 'p1')],
      preemptions: ['second for ask'],
    },
    'and 16 beside 8 are more than its 16: a borrower preempts nobody': {
      config: HALVES,
      requests: [asks(16, 'p2')],
      leases: [held('own', 8, 1, 'p2', 80), held('first', 16, 0, 'p1', 90), held('second', 8, 1, 'p1')],
    },
    'a project that has its sum in one tier is a borrower in the other, and preempts nobody there': {
      config: HALVES,
      requests: [asks(8, 'p1')],
      leases: [held('whole', 16, 0, 'p1', 90), held('guest', 16, 1, 'none')],
    },
    'nobody is preempted who is within the sum, in a tier where the other has quota too': {
      config: HALVES,
      requests: [asks(8, 'p2')],
      leases: [held('whole', 16, 0, 'p1', 90), held('own', 8, 1, 'p2', 80), held('guest', 8, 1, 'none')],
      preemptions: ['guest for ask'],
    },
    'a job that names a pricing has what its project has in tiers of that pricing: 8, not 16': {
      config: BOUGHT,
      requests: [asks(16, 'p2', { pricing: 'spot' })],
      leases: BOTH_LENT,
    },
    'so 8 of it are in quota, and come back': {
      config: BOUGHT,
      requests: [asks(8, 'p2', { pricing: 'spot' })],
      leases: BOTH_LENT,
      preemptions: ['second for ask'],
    },
    'who names none counts where it leaves most to those who do: 8 of 16 are left to a job for spot': {
      config: BOUGHT,
      requests: [asks(8, 'p2', { pricing: 'spot' })],
      leases: [held('own', 8, 1, 'p2', 90), held('guest', 8, 1, 'none'), held('first', 16, 0, 'p1', 90)],
      preemptions: ['guest for ask'],
    },
    'two winners, a tier each': {
      config: HALVES,
      requests: [request('r1', { v4: 16 }, { project: 'p1' }), request('r2', { v4: 16 }, { project: 'p2' })],
      leases: [held('a', 16, 0, 'none'), held('b', 16, 1, 'none')],
      preemptions: ['a for r1', 'b for r2'],
    },
    'a winner takes no free place away from home before another had its turn, for whom it was freed': {
      config: HALVES,
      requests: [
        request('w1', { v4: 8 }, { project: 'p1', submittedAt: 0 }),
        request('w2', { v4: 8 }, { project: 'p2', submittedAt: 1 }),
      ],
      leases: [
        held('a', 8, 0, 'p2'),
        lease('young', { v4: 8 }, { tier: 0, startedAt: minutesAgo(1) }),
        held('b', 8, 1, 'p1'),
      ],
      memory: { winners: ['w1', 'w2'] },
      grants: ['w2@1'],
    },
    'of several types, each is a sum of its own': {
      config: pool([{ v4: 8, v6e: 8 }, { v4: 8 }], project('p', [{ v4: 4, v6e: 4 }, { v4: 4 }])),
      requests: [request('ask', { v4: 8, v6e: 4 }, { project: 'p' })],
      leases: [held('guest', 8, 0, 'none'), held('other', 8, 1, 'none')],
      preemptions: ['guest for ask'],
    },
    'and 8 of a type of which the project has 4 are borrowed, whatever it has of the other': {
      config: pool([{ v4: 8, v6e: 8 }, { v4: 8 }], project('p', [{ v4: 4, v6e: 4 }, { v4: 4 }])),
      requests: [request('ask', { v4: 8, v6e: 8 }, { project: 'p' })],
      leases: [held('guest', 8, 0, 'none')],
    },
    'its own quota of a tier comes first, so that gangs find tiers that are whole': {
      config: HALVES,
      requests: [asks(4, 'p1')],
      leases: [held('own', 8, 0, 'p1')],
      grants: ['ask@1'],
    },
    'no room beside others within quota: it preempts nobody, and ages as who borrows': {
      config: HALVES,
      requests: [asks(16, 'p2', { submittedAt: minutesAgo(61) })],
      leases: [held('a', 8, 0, 'p1'), held('b', 8, 1, 'p1'), held('guest', 8, 1, 'none'), held('lent', 8, 0, 'none')],
      after: { reservations: [{ id: 'ask', tier: 0, madeAt: minutesAgo(0) }] },
    },
    'and starts from its reservation as within quota: no borrowing limit holds it': {
      config: withRules(HALVES, { borrowingLimits: { p2: { v4: 0 } } }),
      requests: [asks(12, 'p2', { submittedAt: minutesAgo(61) })],
      leases: [held('a', 8, 0, 'p1'), held('b', 8, 1, 'p1')],
      after: { reservations: [{ id: 'ask', tier: 0, madeAt: minutesAgo(0) }] },
    },
    'what another does not lend in a tier stays free there: its job for spot has it': {
      config: withRules(BOUGHT, {
        tiers: [{ pricing: 'reserved' }, { pricing: 'spot' }],
        lendingLimits: { p2: { v4: 0 } },
      }),
      requests: [asks(16, 'p1')],
      leases: [held('guest', 8, 0, 'none'), held('other', 8, 1, 'none')],
    },
    'but its project has its own quota of a tier there all the same': {
      config: withRules(HALVES, { lendingLimits: { p2: { v4: 0 } } }),
      requests: [asks(8, 'p1')],
      leases: [held('guest', 16, 0, 'none'), held('own', 8, 1, 'p2')],
      grants: ['ask@1'],
    },
    'a better priority of its own project pushes a lease out wherever it is, and only where it goes is one preempted': {
      config: HALVES,
      requests: [asks(16, 'p2', { priority: 1 })],
      leases: [held('whole', 16, 0, 'p1', 90), held('own', 16, 1, 'p2')],
      preemptions: ['own for ask'],
    },
  });
});

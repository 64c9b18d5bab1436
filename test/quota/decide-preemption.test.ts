import { lease, pool, project, request } from './builders.js';
import { decideEach, minutesAgo, withRules } from './decision-table.js';

const v4 = (units: number): { v4: number } => ({ v4: units });
const own = { project: 'own' };
const old = { startedAt: minutesAgo(60) };
/** 16 units, half of them the nominal quota of `own`. */
const halfOwned = pool(v4(16), project('own', v4(8)));

describe('quota: rule 3, nominal and borrowed', () => {
  decideEach({
    'a lease of the same project that the request makes borrowed is its victim': {
      config: pool(v4(8), project('own', v4(8))),
      requests: [request('urgent', v4(8), { ...own, priority: 1 })],
      leases: [lease('slow', v4(8), { ...own, ...old, priority: 4 })],
      preemptions: ['slow for urgent'],
    },
    'a lease of the same priority that started before is not': {
      config: pool(v4(8), project('own', v4(8))),
      requests: [request('a', v4(8), own)],
      leases: [lease('b', v4(8), { ...own, ...old })],
    },
    'what was granted in the same millisecond keeps its place, whatever its id': {
      config: withRules(pool(v4(8), project('own', v4(8))), { minRuntimeMs: 0 }),
      requests: [request('a', v4(8), own)],
      leases: [lease('b', v4(8), { ...own, startedAt: minutesAgo(0) })],
    },
    'a lease that drains lies on nothing: its project waits for those chips, in quota, and evicts nobody': {
      config: pool(v4(20), project('own', v4(8))),
      requests: [request('next', v4(8), own), request('small', v4(4))],
      leases: [lease('done', v4(8), { ...own, ...old, state: 'draining' }), lease('guest', v4(8), old)],
    },
    'a large borrowed job of high priority goes before a small one that lies on nominal quota': {
      config: pool(v4(16), project('own', v4(4)), project('big', v4(4))),
      requests: [request('small', v4(4), { ...own, priority: 5 })],
      leases: [
        lease('large', v4(12), { project: 'big', ...old, priority: 1 }),
        lease('other', v4(4), { project: 'big', ...old, priority: 5 }),
      ],
      preemptions: ['large for small'],
    },
    'demand of two types is in quota only where it lies on nominal quota in both': {
      config: pool({ v4: 8, v6e: 8 }, project('own', v4(8))),
      requests: [request('both', { v4: 4, v6e: 4 }, own)],
      leases: [lease('guest', { v4: 8, v6e: 8 }, old)],
    },
  });
});

describe('quota: rule 4, what is done for in-quota demand before anybody is evicted', () => {
  const tiers = pool([v4(8), v4(8)], project('own', [v4(8), {}]));
  decideEach({
    'a free place in another tier is used': {
      config: tiers,
      requests: [request('a', v4(8), own)],
      leases: [lease('guest', v4(8), old)],
      grants: ['a@1'],
    },
    'whatever the borrowing limit: its quota covers it there too': {
      config: withRules(tiers, { borrowingLimits: { own: v4(4) } }),
      requests: [request('a', v4(8), own)],
      leases: [lease('guest', v4(8), old)],
      grants: ['a@1'],
    },
    'not where the tier has another pricing': {
      config: withRules(tiers, { tiers: [{}, { pricing: 'spot' }] }),
      requests: [request('a', v4(8), { ...own, pricing: 'ondemand' })],
      leases: [lease('guest', v4(8), old)],
      preemptions: ['guest for a'],
    },
    'chips that drain will do': {
      config: halfOwned,
      requests: [request('a', v4(8), own)],
      leases: [lease('going', v4(8), { state: 'draining' }), lease('guest', v4(8), old)],
    },
  });
});

describe('quota: rule 6, victims', () => {
  const guests = pool(v4(16), project('own', v4(16)));
  const asked = [request('a', v4(8), own)];
  decideEach({
    'a borrower preempts nobody': {
      config: halfOwned,
      requests: [request('greedy', v4(16), { ...own, priority: 1 })],
      leases: [lease('guest', v4(8), { ...old, priority: 5 })],
    },
    'the lowest priority goes first': {
      config: guests,
      requests: asked,
      leases: [lease('g1', v4(8), { ...old, priority: 5 }), lease('g2', v4(8), { startedAt: minutesAgo(20) })],
      preemptions: ['g1 for a'],
    },
    'of one priority, the latest start': {
      config: guests,
      requests: asked,
      leases: [lease('g1', v4(8), old), lease('g2', v4(8), { startedAt: minutesAgo(20) })],
      preemptions: ['g2 for a'],
    },
    'of one start, the id': {
      config: guests,
      requests: asked,
      leases: [lease('g2', v4(8), old), lease('g1', v4(8), old)],
      preemptions: ['g1 for a'],
    },
    'whoever turns out not to be needed stays': {
      config: guests,
      requests: asked,
      leases: [lease('small', v4(2), { ...old, priority: 5 }), lease('large', v4(14), old)],
      preemptions: ['large for a'],
    },
    'an asking lease goes before all that have chips': {
      config: guests,
      requests: asked,
      leases: [
        lease('new', v4(8), { startedAt: minutesAgo(1), state: 'asking', priority: 1 }),
        lease('g2', v4(8), { ...old, priority: 5 }),
      ],
      preemptions: ['new for a'],
    },
    'then one that is parked': {
      config: guests,
      requests: asked,
      leases: [
        lease('paused', v4(8), { startedAt: minutesAgo(1), state: 'parked', priority: 1 }),
        lease('g2', v4(8), { ...old, priority: 5 }),
      ],
      preemptions: ['paused for a (parked)'],
    },
    'an asking lease goes before one that is parked, whatever their priorities and starts': {
      config: guests,
      requests: asked,
      leases: [
        lease('paused', v4(8), { startedAt: minutesAgo(1), state: 'parked', priority: 5 }),
        lease('asks', v4(8), { startedAt: minutesAgo(5), state: 'asking', priority: 1 }),
      ],
      preemptions: ['asks for a'],
    },
    'minimum runtime protects the young, and the chips that are there are kept for the request': {
      config: guests,
      requests: [request('a', v4(12), own), request('small', v4(4))],
      leases: [lease('young', v4(12), { startedAt: minutesAgo(4) })],
      nextIn: 6,
    },
    'a request that keeps what is there keeps no more: the next one has only its own units to find': {
      config: pool(v4(20), project('own', v4(12)), project('other', v4(4))),
      requests: [
        request('first', v4(12), { ...own, submittedAt: 1 }),
        request('next', v4(4), { project: 'other', submittedAt: 2 }),
      ],
      leases: [lease('young', v4(12), { startedAt: minutesAgo(4) }), lease('g1', v4(4), old)],
      preemptions: ['g1 for next'],
    },
    'it counts the time that chips were held, not since the start': {
      config: guests,
      requests: asked,
      leases: [lease('g1', v4(16), { ...old, heldMs: 9 * 60_000 })],
      nextIn: 1,
    },
    'it counts over the whole lease: one that the provider preempts again and again is not protected for ever': {
      config: withRules(guests, { minRuntimeMs: 60 * 60_000 }),
      requests: asked,
      leases: [lease('g1', v4(16), { startedAt: minutesAgo(90), heldMs: 60 * 60_000 })],
      preemptions: ['g1 for a'],
    },
    'an asking lease that started from a reservation keeps its first asking timeout': {
      config: guests,
      requests: asked,
      leases: [lease('g1', v4(16), { startedAt: minutesAgo(5), state: 'asking', isFromReservation: true })],
      nextIn: 10,
    },
    'in a pool that was shrunk the victims cover what is too much, too': {
      config: guests,
      requests: asked,
      leases: [
        lease('g1', v4(8), { ...old, priority: 5 }),
        lease('g2', v4(8), { ...old, priority: 4 }),
        lease('g3', v4(8), { ...old, priority: 3 }),
      ],
      preemptions: ['g1 for a', 'g2 for a'],
    },
  });
});

describe('quota: rule 7, drain before start', () => {
  decideEach({
    'chips of victims are not granted before they are free, and nobody else is evicted meanwhile': {
      config: halfOwned,
      requests: [request('a', v4(8), own)],
      leases: [lease('g1', v4(8), { ...old, state: 'draining' }), lease('g2', v4(8), old)],
      memory: { winners: ['a'] },
      after: { winners: ['a'] },
    },
    'who had somebody preempted is remembered': {
      config: halfOwned,
      requests: [request('a', v4(8), own)],
      leases: [lease('guest', v4(16), old)],
      preemptions: ['guest for a'],
      after: { winners: ['a'] },
    },
    'chips that were freed for a request are not collected by a reservation': {
      config: halfOwned,
      requests: [request('a', v4(8), own), request('gang', v4(16), { submittedAt: minutesAgo(120) })],
      leases: [lease('g2', v4(8), old)],
      memory: { winners: ['a'], reservations: [{ id: 'gang', tier: 0, madeAt: minutesAgo(30) }] },
      grants: ['a@0'],
      after: { winners: [] },
    },
    'nor does in-quota demand of another project take them, though it comes first in the order': {
      config: pool(v4(16), project('own', v4(8)), project('other', v4(8))),
      requests: [request('a', v4(8), { ...own, submittedAt: 5 }), request('b', v4(2), { project: 'other' })],
      leases: [lease('guest', v4(8), { startedAt: minutesAgo(1) })],
      memory: { winners: ['a'] },
      grants: ['a@0'],
    },
    'who had somebody preempted waits for those chips, and takes no free place of another tier meanwhile': {
      config: pool([v4(8), v4(8)], project('own', [{}, v4(8)])),
      requests: [request('a', v4(8), own)],
      leases: [lease('guest', v4(8), { ...old, tier: 1, state: 'draining' })],
      memory: { winners: ['a'] },
      after: { winners: ['a'] },
    },
    'who had nobody preempted takes the free place': {
      config: pool([v4(8), v4(8)], project('own', [{}, v4(8)])),
      requests: [request('a', v4(8), own)],
      leases: [lease('guest', v4(8), { ...old, tier: 1, state: 'draining' })],
      grants: ['a@0'],
    },
    'best effort does not start on chips that wait for in-quota demand': {
      config: pool(v4(24), project('own', v4(16))),
      requests: [request('a', v4(16), own), request('small', v4(1))],
      leases: [lease('going', v4(8), { state: 'draining' }), lease('g2', v4(8), old)],
    },
    'rule 10: a frozen pool grants nothing and tells nobody to go': {
      config: halfOwned,
      requests: [request('a', v4(8), own), request('b', v4(1))],
      leases: [lease('guest', v4(12), old), lease('asks', v4(1), { ...old, state: 'asking' })],
      isFrozen: true,
    },
  });
});

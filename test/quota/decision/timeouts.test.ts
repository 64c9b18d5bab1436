import assert from 'node:assert/strict';
import { decide } from '../../../quota/decide.js';
import { lease, pool, project, request } from '../builders.js';
import { decideEach, minutesAgo, NOW, withRules } from '../decision-table.js';

const v4 = (units: number): { v4: number } => ({ v4: units });
const asks = (id: string, units: Record<string, number>, minutes: number, more = {}) =>
  lease(id, units, { startedAt: minutesAgo(minutes), state: 'asking', ...more });

describe('quota: rule 11, which asking leases are returned, and for whom', () => {
  decideEach({
    'the one that has asked longest first, whatever the order of the input': {
      config: pool(v4(12)),
      requests: [request('next', v4(12))],
      leases: [asks('a', v4(4), 20), asks('b', v4(4), 30), asks('c', v4(4), 25)],
      preemptions: ['b for next (asking)', 'c for next (asking)', 'a for next (asking)'],
    },
    'of those that have asked equally long, the first id first': {
      config: pool(v4(12)),
      requests: [request('next', v4(12))],
      leases: [asks('c', v4(4), 20), asks('a', v4(4), 20), asks('b', v4(4), 20)],
      preemptions: ['a for next (asking)', 'b for next (asking)', 'c for next (asking)'],
    },
    'at the end of the timeout, not after it': {
      config: pool(v4(8)),
      requests: [request('next', v4(8))],
      leases: [asks('a', v4(8), 15)],
      preemptions: ['a for next (asking)'],
    },
    'the timeout counts from when it lost its chips': {
      config: pool(v4(8)),
      requests: [request('next', v4(8))],
      leases: [asks('a', v4(8), 90, { askingSince: minutesAgo(10) })],
      nextIn: 5,
    },
    'for the first in time who could use its chips': {
      config: pool({ v4: 8, v6e: 8 }),
      requests: [
        request('other', { v6e: 8 }, { submittedAt: 1 }),
        request('late', v4(8), { submittedAt: 3 }),
        request('next', v4(8), { submittedAt: 2 }),
      ],
      leases: [asks('a', v4(8), 20), lease('b', { v6e: 8 })],
      preemptions: ['a for next (asking)'],
    },
    'one type in common is enough': {
      config: pool({ v4: 8, v6e: 8 }),
      requests: [request('next', { v4: 4, v6e: 8 })],
      leases: [asks('a', v4(8), 20), lease('b', { v6e: 8 })],
      preemptions: ['a for next (asking)'],
    },
    'not for a later lease of the same job': {
      config: pool(v4(8)),
      requests: [request('job/run/12', v4(8))],
      leases: [asks('job/run/3', v4(8), 20)],
    },
    'but for a job whose id only begins like it': {
      config: pool(v4(8)),
      requests: [request('job/4/1', v4(8))],
      leases: [asks('job/1/1', v4(8), 20)],
      preemptions: ['job/1/1 for job/4/1 (asking)'],
    },
    'not for a job that may not use its tier': {
      config: withRules(pool([v4(8), v4(8)]), { tiers: [{ pricing: 'spot' }, {}] }),
      requests: [request('next', v4(8), { pricing: 'ondemand' })],
      leases: [asks('a', v4(8), 20), lease('b', v4(8), { tier: 1 })],
    },
    'one of a tier that the pool no longer has lies in the last': {
      config: withRules(pool([v4(8), v4(8)]), { tiers: [{ pricing: 'spot' }, {}] }),
      requests: [request('next', v4(8), { pricing: 'ondemand' })],
      leases: [asks('a', v4(8), 20, { tier: 7 }), lease('b', v4(8))],
      preemptions: ['a for next (asking)'],
    },
    'a lease that has its chips is not returned': {
      config: pool(v4(8)),
      requests: [request('next', v4(8))],
      leases: [lease('a', v4(8), { startedAt: minutesAgo(500) })],
    },
  });
});

describe('quota: when to look again', () => {
  const nextOf = (pool_: Parameters<typeof decide>[0]): number | undefined => decide(pool_, NOW).nextAt;

  it('never, if nobody waits', () => {
    assert.equal(nextOf({ config: pool(v4(8)), requests: [], leases: [asks('a', v4(8), 5)] }), undefined);
  });
  it('at the earliest of all times, whatever the order of the input', () => {
    const requests = [request('next', v4(8), { submittedAt: minutesAgo(1) })];
    const leases = [asks('a', v4(4), 10), asks('b', v4(2), 13), asks('c', v4(2), 12)];
    for (const each of [leases, leases.toReversed()])
      assert.equal(nextOf({ config: pool(v4(8)), requests, leases: each }), minutesAgo(-2));
  });
  it('when the aging of each who waits is over, but of nobody who needs no reservation', () => {
    const waits = (id: string, minutes: number, more = {}) =>
      request(id, v4(8), { submittedAt: minutesAgo(minutes), ...more });
    const leases = [lease('old', v4(8), { startedAt: minutesAgo(30), project: 'own' })];
    assert.equal(nextOf({ config: pool(v4(8)), requests: [waits('a', 20), waits('b', 30)], leases }), minutesAgo(-30));
    const config = pool(v4(16), project('own', v4(16)));
    const young = [lease('young', v4(16), { startedAt: minutesAgo(4) })];
    const next = nextOf({ config, requests: [waits('a', 59, { project: 'own' })], leases: young });
    assert.equal(next, minutesAgo(-6), 'it waits for the minimum runtime, not for its aging');
  });
  it('not at the end of a minimum runtime while nobody waits in quota', () => {
    const leases = [lease('young', v4(8), { startedAt: minutesAgo(4) })];
    const requests = [request('a', v4(8), { submittedAt: minutesAgo(20) })];
    assert.equal(nextOf({ config: pool(v4(8)), requests, leases }), minutesAgo(-40));
  });
});

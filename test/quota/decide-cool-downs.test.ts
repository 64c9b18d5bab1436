import assert from 'node:assert/strict';
import { afterChips } from '../../quota/decision/cool-downs.js';
import { NO_MEMORY } from '../../quota/quota-config.js';
import type { CoolDown } from '../../quota/quota-config.js';
import { lease, pool, project, request } from './builders.js';
import { decideEach, MINUTE, minutesAgo, NOW } from './decision-table.js';

const v4 = (units: number): { v4: number } => ({ v4: units });
const dry = { zones: ['dry'] };
const asks = lease('asks', v4(8), { startedAt: minutesAgo(20), state: 'asking', ...dry, zone: 'dry' });
const coolDown = (failures: number, minutes: number, zone = 'dry'): CoolDown => ({
  type: 'v4',
  tier: 0,
  zone,
  failures,
  until: NOW + minutes * MINUTE,
});

describe('quota: rule 11, a lease that gets no chips comes back', () => {
  decideEach({
    'when its time is up and somebody else waits for its chips; its place cools down': {
      config: pool(v4(8)),
      requests: [request('next', v4(8), { zones: ['wet'] })],
      leases: [asks],
      preemptions: ['asks for next (asking)'],
      after: { coolDowns: [coolDown(1, 15)] },
    },
    'also one that lies on nominal quota': {
      config: pool(v4(8), project('own', v4(8))),
      requests: [request('next', v4(8), { zones: ['wet'] })],
      leases: [{ ...asks, project: 'own' }],
      preemptions: ['asks for next (asking)'],
    },
    'of a tier that the pool no longer has, in the last': {
      config: pool(v4(8)),
      requests: [request('next', v4(8), { zones: ['wet'] })],
      leases: [{ ...asks, tier: 7 }],
      preemptions: ['asks for next (asking)'],
      after: { coolDowns: [coolDown(1, 15)] },
    },
    'not while nobody waits': { config: pool(v4(8)), requests: [], leases: [asks], after: { coolDowns: [] } },
    'not for one who starts without its chips': {
      config: pool(v4(16)),
      requests: [request('next', v4(8))],
      leases: [asks],
      grants: ['next@0'],
    },
    'not for one who waits for another type': {
      config: pool({ v4: 8, v6e: 4 }),
      requests: [request('next', { v6e: 8 })],
      leases: [asks],
    },
    'not for one who would ask in vain too': {
      config: pool(v4(8)),
      requests: [request('next', v4(8), dry)],
      leases: [asks],
      memory: { coolDowns: [coolDown(1, 5)] },
      nextIn: 5,
    },
    'not before its time is up': {
      config: pool(v4(8)),
      requests: [request('next', v4(8))],
      leases: [{ ...asks, askingSince: minutesAgo(14) }],
      nextIn: 1,
    },
    'a place that fails again cools down twice as long': {
      config: pool(v4(8)),
      requests: [request('next', v4(8), { zones: ['wet'] })],
      leases: [asks],
      memory: { coolDowns: [coolDown(2, -30)] },
      preemptions: ['asks for next (asking)'],
      after: { coolDowns: [coolDown(3, 60)] },
    },
    'but not longer than the longest': {
      config: pool(v4(8)),
      requests: [request('next', v4(8), { zones: ['wet'] })],
      leases: [asks],
      memory: { coolDowns: [coolDown(9, -30)] },
      preemptions: ['asks for next (asking)'],
      after: { coolDowns: [coolDown(10, 240)] },
    },
    'leases that asked beside each other failed once': {
      config: pool(v4(16)),
      requests: [request('next', v4(16), { zones: ['wet'] })],
      leases: [asks, { ...asks, id: 'asks-2' }],
      preemptions: ['asks for next (asking)', 'asks-2 for next (asking)'],
      after: { coolDowns: [coolDown(1, 15)] },
    },
    'a failure long ago is forgotten': {
      config: pool(v4(8)),
      requests: [],
      memory: { coolDowns: [coolDown(2, -240), coolDown(1, -239, 'wet')] },
      after: { coolDowns: [coolDown(1, -239, 'wet')] },
    },
    'in-quota demand waits for its chips instead of evicting somebody': {
      config: pool(v4(16), project('own', v4(8))),
      requests: [request('a', v4(8), { project: 'own' })],
      leases: [{ ...asks, project: 'none' }, lease('guest', v4(8), { startedAt: minutesAgo(60) })],
      preemptions: ['asks for a (asking)'],
    },
  });
  it('a place that gave chips is forgiven, others are not', () => {
    const memory = { ...NO_MEMORY, coolDowns: [coolDown(2, 5), coolDown(1, 5, 'wet')] };
    assert.deepEqual(afterChips(memory, asks, 'dry').coolDowns, [coolDown(1, 5, 'wet')]);
    assert.equal(afterChips(memory, asks, 'other'), memory);
  });
});

describe('quota: rule 12, who cools down is served last', () => {
  const cold = { coolDowns: [coolDown(1, 5)] };
  const own = { project: 'own' };
  decideEach({
    'it preempts nobody': {
      config: pool(v4(8), project('own', v4(8))),
      requests: [request('a', v4(8), { ...own, ...dry })],
      leases: [lease('guest', v4(8), { startedAt: minutesAgo(60) })],
      memory: cold,
      nextIn: 5,
    },
    'it does when one of its zones does not cool down': {
      config: pool(v4(8), project('own', v4(8))),
      requests: [request('a', v4(8), { ...own, zones: ['dry', 'wet'] })],
      leases: [lease('guest', v4(8), { startedAt: minutesAgo(60) })],
      memory: cold,
      preemptions: ['guest for a'],
    },
    'it holds no reservation': {
      config: pool(v4(16)),
      requests: [request('gang', v4(16), { submittedAt: minutesAgo(90), ...dry })],
      leases: [lease('old', v4(8))],
      memory: { ...cold, reservations: [{ id: 'gang', tier: 0, madeAt: minutesAgo(3) }] },
      after: { reservations: [] },
    },
    'others start before it, best effort too': {
      config: pool(v4(8), project('own', v4(8))),
      requests: [request('a', v4(8), { ...own, ...dry }), request('other', v4(8), { zones: ['wet'] })],
      memory: cold,
      grants: ['other@0'],
    },
    'it gets no chips of a type that somebody else waits for': {
      config: pool(v4(8)),
      requests: [request('a', v4(4), dry), request('large', v4(8), { zones: ['wet'], submittedAt: 5 })],
      leases: [lease('old', v4(2))],
      memory: cold,
    },
    'it gets chips that nobody asked for': {
      config: pool(v4(8)),
      requests: [request('a', v4(4), dry), request('b', v4(8), dry)],
      leases: [lease('old', v4(2))],
      memory: cold,
      grants: ['a@0'],
    },
    'a cool-down of another tier is none of this one': {
      config: pool([v4(8), v4(8)], project('own', [v4(8), {}])),
      requests: [request('a', v4(8), { ...own, ...dry })],
      memory: cold,
      grants: ['a@1'],
    },
  });
});

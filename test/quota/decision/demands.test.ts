import assert from 'node:assert/strict';
import { coolsDownUntil, runningCoolDowns, withFailures } from '../../../quota/decision/cool-downs.js';
import { afterChips } from '../../../quota/decision/cool-downs.js';
import { DEFAULT_RULES, NO_MEMORY } from '../../../quota/quota-config.js';
import type { CoolDown } from '../../../quota/quota-config.js';
import { lease, pool, project, request } from '../builders.js';
import { decideEach, MINUTE, minutesAgo, NOW } from '../decision-table.js';

const v4 = (units: number): { v4: number } => ({ v4: units });
const cold = (zone: string, minutes: number, more: Partial<CoolDown> = {}): CoolDown => ({
  type: 'v4',
  tier: 0,
  zone,
  failures: 1,
  until: NOW + minutes * MINUTE,
  ...more,
});

describe('quota: rule 2, demands of several types', () => {
  decideEach({
    'start whole: not where one type is no whole number': {
      config: pool({ v4: 8, v6e: 8 }),
      requests: [request('a', { v4: 1, v6e: 0.5 })],
    },
    'not in a tier that is too small in one type': {
      config: pool([
        { v4: 8, v6e: 1 },
        { v4: 8, v6e: 8 },
      ]),
      requests: [request('a', { v4: 1, v6e: 2 })],
      grants: ['a@1'],
    },
    'of which one is 0 ask for the other alone': {
      config: pool({ v4: 8, v6e: 8 }),
      requests: [request('a', { v4: 8, v6e: 0 })],
      leases: [lease('old', { v6e: 8 })],
      grants: ['a@0'],
    },
    'are served beside those of one of their types': {
      config: pool({ v4: 8, v6e: 8 }),
      requests: [request('both', { v4: 4, v6e: 8 }), request('one', v4(4)), request('two', { v6e: 4, v4: 2 })],
      grants: ['both@0', 'one@0'],
    },
  });
});

describe('quota: rule 12, zones of a demand', () => {
  const memory = { coolDowns: [cold('dry', 5)] };
  const config = pool(v4(8), project('own', v4(8)));
  const guest = [lease('guest', v4(8), { startedAt: minutesAgo(60) })];
  const own = { project: 'own' };
  decideEach({
    'two demands that differ in their zones alone are two': {
      config,
      requests: [
        request('a', v4(8), { ...own, zones: ['dry'], submittedAt: 1 }),
        request('b', v4(8), { ...own, zones: ['wet'], submittedAt: 2 }),
      ],
      leases: guest,
      memory,
      preemptions: ['guest for b'],
    },
    'in the second of two zones too': {
      config,
      requests: [
        request('a', v4(8), { ...own, zones: ['dry', 'dry'], submittedAt: 1 }),
        request('b', v4(8), { ...own, zones: ['dry', 'wet'], submittedAt: 2 }),
      ],
      leases: guest,
      memory,
      preemptions: ['guest for b'],
    },
    'in their number too': {
      config,
      requests: [
        request('a', v4(8), { ...own, zones: ['dry'], submittedAt: 1 }),
        request('b', v4(8), { ...own, zones: ['dry', 'wet'], submittedAt: 2 }),
      ],
      leases: guest,
      memory,
      preemptions: ['guest for b'],
    },
    'a demand that names no zone never cools down': {
      config,
      requests: [request('a', v4(8), own)],
      leases: guest,
      memory,
      preemptions: ['guest for a'],
    },
    'one that cools down gets nothing of two types of which somebody waits for one': {
      config: pool({ v4: 8, v6e: 8 }),
      requests: [
        request('a', { v4: 2, v6e: 2 }, { zones: ['dry'] }),
        request('large', { v6e: 8 }, { zones: ['wet'], submittedAt: 5 }),
      ],
      leases: [lease('old', { v6e: 4 })],
      memory,
    },
    'of those that cool down, the ones in quota come first': {
      config: pool(v4(8), project('own', v4(4))),
      requests: [
        request('guest', v4(4), { zones: ['dry'], submittedAt: 1 }),
        request('a', v4(4), { ...own, zones: ['dry'], submittedAt: 2 }),
      ],
      leases: [lease('old', v4(4))],
      memory,
      grants: ['a@0'],
    },
  });
});

describe('quota: rules 11 and 12, until when a place cools down', () => {
  const zones = (...names: readonly string[]) => ({ units: v4(8), zones: names });
  it('while all zones of one of its types do: until the first of them is over', () => {
    const coolDowns = [cold('a', 5), cold('b', 9)];
    assert.equal(coolsDownUntil(coolDowns, zones('a', 'b'), 0), NOW + 5 * MINUTE);
    assert.equal(coolsDownUntil(coolDowns, zones('a', 'b', 'c'), 0), undefined);
    assert.equal(coolsDownUntil(coolDowns, zones('a'), 1), undefined);
    assert.equal(coolsDownUntil(coolDowns, { units: v4(8) }, 0), undefined);
  });
  it('of two types, until the last of them is over', () => {
    const coolDowns = [cold('a', 5), cold('a', 9, { type: 'v6e' })];
    assert.equal(coolsDownUntil(coolDowns, { units: { v4: 1, v6e: 1 }, zones: ['a'] }, 0), NOW + 9 * MINUTE);
  });
  it('to the millisecond', () => {
    const coolDowns = [cold('a', 0), cold('b', 0, { until: NOW + 1 })];
    assert.deepEqual(runningCoolDowns({ ...NO_MEMORY, coolDowns }, NOW), [coolDowns[1]]);
    const failed = lease('l', v4(8), { zone: 'a' });
    assert.equal(withFailures([cold('a', 0)], [failed], DEFAULT_RULES, NOW)[0]?.failures, 2);
    assert.equal(withFailures([cold('a', 1)], [failed], DEFAULT_RULES, NOW)[0]?.failures, 1);
  });
  it('by place, whatever the order of the leases', () => {
    const failed = [
      lease('l', v4(8), { zone: 'b' }),
      lease('m', v4(8), { zone: 'a' }),
      lease('n', v4(8), { zone: 'c' }),
    ];
    for (const each of [failed, failed.toReversed()])
      assert.deepEqual(
        withFailures([], each, DEFAULT_RULES, NOW).map(({ zone }) => zone),
        ['a', 'b', 'c'],
      );
  });
  it('all zones that it may ask in, of a lease that did not say where it asks', () => {
    const failed = lease('l', v4(8), { zones: ['b', 'a'] });
    assert.deepEqual(
      withFailures([], [failed], DEFAULT_RULES, NOW).map(({ zone }) => zone),
      ['a', 'b'],
    );
    assert.deepEqual(withFailures([], [lease('l', v4(8))], DEFAULT_RULES, NOW), []);
  });
  it('where a lease asks, not where else it might have', () => {
    const failed = lease('l', v4(8), { zone: 'b', zones: ['b', 'a'] });
    assert.deepEqual(
      withFailures([], [failed], DEFAULT_RULES, NOW).map(({ zone }) => zone),
      ['b'],
    );
  });
  it('chips forgive a place of their tier, zone and type alone', () => {
    const other = [cold('a', 5, { type: 'v6e' }), cold('a', 5, { tier: 1 }), cold('b', 5)];
    const memory = { ...NO_MEMORY, coolDowns: [cold('a', 5), ...other] };
    assert.deepEqual(afterChips(memory, lease('l', { v4: 8, v6e: 0 }), 'a').coolDowns, other);
  });
});

describe('quota: rule 7, for whom chips drain', () => {
  const own = { project: 'own' };
  const config = pool(v4(16), project('own', v4(16)));
  const ask = (id: string, priority: number, submittedAt: number, more = {}) =>
    request(id, v4(8), { ...own, priority, submittedAt, ...more });
  const guest = [lease('guest', v4(8), { startedAt: minutesAgo(1) })];
  decideEach({
    'whoever of their project has a better priority is served before them': {
      config,
      requests: [ask('won', 3, 1), ask('better', 1, 2)],
      leases: guest,
      memory: { winners: ['won'] },
      grants: ['better@0'],
    },
    'better than the worst of them': {
      config: pool(v4(24), project('own', v4(24))),
      requests: [ask('first', 2, 1), ask('won', 4, 2), ask('between', 3, 3)],
      leases: guest,
      memory: { winners: ['won', 'first'] },
      grants: ['first@0', 'between@0'],
    },
    'who has the same priority and came later is not': {
      config,
      requests: [ask('won', 3, 5), ask('other', 3, 1, { user: 'v' })],
      leases: guest,
      memory: { winners: ['won'] },
      grants: ['won@0'],
    },
    'nor a better priority of another project': {
      config: pool(v4(16), project('own', v4(16)), project('other', v4(8))),
      requests: [ask('won', 3, 5), request('better', v4(8), { project: 'other', priority: 1, submittedAt: 1 })],
      leases: guest,
      memory: { winners: ['won'] },
      grants: ['won@0'],
    },
    'who waits on for chips that drain for it is remembered': {
      config,
      requests: [ask('won', 3, 5)],
      leases: [lease('going', v4(8), { state: 'draining' }), ...guest],
      memory: { winners: ['won'] },
      after: { winners: ['won'] },
    },
    'who waits for draining chips, and had nobody preempted, is not': {
      config,
      requests: [ask('a', 3, 5)],
      leases: [lease('going', v4(8), { state: 'draining' }), ...guest],
      after: { winners: [] },
    },
    'who waits for the protected is remembered only if somebody was preempted for it': {
      config,
      requests: [ask('won', 3, 5), ask('a', 3, 6, { user: 'v' })],
      leases: [lease('young', v4(16), { startedAt: minutesAgo(1) })],
      memory: { winners: ['won'] },
      after: { winners: ['won'] },
    },
  });
});

describe('quota: rule 5, who holds least', () => {
  const asks = (user: string) => request(user, v4(4), { user, submittedAt: user === 'idle' ? 9 : 1 });
  decideEach({
    'the one with the smaller share goes first, though it came later': {
      config: pool({ v4: 16, v6e: 100 }),
      requests: [asks('busy'), asks('idle')],
      leases: [lease('one', v4(12), { user: 'busy' }), lease('two', { v6e: 60 }, { user: 'idle' })],
      grants: ['idle@0'],
    },
    'a lease that drains is not held': {
      config: pool(v4(20)),
      requests: [asks('busy'), asks('idle')],
      leases: [lease('one', v4(8), { user: 'idle', state: 'draining' }), lease('two', v4(8), { user: 'busy' })],
      grants: ['idle@0'],
    },
  });
});

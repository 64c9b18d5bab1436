import assert from 'node:assert/strict';
import { decide } from '../../../quota/decide.js';
import { NO_MEMORY } from '../../../quota/quota-config.js';
import type { QuotaMemory } from '../../../quota/quota-config.js';
import { lease, pool, project, request } from '../builders.js';
import { decideEach, MINUTE, minutesAgo, NOW, withRules } from '../decision-table.js';

const v4 = (units: number): { v4: number } => ({ v4: units });
const own = { project: 'own' };
const held = { startedAt: minutesAgo(5) };
const gang = request('gang', v4(12), { submittedAt: minutesAgo(90) });
const halfOwned = pool(v4(16), project('own', v4(8)));

describe('quota: rule 10, what a frozen pool remembers', () => {
  decideEach({
    'all that it knew of those who wait, with their clocks standing still, and nothing of the others': {
      config: halfOwned,
      requests: [gang, request('a', v4(8), own)],
      leases: [lease('guest', v4(12), held)],
      isFrozen: true,
      memory: {
        reservations: [
          { id: 'gone', tier: 0, madeAt: minutesAgo(3) },
          { id: 'gang', tier: 0, madeAt: minutesAgo(90) },
        ],
        dissolved: { gang: minutesAgo(200), gone: minutesAgo(1) },
        heldBack: { a: { ms: 5 * MINUTE, since: minutesAgo(2) }, gone: { ms: 1 } },
        winners: ['a', 'gone'],
        coolDowns: [
          { type: 'v4', tier: 0, zone: 'over', failures: 1, until: minutesAgo(240) },
          { type: 'v4', tier: 0, zone: 'dry', failures: 1, until: minutesAgo(239) },
        ],
      },
      after: {
        reservations: [{ id: 'gang', tier: 0, madeAt: minutesAgo(90) }],
        dissolved: { gang: minutesAgo(200) },
        heldBack: { a: { ms: 7 * MINUTE } },
        winners: ['a'],
        coolDowns: [{ type: 'v4', tier: 0, zone: 'dry', failures: 1, until: minutesAgo(239) }],
      },
    },
  });
});

describe('quota: the memory does not depend on the order of the input', () => {
  const blocked = [lease('old', { v4: 16, v6e: 16, v5p: 16 }, held)];
  const config = pool({ v4: 16, v6e: 16, v5p: 16 });
  const memoryOf = (memory: Partial<QuotaMemory>, ids: readonly [string, string, string]): QuotaMemory => {
    const requests = ids.map((id, at) => request(id, { [['v4', 'v6e', 'v5p'][at] ?? '']: 12 }, { submittedAt: NOW }));
    return decide({ config, requests, leases: blocked, memory: { ...NO_MEMORY, ...memory } }, NOW).memory;
  };
  const reservation = (id: string, madeAt: number, tier = 0) => ({ id, tier, madeAt });

  it('reservations: the oldest first, then by id', () => {
    const [a, b, c] = [reservation('a', NOW - 1), reservation('b', NOW - 2), reservation('c', NOW - 1)];
    for (const reservations of [
      [a, b, c],
      [c, b, a],
      [b, a, c],
      [a, c, b],
    ])
      assert.deepEqual(memoryOf({ reservations }, ['a', 'b', 'c']).reservations, [b, a, c]);
  });
  it('reservations of one time: the better tier first', () => {
    const requests = [request('z', v4(12), { submittedAt: NOW }), request('a', { v6e: 12 }, { submittedAt: NOW })];
    const leases = [lease('l0', { v4: 16, v6e: 16 }, held), lease('l1', { v4: 16, v6e: 16 }, { ...held, tier: 1 })];
    const [first, last] = [reservation('z', NOW - 1, 0), reservation('a', NOW - 1, 1)];
    const tiers = pool([
      { v4: 16, v6e: 16 },
      { v4: 16, v6e: 16 },
    ]);
    for (const reservations of [
      [first, last],
      [last, first],
    ]) {
      const { memory } = decide({ config: tiers, requests, leases, memory: { ...NO_MEMORY, reservations } }, NOW);
      assert.deepEqual(memory.reservations, [first, last]);
    }
  });
  it('what was dissolved, by id', () => {
    for (const dissolved of [
      { a: 1, c: 2, b: 3 },
      { c: 2, b: 3, a: 1 },
    ])
      assert.deepEqual(Object.entries(memoryOf({ dissolved }, ['c', 'a', 'b']).dissolved), [
        ['a', 1],
        ['b', 3],
        ['c', 2],
      ]);
  });
  it('clocks, by id', () => {
    for (const heldBack of [
      { a: { ms: 1 }, c: { ms: 2 }, b: { ms: 3 } },
      { c: { ms: 2 }, b: { ms: 3 }, a: { ms: 1 } },
    ])
      assert.deepEqual(Object.keys(memoryOf({ heldBack }, ['c', 'a', 'b']).heldBack), ['a', 'b', 'c']);
  });
});

describe('quota: rule 8, who gets the next reservation', () => {
  const full = [lease('old', v4(16), held)];
  const aged = (id: string, minutes: number, more = {}) =>
    request(id, v4(12), { submittedAt: minutesAgo(minutes), ...more });
  const after = (id: string, tier = 0) => ({ reservations: [{ id, tier, madeAt: NOW }] });
  decideEach({
    'of those who waited equally long, the first id': {
      config: pool(v4(16)),
      requests: [aged('b', 90), aged('a', 90), aged('c', 90)],
      leases: full,
      after: after('a'),
    },
    'at the end of the aging time, not after it': {
      config: pool(v4(16)),
      requests: [aged('b', 59), aged('a', 60)],
      leases: full,
      after: after('a'),
    },
    'the aging of one that was dissolved counts from then': {
      config: pool(v4(16)),
      requests: [aged('a', 300), aged('b', 90)],
      leases: full,
      memory: { dissolved: { a: minutesAgo(59) } },
      after: after('b'),
    },
    'a dissolution before it asked for this lease says nothing': {
      config: pool(v4(16)),
      requests: [aged('a', 300, { waitingSince: minutesAgo(61) }), aged('b', 60)],
      leases: full,
      memory: { dissolved: { a: minutesAgo(200) } },
      after: after('a'),
    },
    'each type has its own; a demand of two types has to have both': {
      config: pool({ v4: 16, v6e: 16 }),
      requests: [
        request('v4', v4(12), { submittedAt: minutesAgo(90) }),
        request('both', { v4: 1, v6e: 12 }, { submittedAt: minutesAgo(80) }),
        request('v6e', { v6e: 12 }, { submittedAt: minutesAgo(70) }),
      ],
      leases: [lease('old', { v4: 16, v6e: 16 }, held)],
      after: {
        reservations: [
          { id: 'v4', tier: 0, madeAt: NOW },
          { id: 'v6e', tier: 0, madeAt: NOW },
        ],
      },
    },
    'one whose demand the tier no longer allows loses it': {
      config: withRules(pool(v4(16)), { tiers: [{ pricing: 'spot' }] }),
      requests: [{ ...gang, pricing: 'ondemand' }],
      leases: full,
      memory: { reservations: [{ id: 'gang', tier: 0, madeAt: minutesAgo(30) }] },
      after: { reservations: [], dissolved: {} },
    },
  });
});

describe('quota: rule 8, reservations where a job could ever start within limits', () => {
  const asked = (units: number, more = {}) => [{ ...gang, units: v4(units), ...more }];
  const full = [lease('old', v4(16), held)];
  const made = { reservations: [{ id: 'gang', tier: 0, madeAt: NOW }] };
  const none = { reservations: [] };
  const lending = (limits: Record<string, Record<string, number>>, ...projects: ReturnType<typeof project>[]) =>
    withRules(pool(v4(16), ...projects), { lendingLimits: limits });
  const borrowing = (limit: Record<string, number>) =>
    withRules(pool(v4(16), project('own')), { borrowingLimits: { own: limit } });
  decideEach({
    'as much as its borrowing limit': {
      config: borrowing(v4(12)),
      requests: asked(12, own),
      leases: full,
      after: made,
    },
    'one unit more, none': { config: borrowing(v4(11)), requests: asked(12, own), leases: full, after: none },
    'a type that the borrowing limit does not name is not limited': {
      config: borrowing({ v6e: 0 }),
      requests: asked(12, own),
      leases: full,
      after: made,
    },
    'all but what others never lend': {
      config: lending({ lender: v4(4) }, project('lender', v4(8))),
      requests: asked(12),
      leases: full,
      after: made,
    },
    'not what others never lend': {
      config: lending({ lender: v4(4) }, project('lender', v4(8))),
      requests: asked(13),
      leases: full,
      after: none,
    },
    'others who lend more than they have keep nothing': {
      config: lending({ lender: v4(40) }, project('lender', v4(8))),
      requests: asked(16),
      leases: full,
      after: made,
    },
    'a lender who names another type lends all of this one': {
      config: lending({ lender: { v6e: 0 } }, project('lender', v4(8))),
      requests: asked(16),
      leases: full,
      after: made,
    },
    'a project does not keep its own quota from itself': {
      config: lending({ own: v4(0) }, project('own', v4(8))),
      requests: asked(16, own),
      leases: full,
      after: made,
    },
    'a project that the quota file no longer names keeps nothing': {
      config: lending({ gone: v4(0) }, project('lender', v4(8))),
      requests: asked(16),
      leases: full,
      after: made,
    },
    'in the next tier, where the first could never hold it': {
      config: withRules(pool([v4(16), v4(16)], project('lender', [v4(8), {}])), { lendingLimits: { lender: v4(4) } }),
      requests: asked(16),
      leases: [...full, lease('other', v4(16), { ...held, tier: 1 })],
      after: { reservations: [{ id: 'gang', tier: 1, madeAt: NOW }] },
    },
    'within limits in every type': {
      config: withRules(pool({ v4: 16, v6e: 16 }, project('own')), { borrowingLimits: { own: { v6e: 4 } } }),
      requests: [{ ...gang, ...own, units: { v4: 12, v6e: 5 } }],
      leases: [lease('old', { v4: 16, v6e: 16 }, held)],
      after: none,
    },
  });
});

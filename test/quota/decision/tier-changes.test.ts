import assert from 'node:assert/strict';
import { decide } from '../../../quota/decide.js';
import type { Everywhere, Pool, QuotaLease, QuotaMemory } from '../../../quota/quota-config.js';
import { NO_MEMORY } from '../../../quota/quota-config.js';
import { lease, pool, project, request } from '../builders.js';
import { decideEach, MINUTE, minutesAgo, NOW, withRules } from '../decision-table.js';

const v4 = (units: number): { v4: number } => ({ v4: units });
const zones = ['a', 'b'];
const asks = (id: string, everywhere: Everywhere | undefined, more: Partial<QuotaLease> = {}): QuotaLease =>
  lease(id, v4(8), {
    ...{ startedAt: minutesAgo(20), state: 'asking', zone: 'b', zones },
    ...(everywhere && { everywhere }),
    ...more,
  });
const two = pool([v4(8), v4(8)]);
const bought = (...pricings: readonly ('spot' | 'ondemand')[]) => ({
  tiers: pricings.map((pricing) => ({ pricing })),
});
const cold = (tier: number, zone: string, minutes = 10) => ({
  ...{ type: 'v4', tier, zone, failures: 1 },
  until: NOW + minutes * MINUTE,
});

describe('quota: rule 11, a lease is returned for another tier', () => {
  decideEach({
    'when it has asked in all zones for the timeout, and they cool down': {
      config: two,
      requests: [],
      leases: [asks('j', 'asked')],
      preemptions: ['j for j (tier)'],
      after: { coolDowns: [cold(0, 'a', 15), cold(0, 'b', 15)] },
    },
    'at once where all zones have refused it': {
      config: two,
      requests: [],
      leases: [asks('j', 'refused', { startedAt: minutesAgo(0) })],
      preemptions: ['j for j (tier)'],
    },
    'not before the timeout, and the pool wakes for it': {
      config: two,
      requests: [],
      leases: [asks('j', 'asked', { startedAt: minutesAgo(10) })],
      nextIn: 5,
    },
    'not while a zone was not asked': { config: two, requests: [], leases: [asks('j', undefined)] },
    'not where it names no zones': {
      config: two,
      requests: [],
      leases: [lease('j', v4(8), { startedAt: minutesAgo(20), state: 'asking' })],
    },
    'not where its pricing allows no other': {
      config: withRules(two, bought('ondemand', 'spot')),
      requests: [],
      leases: [asks('j', 'refused', { pricing: 'ondemand' })],
    },
    'where it names no pricing, into a tier of any': {
      config: withRules(two, bought('ondemand', 'spot')),
      requests: [],
      leases: [asks('j', 'refused')],
      preemptions: ['j for j (tier)'],
    },
    'from the last tier to the first': {
      config: two,
      requests: [],
      leases: [asks('j', 'refused', { tier: 1 })],
      preemptions: ['j for j (tier)'],
    },
    'not into a tier without room': {
      config: two,
      requests: [],
      leases: [asks('j', 'refused'), lease('k', v4(1), { tier: 1 })],
    },
    'not into one whose chips are on their way to nobody yet': {
      config: two,
      requests: [],
      leases: [asks('j', 'refused'), lease('k', v4(8), { tier: 1, state: 'draining' })],
    },
    'not into one where all of its zones cool down; the pool wakes when that is over': {
      config: two,
      requests: [],
      leases: [asks('j', 'refused')],
      memory: { coolDowns: [cold(1, 'a', 10), cold(1, 'b', 30)] },
      nextIn: 10,
    },
    'into one where a zone has given chips': {
      config: two,
      requests: [],
      leases: [asks('j', 'refused')],
      memory: { coolDowns: [cold(1, 'a')] },
      preemptions: ['j for j (tier)'],
    },
    'not into one that its project may not borrow in': {
      config: withRules(pool([v4(8), v4(8)], project('p'), project('q', v4(16))), {
        borrowingLimits: { p: v4(4) },
      }),
      requests: [],
      leases: [asks('j', 'refused', { project: 'p' })],
    },
    'but its own chips do not count against its project': {
      config: withRules(pool([v4(8), v4(8)], project('p'), project('q', v4(16))), {
        borrowingLimits: { p: v4(8) },
      }),
      requests: [],
      leases: [asks('j', 'refused', { project: 'p' })],
      preemptions: ['j for j (tier)'],
    },
    'one at a time, the one that has asked longest': {
      config: pool([v4(16), v4(8)]),
      requests: [],
      leases: [asks('j', 'refused', { startedAt: minutesAgo(5) }), asks('k', 'refused')],
      preemptions: ['k for k (tier)'],
    },
    'for another job first': {
      config: two,
      requests: [request('next', v4(8), { zones: ['c'] })],
      leases: [asks('j', 'asked'), lease('k', v4(8), { tier: 1 })],
      preemptions: ['j for next (asking)'],
    },
    'not one that has its chips, is paused, or goes': {
      config: pool([v4(24), v4(8)]),
      requests: [],
      leases: (['held', 'parked', 'draining'] as const).map((state) => asks(state, 'refused', { state })),
    },
  });

  // A cloud of its own, in which some tiers have chips: shares nothing with the decision.
  it('a lone job comes to its chips if any tier that it may use has them, and is not moved without a pause for ever', () => {
    for (const haveChips of upToFour)
      for (const answer of ['asked', 'refused'] as const) {
        const played = play(haveChips, answer);
        if (haveChips.includes(true)) {
          assert.ok(played.tier !== undefined && haveChips[played.tier], JSON.stringify(played));
          // Each tier once, for its timeout.
          assert.ok(played.minutes <= haveChips.length * 16, JSON.stringify(played));
        } else {
          assert.equal(played.tier, undefined);
          // A day, cool-downs of 15 minutes up to 4 hours.
          assert.ok(played.moves <= haveChips.length * 8, JSON.stringify(played));
        }
      }
  });
});

/** Which of a job's tiers have chips: one tier to three in every way, and of four none, or the last alone. */
const upToFour = [
  ...[1, 2, 3].flatMap((tiers) =>
    Array.from({ length: 2 ** tiers }, (_, bits) =>
      Array.from({ length: tiers }, (__, tier) => ((bits >> tier) & 1) === 1),
    ),
  ),
  ...[false, true].map((last) => [false, false, false, last]),
];

interface Played {
  readonly tier: number | undefined;
  readonly minutes: number;
  readonly moves: number;
}

/** Minutes of one job in an empty pool; its zones answer within a minute. */
function play(haveChips: readonly boolean[], everywhere: Everywhere): Played {
  const config = pool(haveChips.map(() => v4(8)));
  const asked = request('j', v4(8), { zones, submittedAt: NOW });
  let memory: QuotaMemory = NO_MEMORY;
  let held: QuotaLease | undefined;
  let moves = 0;
  for (let minutes = 0; minutes < 24 * 60; minutes += 1) {
    const now = NOW + minutes * MINUTE;
    if (held !== undefined && haveChips[held.tier]) return { tier: held.tier, minutes, moves };
    const leases = held === undefined ? [] : [{ ...held, everywhere }];
    const state: Pool = { config, requests: held === undefined ? [asked] : [], leases, memory };
    const decision = decide(state, now);
    memory = decision.memory;
    const [granted] = decision.grants;
    if (granted !== undefined) held = { ...asked, tier: granted.tier, startedAt: now, state: 'asking' };
    else if (decision.preemptions.length > 0) {
      moves += 1;
      held = undefined;
    }
  }
  return { tier: undefined, minutes: 24 * 60, moves };
}

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decide } from '../../../quota/decide.js';
import type { QuotaProject } from '../../../quota/quota-config.js';
import { Simulation } from '../simulation.js';
import { holds } from './check.js';
import { CLAIMS } from './claims.js';
import { count, typesOf } from './oracle.js';
import {
  canEverRun,
  factsOf,
  InQuotaClock,
  isDead,
  MINUTE,
  mostLeased,
  RULES,
  rowOfGangs,
  simulationOf,
  START,
  trace,
} from './traces.js';

const HOUR = 60 * MINUTE;
const BLOWS = { withBlows: true, withDeadZone: true };

describe('quota SAFETY: over time', () => {
  it('rules 1, 2, 3, 6, 8, 10: every decision of a long story keeps them', () => {
    holds(
      trace(BLOWS),
      (drawn) => {
        const simulation = simulationOf(drawn);
        let preempted = 0;
        simulation.observe((instant) => {
          for (const claim of Object.values(CLAIMS)) claim(factsOf(instant), instant.decision, instant.at);
          preempted += instant.decision.preemptions.length;
        });
        simulation.run(START + 12 * HOUR);
        return preempted > 0;
      },
      { interesting: 0.2, share: 0.15 },
    );
  });

  it('rule 7: from its grant until its slices are seen gone a lease counts, and all of them fit at any time', () => {
    holds(
      trace(BLOWS),
      (drawn) => {
        const simulation = simulationOf(drawn).run(START + 12 * HOUR);
        drawn.config.tiers.forEach((units, tier) => {
          for (const type of typesOf(units)) {
            const most = mostLeased(simulation, tier, type);
            assert.ok(most <= count(units, type), `${most} ${type} of ${count(units, type)} in tier ${tier}`);
          }
        });
        return simulation.stories().some(({ stays }) => stays.some(({ cause }) => cause === 'quota'));
      },
      { interesting: 0.15, share: 0.15 },
    );
  });
});

describe('quota LIVENESS', () => {
  it('rule 7: from any demand that stands still, decisions come to an end', () => {
    holds(
      trace({ isEndless: true }),
      (drawn) => {
        const simulation = simulationOf(drawn);
        let lastAt = START;
        let preempted = 0;
        simulation.observe(({ at, decision: { grants, preemptions } }) => {
          preempted += preemptions.length;
          if (grants.length + preemptions.length > 0) lastAt = at;
        });
        simulation.run(START + 12 * HOUR);
        assert.ok(lastAt < START + 6 * HOUR, `it still moves after ${(lastAt - START) / HOUR} h`);
        return preempted > 0;
      },
      { interesting: 0.2, share: 0.15 },
    );
  });

  for (const [where, stories] of Object.entries({
    'in any pool': trace({ withBlows: true }),
    'behind a row of gangs': rowOfGangs(),
  })) {
    it(`rule 8: in-quota demand is served within minimum runtime, grace, drain, guarantee delay and asking timeout, ${where}`, () => {
      const { minRuntimeMs, maxGuaranteeDelayMs, askingTimeoutMs } = RULES;
      holds(
        stories,
        (drawn) => {
          const simulation = simulationOf(drawn);
          const clock = new InQuotaClock();
          simulation.observe((instant) => clock.note(instant));
          simulation.run(START + 12 * HOUR);
          const { graceMs, drainMs } = drawn.world;
          const bound = minRuntimeMs + graceMs + drainMs + maxGuaranteeDelayMs + askingTimeoutMs;
          assert.ok(clock.longestMs <= bound, `${clock.longest}: ${clock.longestMs / MINUTE} of ${bound / MINUTE} min`);
          return clock.longestMs > 0;
        },
        { interesting: 0.14, share: 0.15 },
      );
    });
  }

  it('rule 8: a gang whose chips come free within the guarantee delay of its reservation starts', () => {
    const { agingMs, maxGuaranteeDelayMs } = RULES;
    const small = fc.record({
      v4: fc.constantFrom(1, 2, 4),
      work: fc.integer({ min: 1, max: 14 }),
      user: fc.constantFrom('u', 'v'),
    });
    const owner: QuotaProject = { name: 'a', shares: {}, members: [], nominal: [{ v4: 0 }] };
    holds(
      fc.record({ gang: fc.integer({ min: 8, max: 16 }), jobs: fc.array(small, { minLength: 150, maxLength: 200 }) }),
      ({ gang, jobs }) => {
        const config = { kind: 'limited' as const, tiers: [{ v4: 16 }], projects: [owner], rules: RULES };
        const drainMs = 2 * MINUTE;
        const simulation = new Simulation(decide, config, { graceMs: 0, drainMs, chipsAfterMs: () => MINUTE });
        const demand = { project: 'none', priority: 3 };
        // More of them come than the pool can hold, all the time, so that nothing is ever free for the gang by itself.
        jobs.forEach(({ v4, work, user }, index) => {
          const submitAt = START + index * MINUTE;
          simulation.submit({
            ...demand,
            id: `s${index}`,
            user,
            priority: 1,
            submitAt,
            units: { v4 },
            workMs: work * MINUTE,
          });
        });
        const submitAt = START + 20 * MINUTE;
        const story = simulation.submit({
          ...demand,
          id: 'gang',
          user: 'w',
          submitAt,
          units: { v4: gang },
          workMs: MINUTE,
        });
        let reservedAt = Number.POSITIVE_INFINITY;
        simulation.observe(({ decision: { memory } }) => {
          for (const { id, madeAt } of memory.reservations)
            if (id === 'gang/r/1') reservedAt = Math.min(reservedAt, madeAt);
        });
        simulation.run(START + 12 * HOUR);
        const grantedAt = story.stays[0]?.grantedAt ?? Number.POSITIVE_INFINITY;
        // Small jobs that waited longer may have their reservations before it.
        assert.ok(reservedAt >= submitAt + agingMs, 'reserved too early');
        assert.ok(
          grantedAt - reservedAt <= maxGuaranteeDelayMs,
          `waited ${(grantedAt - reservedAt) / MINUTE} min for it`,
        );
        return story.stays[0]?.isFromReservation === true;
      },
      { interesting: 0.5, share: 0.03 },
    );
  });

  it('once nobody comes any more, every job that can run ends, and no lease is left', () => {
    holds(
      trace(BLOWS),
      (drawn) => {
        const simulation = simulationOf(drawn).run(START + 48 * HOUR);
        for (const { job, outcome } of simulation.stories()) {
          if (canEverRun(drawn, job)) assert.ok(outcome !== undefined, `${job.id} never ends`);
        }
        const left = simulation.pool().leases.filter(({ zone }) => !isDead(zone));
        assert.deepEqual(left, []);
        return simulation.stories().some(({ losses, stays }) => losses > 0 || stays.length > 1);
      },
      { interesting: 0.3, share: 0.15 },
    );
  });
});

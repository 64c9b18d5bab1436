import assert from 'node:assert/strict';
import { DEFAULT_RULES } from '../../../quota/quota-config.js';
import type { LimitedQuota } from '../../../quota/quota-config.js';
import { project } from '../builders.js';
import type { SimulatedJob } from '../simulation.js';
import { job, MINUTE, story } from './pool-story.js';

/** Seed 967755308 of the property "rule 7: from any demand that stands still", as it was shrunk: 1,419 decisions in 12 hours. */
describe('quota, scenario: two jobs that win in two tiers, and end no more', () => {
  const half = { v4: 8, v6e: 4 };
  const whole = { v4: 16, v6e: 8 };
  const config: LimitedQuota = {
    kind: 'limited',
    tiers: [whole, whole],
    projects: [project('a', [half, half]), project('b', [half, half])],
    rules: { ...DEFAULT_RULES, minRuntimeMs: 10 * MINUTE },
  };
  const asks = (id: string, name: string, units: Record<string, number>, at: number, priority = 1): SimulatedJob =>
    job(id, 0, { project: name, priority, units, at });
  const jobs = [
    asks('j0', 'b', { v4: 8 }, 1),
    asks('j1', 'a', { v4: 4 }, 0),
    asks('j2', 'b', { v4: 2 }, 3),
    asks('j3', 'a', { v4: 12 }, 0),
    asks('j4', 'a', { v4: 4 }, 3, 2),
    asks('j5', 'b', { v4: 4, v6e: 2 }, 14),
    asks('j6', 'a', { v4: 4 }, 3, 2),
    asks('j7', 'a', { v4: 4, v6e: 2 }, 1, 2),
    asks('j8', 'a', { v4: 8 }, 6),
    asks('j9', 'a', { v4: 2 }, 15),
  ];

  it('do not take the place that was freed for the other: decisions come to rest', () => {
    const simulation = story(config, { graceMs: 0, drainMs: 2 * MINUTE });
    for (const each of jobs) simulation.submit(each);
    const decidedAt: number[] = [];
    simulation.observe(({ at, decision }) => {
      if (decision.grants.length + decision.preemptions.length > 0) decidedAt.push(at / MINUTE);
    });
    simulation.run(12 * 60 * MINUTE);
    assert.ok(Number(decidedAt.at(-1)) < 60, `still deciding at minute ${decidedAt.at(-1)}`);
  });
});

/** Seed 187544910 of the same property, as it was shrunk: the two decisions of minute 10 came again for ever. */
describe('quota, scenario: a better priority that is in quota in another tier than the winner of its project', () => {
  it('does not borrow the chips that were freed for the winner, who would have it preempted again', () => {
    const config: LimitedQuota = {
      kind: 'limited',
      tiers: [
        { v4: 16, v6e: 8 },
        { v4: 16, v6e: 8 },
      ],
      projects: [
        project('b', [
          { v4: 4, v6e: 2 },
          { v4: 4, v6e: 2 },
        ]),
      ],
    };
    const asks = (id: string, name: string, units: Record<string, number>, at: number, priority = 1): SimulatedJob =>
      job(id, 0, { project: name, priority, units, at });
    const simulation = story(config, { graceMs: 0, drainMs: 0 });
    const gang = { v4: 4, v6e: 2 };
    for (const each of [
      asks('j1', 'a', gang, 0),
      asks('j3', 'b', gang, 0, 2),
      asks('j4', 'a', { v4: 2 }, 0),
      asks('j5', 'b', { v4: 2 }, 0),
      asks('j6', 'a', { v4: 2 }, 0),
      asks('j7', 'a', { v4: 12 }, 0),
      asks('j8', 'a', { v4: 2 }, 0),
      asks('worse', 'b', { v4: 2 }, 10, 2),
      asks('better', 'b', gang, 10),
    ])
      simulation.submit(each);
    assert.doesNotThrow(() => simulation.run(60 * MINUTE));
  });
});

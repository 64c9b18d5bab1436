import assert from 'node:assert/strict';
import type { Decision, Pool } from '../../quota/quota-config.js';
import { NO_MEMORY } from '../../quota/quota-config.js';
import { pool } from './builders.js';
import { Simulation } from './simulation.js';
import type { SimulatedJob, World } from './simulation.js';

const SECOND = 1_000;
const ONE_TIER = pool({ v4: 8 });
const job = (id: string, more: Partial<SimulatedJob> = {}): SimulatedJob => ({
  id,
  project: 'none',
  user: 'u',
  priority: 3,
  submitAt: 0,
  units: { v4: 8 },
  workMs: 10 * SECOND,
  ...more,
});
const world: World = { graceMs: 3 * SECOND, drainMs: 2 * SECOND, chipsAfterMs: () => SECOND };

/** Oldest first into what is free, in one tier; whoever waits at 7 s evicts all who hold. */
const policy = ({ requests, leases, memory = NO_MEMORY }: Pool, now: number): Decision => {
  const [next] = requests.toSorted((a, b) => a.submittedAt - b.submittedAt);
  const grants = next !== undefined && leases.length === 0 ? [{ id: next.id, tier: 0 }] : [];
  const preemptions =
    now === 7 * SECOND && next !== undefined
      ? leases
          .filter(({ state }) => state !== 'draining')
          .map(({ id }) => ({ id, for: next.id, cause: 'quota' as const }))
      : [];
  return { grants, preemptions, memory, ...(now < 7 * SECOND && { nextAt: 7 * SECOND }) };
};

describe('quota: the simulation', () => {
  it('lets a job ask, get its chips, run, drain and be gone', () => {
    const simulation = new Simulation(policy, ONE_TIER, world);
    const story = simulation.submit(job('a'));
    simulation.run();
    const [stay] = story.stays;
    assert.deepEqual([stay?.grantedAt, stay?.chipsAt, story.endedAt, stay?.goneAt], [0, 1000, 11_000, 13_000]);
    assert.equal(story.outcome, 'done');
  });

  it('revokes with grace and drain before the winner starts, and the loser asks again and ends its work', () => {
    const simulation = new Simulation(policy, ONE_TIER, world);
    const loser = simulation.submit(job('a', { submitAt: 1 }));
    const winner = simulation.submit(job('b', { submitAt: 2, workMs: SECOND }));
    simulation.run();
    const [first, second] = loser.stays;
    assert.deepEqual([first?.revokedAt, first?.cause, first?.goneAt], [7_000, 'quota', 12_000]);
    assert.equal(second?.lease, 'a/r/2');
    assert.equal(second?.waitedSince, 10_000, 'it asked again once it had let go');
    assert.equal(second?.grantedAt, 12_000);
    assert.equal(loser.heldMs, 10_000, 'it had held its chips for 5,999 ms, and did the rest');
    assert.equal(winner.stays[0]?.grantedAt, 12_000 + 1_000 + 4_001 + 2_000);
  });

  it('counts held time over losses to the provider and pauses, paused time not', () => {
    const simulation = new Simulation((facts) => policy(facts, 8 * SECOND), ONE_TIER, world);
    const heldMs: (number | undefined)[] = [];
    simulation.observe(({ pool: { leases } }) => heldMs.push(...leases.map((lease) => lease.heldMs)));
    const story = simulation.submit(job('a'));
    simulation.takeChips('a', 3 * SECOND);
    simulation.pause('a', 6 * SECOND);
    simulation.resume('a', 60 * SECOND);
    simulation.run();
    assert.deepEqual(heldMs, [0, 0, 2_000, 2_000, 4_000, 4_000, 10_000]);
    assert.equal(story.endedAt, 66_000);
  });

  it('counts an end where a policy decides for ever at one time', () => {
    const restless = ({ requests, leases }: Pool): Decision => ({
      grants: requests.map(({ id }) => ({ id, tier: 0 })),
      preemptions: leases
        .filter(({ state }) => state !== 'draining')
        .map(({ id }) => ({ id, for: id, cause: 'quota' as const })),
      memory: NO_MEMORY,
    });
    const simulation = new Simulation(restless, ONE_TIER);
    simulation.submit(job('a'));
    assert.throws(() => simulation.run(), /does not settle/u);
  });
});

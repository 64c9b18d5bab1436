import assert from 'node:assert/strict';
import { DEFAULT_RULES } from '../../../quota/quota-config.js';
import type { SimulatedJob } from '../simulation.js';
import { GRACE_AND_DRAIN_MS, inMinutes, job, MINUTE, poolOf, story } from './pool-story.js';

const { askingTimeoutMs } = DEFAULT_RULES;

describe('quota, scenario: chips that do not come, or are not used', () => {
  it('ten spot jobs that ask for a zone without capacity do not keep another project from running', () => {
    const simulation = story(poolOf(16, { a: 8, b: 8 }), {
      chipsAfterMs: ({ zone }) => (zone === 'empty' ? undefined : MINUTE),
    });
    const spot: Partial<SimulatedJob> = { project: 'a', pricing: 'spot', zones: ['empty'] };
    const stuck = Array.from({ length: 10 }, (_, index) =>
      simulation.submit(job(`spot-${index}`, 8, { ...spot, work: 30 })),
    );
    const others = Array.from({ length: 12 }, (_, index) =>
      simulation.submit(job(`b-${index}`, 4, { project: 'b', zones: ['full'], at: 5 + index, work: 60 })),
    );
    simulation.run(12 * 60 * MINUTE);
    assert.ok(others.every(({ outcome }) => outcome === 'done'));
    // Two at a time fit into b's own 8, four into the pool: had the spot jobs kept their 8 it would take twice as long.
    const ends = Math.max(...others.map(({ endedAt = Number.NaN }) => endedAt));
    assert.ok(ends <= 5 * MINUTE + askingTimeoutMs + 4 * 60 * MINUTE, `the last ended after ${inMinutes(ends)} min`);
    assert.ok(stuck.every(({ outcome }) => outcome === undefined));
    const asked = stuck.flatMap(({ stays }) => stays).length;
    assert.ok(asked < 40, `the empty zone was asked ${asked} times in 12 h`);
  });

  it('a job without a command holds chips like any other: the owner takes lent ones after the minimum runtime', () => {
    const simulation = story(poolOf(8, { owner: 8 }));
    const holder = simulation.submit(job('holder', 8));
    const owner = simulation.submit(job('owner', 8, { project: 'owner', at: 5, work: 10 }));
    simulation.run(30 * MINUTE);
    assert.equal(inMinutes(holder.stays[0]?.revokedAt), 11, 'chips at 1 min, protected for 10');
    assert.equal(inMinutes(owner.stays[0]?.grantedAt), 11 + inMinutes(GRACE_AND_DRAIN_MS));
    simulation.run(120 * MINUTE);
    assert.equal(holder.stays.length, 2, 'it comes back when the owner is done');
    assert.equal(holder.outcome, undefined, 'and holds its chips until it is cancelled');
  });

  it('a paused job whose lent chips are wanted gives them back at once, and asks again only when it is resumed', () => {
    const simulation = story(poolOf(8, { owner: 8 }, { minRuntimeMs: 600 * MINUTE }));
    const paused = simulation.submit(job('paused', 8, { work: 60 }));
    simulation.pause('paused', 20 * MINUTE);
    const owner = simulation.submit(job('owner', 8, { project: 'owner', at: 30, work: 10 }));
    simulation.resume('paused', 300 * MINUTE);
    simulation.run();
    const [stay, again] = paused.stays;
    assert.deepEqual(
      [inMinutes(stay?.revokedAt), stay?.cause],
      [30, 'parked'],
      'minimum runtime protects no paused job',
    );
    assert.equal(
      inMinutes(owner.stays[0]?.grantedAt),
      30 + inMinutes(1 * MINUTE),
      'there is nothing to save: drain only',
    );
    assert.equal(inMinutes(again?.grantedAt), 300);
    assert.equal(paused.outcome, 'done');
  });

  it('a paused job keeps its chips while nobody wants them, and is not evicted from its own nominal quota', () => {
    const simulation = story(poolOf(16, { a: 8, b: 8 }));
    const paused = simulation.submit(job('paused', 8, { project: 'a', work: 60 }));
    simulation.pause('paused', 20 * MINUTE);
    simulation.submit(job('other', 16, { project: 'b', at: 30, work: 10 }));
    simulation.resume('paused', 200 * MINUTE);
    simulation.run();
    assert.equal(paused.stays.length, 1);
    assert.equal(paused.outcome, 'done');
  });
});

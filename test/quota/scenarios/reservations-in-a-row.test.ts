import assert from 'node:assert/strict';
import { inMinutes, job, MINUTE, poolOf, story } from './pool-story.js';

const RULES = {
  minRuntimeMs: 10 * MINUTE,
  agingMs: 30 * MINUTE,
  maxGuaranteeDelayMs: 20 * MINUTE,
  askingTimeoutMs: 15 * MINUTE,
};
const WORLD = { graceMs: 0, drainMs: 2 * MINUTE, chipsAfterMs: (): number => 3 * MINUTE };
/** Minimum runtime, drain, guarantee delay and asking timeout, in minutes. */
const BOUND = 10 + 2 + 20 + 15;

/** Reservations start one after the other: what comes free collects for the next one before in-quota demand has its turn. */
describe('quota, scenario: in-quota demand behind a row of gangs that have reservations (rule 8)', () => {
  const config = poolOf(16, { a: 4, b: 4 }, RULES);

  it('waits for the protected gang before it, and for the one that starts within its guarantee delay, and for no more', () => {
    const simulation = story(config, WORLD);
    simulation.submit(job('keeper', 4, { project: 'a' }));
    simulation.submit(job('filler', 12, { work: 40 }));
    for (const index of [1, 2, 3, 4, 5]) simulation.submit(job(`gang-${index}`, 12, { at: index, work: 9 }));
    const own = simulation.submit(job('own', 4, { project: 'b', at: 46, work: 10 }));
    simulation.run(300 * MINUTE);
    const waited = inMinutes(own.stays[0]?.grantedAt) - 46;
    assert.ok(waited <= BOUND, `waited ${waited} of ${BOUND} min`);
  });

  it('waits no longer where the last of them starts a minute before its time to be held back is over', () => {
    // Seed 207656787 of the property "rule 8: in-quota demand is served", case 3,932 of 15,000, as it was shrunk: 53 minutes.
    const simulation = story(config, WORLD);
    const own = [
      job('j0', 2, { project: 'a', priority: 1, at: 9, work: 89 }),
      job('j1', 2, { project: 'b', priority: 1, at: 101, work: 1 }),
      job('j2', 16, { project: 'a', priority: 1, at: 39, work: 1 }),
      job('j3', 12, { project: 'a', priority: 1, at: 89, work: 4 }),
      job('j4', 2, { project: 'a', priority: 1, at: 69, work: 31 }),
      job('j5', 16, { project: 'b', priority: 1, at: 39, work: 11 }),
      job('j6', 4, { project: 'a', priority: 1, at: 33, work: 56 }),
      job('j7', 2, { project: 'a', priority: 1, at: 0, work: 1 }),
    ].map((each) => simulation.submit(each))[1];
    simulation.run(300 * MINUTE);
    const waited = inMinutes(own?.stays[0]?.grantedAt) - 101;
    assert.ok(waited <= BOUND, `waited ${waited} of ${BOUND} min`);
  });
});

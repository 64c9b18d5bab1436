import assert from 'node:assert/strict';
import { DEFAULT_RULES } from '../../../quota/quota-config.js';
import { GRACE_AND_DRAIN_MS, inMinutes, job, MINUTE, poolOf, story } from './pool-story.js';

const { agingMs, askingTimeoutMs, maxGuaranteeDelayMs, minRuntimeMs } = DEFAULT_RULES;

describe('quota, scenario: 12 of 16 beside a stream of small jobs', () => {
  // Equal halves of 16; b keeps small jobs queued all the time. a's job of 12 is more than its 8: the whole gang is borrowed.
  const config = poolOf(16, { a: 8, b: 8 });
  const start = (): ReturnType<typeof story> => {
    const simulation = story(config);
    for (let index = 0; index < 240; index += 1) {
      simulation.submit(job(`small-${index}`, 1, { project: 'b', at: index, work: 20 }));
    }
    return simulation;
  };

  it('the large job starts within its aging time and the guarantee delay, from a reservation', () => {
    const simulation = start();
    const large = simulation.submit(job('large', 12, { project: 'a', at: 60, work: 60 }));
    simulation.run();
    const [stay] = large.stays;
    const waitedMs = (stay?.grantedAt ?? Number.NaN) - 60 * MINUTE;
    assert.ok(waitedMs <= agingMs + maxGuaranteeDelayMs, `waited ${inMinutes(waitedMs)} min`);
    assert.equal(stay?.isFromReservation, true);
    assert.equal(large.outcome, 'done');
  });

  it('in-quota demand that comes while chips collect for the large job is served within the bound of rule 8', () => {
    const bound = minRuntimeMs + GRACE_AND_DRAIN_MS + maxGuaranteeDelayMs + askingTimeoutMs;
    for (const at of [70, 119, 121, 150]) {
      const simulation = start();
      simulation.submit(job('large', 12, { project: 'a', at: 60, work: 60 }));
      const own = simulation.submit(job('own', 8, { project: 'a', priority: 1, at, work: 10 }));
      simulation.run(300 * MINUTE);
      const waitedMs = (own.stays[0]?.grantedAt ?? Number.NaN) - at * MINUTE;
      assert.ok(waitedMs <= bound, `submitted at ${at} min, waited ${inMinutes(waitedMs)} of ${inMinutes(bound)} min`);
    }
  });
});

describe('quota, scenario: a job that the provider preempts every 50 minutes, under 60 minutes of minimum runtime', () => {
  it('is protected for 60 minutes of held time, and no longer', () => {
    const config = poolOf(8, { owner: 8 }, { minRuntimeMs: 60 * MINUTE });
    const simulation = story(config, { lossAfterMs: () => 50 * MINUTE, chipsAfterMs: () => MINUTE });
    const borrower = simulation.submit(job('borrower', 8, { work: 600 }));
    const owner = simulation.submit(job('owner', 8, { project: 'owner', at: 55, work: 10 }));
    simulation.run(400 * MINUTE);
    const [stay] = borrower.stays;
    // 1 min to its chips, 50 held, lost, 1 min, and 10 more held make 60.
    assert.equal(inMinutes(stay?.revokedAt), 62);
    assert.equal(inMinutes(owner.stays[0]?.grantedAt), 62 + inMinutes(GRACE_AND_DRAIN_MS));
  });

  it('goes at once while it has no chips: between two losses nothing is lost by it', () => {
    const config = poolOf(8, { owner: 8 }, { minRuntimeMs: 60 * MINUTE });
    const simulation = story(config, { lossAfterMs: () => 50 * MINUTE, chipsAfterMs: () => 5 * MINUTE });
    const borrower = simulation.submit(job('borrower', 8, { work: 600 }));
    simulation.submit(job('owner', 8, { project: 'owner', at: 10, work: 10 }));
    simulation.run(400 * MINUTE);
    assert.equal(inMinutes(borrower.stays[0]?.revokedAt), 55);
  });
});

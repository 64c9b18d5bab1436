import assert from 'node:assert/strict';
import type { Condition } from '../../domain/slice.js';
import { READY } from '../virtual-clock/plain-activities.js';
import { type Answers, WaitingJob } from './waiting-job.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const A = 'us-east1-d';
const B = 'europe-west4-a';
const FAILED: Condition = { kind: 'lost', cause: 'failed', message: 'the queued resource is FAILED: no reason given' };
const failsIn = (zone: string, times = Infinity): Answers => ({
  wait: (asked, nth) => (asked === zone && nth <= times ? FAILED : READY),
});

describe('a request that fails without a reason', function () {
  this.timeout(60_000);

  it('is made again after a pause that doubles, until the budget is spent', async () => {
    const job = await WaitingJob.submit({ zones: [A] }, failsIn(A), { zoneBackoffMs: 10 * SECOND });
    await job.until(20 * MINUTE);
    assert.match(job.outcome.cause?.message ?? '', /FAILED: no reason given; its budget of 5 infrastructure retries/);
    const pauses = job.asked.slice(1).map(({ at }, index) => Math.round((at - (job.asked[index]?.at ?? 0)) / SECOND));
    assert.deepEqual(pauses, [10, 20, 40, 80, 160]);
  });

  it('says when it is made again', async () => {
    const job = await WaitingJob.submit({ zones: [A] }, failsIn(A), { zoneBackoffMs: MINUTE });
    await job.until(30 * SECOND);
    const { why = '', nextZone } = await job.view();
    assert.equal(nextZone?.zone, A);
    assert.match(why, /FAILED: no reason given; us-east1-d is asked again at 2026-11-01 00:01:0/);
  });

  it('costs no more once all slices were ready', async () => {
    const job = await WaitingJob.submit({ zones: [A] }, failsIn(A, 3), { zoneBackoffMs: SECOND });
    await job.until(MINUTE);
    assert.equal(job.asked.length, 4);
    assert.equal((await job.view()).phase, 'running');
  });

  it('is made in the next zone at once', async () => {
    const job = await WaitingJob.submit({ zones: [A, B] }, failsIn(A), { zoneBackoffMs: 10 * MINUTE });
    await job.until(MINUTE);
    assert.deepEqual(
      job.asked.map(({ zone }) => zone),
      [A, B],
    );
    assert.equal((await job.view()).phase, 'running');
  });

  it('leaves slices that are ready where they are for some tries, and then the whole gang asks another zone', async () => {
    const job = await WaitingJob.submit(
      { zones: [A, B], slices: 2 },
      { wait: (zone, nth) => (zone === A && nth !== 1 ? FAILED : READY) },
      { zoneBackoffMs: SECOND },
    );
    await job.until(5 * MINUTE);
    assert.equal((await job.view()).phase, 'running');
    assert.deepEqual(
      job.asked.map(({ zone }) => zone),
      [A, A, A, A, B, B],
    );
  });

  it('is not made during the pause by a job that was cancelled', async () => {
    const job = await WaitingJob.submit({ zones: [A] }, failsIn(A), { zoneBackoffMs: 10 * MINUTE });
    await job.until(MINUTE);
    job.cancel();
    await job.until(2 * MINUTE);
    assert.equal(job.end?.kind, 'cancelled');
    assert.equal(job.asked.length, 1);
  });
});

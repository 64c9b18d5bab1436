import assert from 'node:assert/strict';
import { REFUSAL_SCOPES } from '../../domain/slice.js';
import { READY } from '../virtual-clock/plain-activities.js';
import { type Answers, refused, WaitingJob } from './waiting-job.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const A = 'us-east1-d';
const B = 'europe-west4-a';
const QUEUE_MS = 100 * SECOND;
/** Of the calls and messages at its end. */
const SLACK_MS = 2 * SECOND;

/** Whatever else a cloud does while a job waits. */
const WAYS: Readonly<Record<string, Answers>> = {
  'no zone ever answers': {},
  'each request is granted and never ready, and its deletion does not end': {
    wait: () => ({ kind: 'lost', cause: 'refused', scope: 'zone', message: 'no capacity' }),
    removeMs: () => undefined,
  },
  'each request fails': { wait: () => ({ kind: 'lost', cause: 'failed', message: 'FAILED' }) },
  'each request is preempted, and is not gone': {
    wait: () => ({ kind: 'lost', cause: 'preempted', message: 'PREEMPTED' }),
    removeMs: () => undefined,
  },
  'a refused request is never gone': { create: () => refused('zone'), removeMs: () => undefined },
  ...Object.fromEntries(
    REFUSAL_SCOPES.filter((scope) => scope !== 'request').map((scope) => [
      `each zone refuses at once (${scope})`,
      { create: () => refused(scope) },
    ]),
  ),
};

describe('timeouts.queue ends all waiting for chips', function () {
  this.timeout(60_000);
  for (const zones of [[A], [A, B]])
    for (const [what, cloud] of Object.entries(WAYS))
      it(`${zones.length} zones: ${what}`, async () => {
        const timeouts = { queue: `${QUEUE_MS / SECOND}s` };
        const retries = { preemption: 1_000, infrastructure: 1_000 };
        const job = await WaitingJob.submit({ zones, timeouts, retries }, cloud);
        await job.until(QUEUE_MS - SLACK_MS);
        assert.ok(job.isOpen, 'it ended before its time');
        await job.until(QUEUE_MS + SLACK_MS);
        assert.equal(job.end?.kind, 'failed', `it waits on; asked: ${JSON.stringify(job.asked)}`);
        assert.match(job.outcome.cause?.message ?? '', /timeouts\.queue/);
      });

  it('and no more: a zone that has all slices at the last moment is used', async () => {
    const job = await WaitingJob.submit(
      { zones: [A], timeouts: { queue: '100s' } },
      // 20 + 40 s after the first two.
      { create: (_, nth) => (nth < 3 ? refused('zone') : { kind: 'accepted' }), wait: () => READY },
      { zoneBackoffMs: 20 * SECOND },
    );
    await job.until(10 * MINUTE);
    assert.ok(job.isOpen);
    assert.equal((await job.view()).phase, 'running');
  });
});

describe('the pause between two rounds of refusals ends early', function () {
  this.timeout(60_000);
  const refusing: Answers = { create: () => refused('permission') };
  const inPause = async (): Promise<WaitingJob> => {
    const job = await WaitingJob.submit({ zones: [A, B] }, refusing, { zoneBackoffMs: 5 * MINUTE });
    await job.until(MINUTE);
    assert.equal(job.asked.length, 2, 'it is in the pause after the first round');
    return job;
  };

  it('for a cancel', async () => {
    const job = await inPause();
    job.cancel();
    await job.until(MINUTE + SLACK_MS);
    assert.equal(job.end?.kind, 'cancelled');
  });

  for (const call of [{}, { release: true }])
    it(`for a stop ${JSON.stringify(call)}`, async () => {
      const job = await inPause();
      await job.ask('stop', call);
      await job.until(MINUTE + SLACK_MS);
      assert.equal((await job.view()).phase, 'released');
    });

  for (const [update, call, first] of [
    ['requeue', {}, A],
    ['requeue', { zone: B }, B],
    ['restart', { set: [{ path: ['env', 'X'], value: '1' }] }, A],
  ] as const)
    it(`for a ${update} ${JSON.stringify(call)}, and ${first} is asked next`, async () => {
      const job = await inPause();
      await job.ask(update, call);
      await job.until(MINUTE + SLACK_MS);
      assert.equal(job.asked[2]?.zone, first);
    });

  it('for timeouts.provision of a gang of which a slice is there', async () => {
    const job = await WaitingJob.submit(
      { zones: [A, B], slices: 2, timeouts: { provision: '2m' } },
      {
        create: (zone, nth) => (zone === A && nth > 1 ? refused('moment') : { kind: 'accepted' }),
        wait: (zone) => (zone === A ? READY : undefined),
      },
      { zoneBackoffMs: 10 * MINUTE },
    );
    await job.until(2 * MINUTE + 5 * SECOND);
    assert.ok(
      job.asked.some(({ zone }) => zone === B),
      JSON.stringify(job.asked),
    );
  });
});

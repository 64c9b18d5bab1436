import assert from 'node:assert/strict';
import { READY } from '../virtual-clock/plain-activities.js';
import { type Answers, refused, START, WaitingJob } from './waiting-job.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Of the calls and messages at its end. */
const SLACK_MS = 2 * SECOND;
const A = 'us-east1-d';
const B = 'europe-west4-a';
const C = 'us-east5-a';

const timeouts = (key: string, value: string | null) => ({ set: [{ path: ['timeouts', key], value }] });
type File = Parameters<typeof WaitingJob.submit>[0];

/** A job that waits, in each way in which it can. */
const WAITS: Readonly<Record<string, { file?: Partial<File>; cloud?: Answers; pool?: 'is silent'; phase: string }>> = {
  'for its pool': { pool: 'is silent', phase: 'queued' },
  'for chips in one zone': { file: { zones: [A] }, phase: 'provisioning' },
  'for chips in two zones': { phase: 'provisioning' },
  'between two rounds of refusals': { cloud: { create: () => refused('zone') }, phase: 'provisioning' },
  'for slices that do not go': {
    file: { zones: [A] },
    cloud: { create: () => refused('zone'), removeMs: () => undefined },
    phase: 'evicting',
  },
};

async function waiting(way: string, given: object): Promise<WaitingJob> {
  const { file, cloud = {}, pool, phase } = WAITS[way] ?? assert.fail(way);
  const job = await WaitingJob.submit(
    { zones: [A, B], timeouts: given, ...file },
    cloud,
    { zoneBackoffMs: 9 * MINUTE },
    pool,
  );
  await job.until(3 * MINUTE);
  assert.equal((await job.view()).phase, phase);
  return job;
}

describe('timeouts.queue of a job that waits', function () {
  this.timeout(120_000);

  for (const way of Object.keys(WAITS)) {
    it(`${way} is shorter by restart: it counts from the submit`, async () => {
      const job = await waiting(way, { queue: '2h' });
      const answer = await job.ask('restart', timeouts('queue', '5m'));
      assert.match(
        answer,
        /^job waits keeps waiting, by the changed job file; it waits for chips until 2026-11-01 00:05:0\d UTC at most \(timeouts\.queue\)$/,
      );
      await job.until(5 * MINUTE - SLACK_MS);
      assert.ok(job.isOpen, 'it ended before its time');
      assert.ok(Math.abs(((await job.view()).waitsUntil ?? 0) - START - 5 * MINUTE) < SLACK_MS);
      await job.until(5 * MINUTE + SLACK_MS);
      assert.match(job.outcome.cause?.message ?? '', /for 5 min \(timeouts\.queue\)/);
    });

    it(`${way} is longer by restart, or has no end`, async () => {
      const job = await waiting(way, { queue: '5m' });
      await job.ask('restart', timeouts('queue', '10m'));
      await job.until(9 * MINUTE);
      assert.ok(job.isOpen, 'it ended by the old file');
      assert.equal(
        await job.ask('restart', timeouts('queue', null)),
        'job waits keeps waiting, by the changed job file; it waits for chips without an end (timeouts.queue is not set)',
      );
      await job.until(30 * MINUTE);
      assert.ok(job.isOpen, 'it ended without a bound');
      assert.equal((await job.view()).waitsUntil, undefined);
    });

    it(`${way} is not over by an edit: that is refused, with what to do`, async () => {
      const job = await waiting(way, { queue: '2h' });
      await assert.rejects(
        job.ask('restart', timeouts('queue', '1m')),
        /timeouts\.queue: 1 min would be over: job waits has waited for 3 min, since 2026-11-01 00:00:0\d UTC\n {2}give it more, or end it: `jobctl cancel waits`/,
      );
      await job.until(5 * MINUTE);
      assert.ok(job.isOpen);
    });
  }

  it('holds from resume on, by the file that came with it', async () => {
    const job = await waiting('for chips in one zone', { queue: '2h' });
    await job.ask('stop', {});
    await job.until(4 * MINUTE);
    assert.equal((await job.view()).phase, 'released');
    await job.ask('resume', timeouts('queue', '100s'));
    await job.until(5 * MINUTE + 30 * SECOND);
    assert.ok(job.isOpen);
    await job.until(5 * MINUTE + 40 * SECOND + SLACK_MS);
    assert.match(job.outcome.cause?.message ?? '', /for 100 s \(timeouts\.queue\)/);
  });

  it('does not bound a job that has its slices', async () => {
    const job = await WaitingJob.submit({ zones: [A] }, { wait: () => READY });
    await job.until(HOUR);
    const answer = await job.ask('restart', timeouts('queue', '1m'));
    assert.match(answer, /^job waits is being restarted: .*by the changed job file$/);
    await job.until(2 * HOUR);
    const { phase, waitsUntil } = await job.view();
    assert.deepEqual([phase, waitsUntil, job.isOpen], ['running', undefined, true]);
  });
});

describe('timeouts.provision of a job that waits', function () {
  this.timeout(120_000);
  const asked = (job: WaitingJob): readonly string[] => job.asked.map(({ zone }) => zone);

  for (const tpu of [{ hedge: 2 }, { hedge: 1 }])
    it(`moves it on by an edit, counted from when its zone was asked (hedge ${tpu.hedge})`, async () => {
      const job = await WaitingJob.submit({ zones: [A, B, C], tpu, timeouts: { provision: '1h' } }, {});
      await job.until(3 * MINUTE);
      assert.deepEqual(asked(job), [A]);
      await job.ask('restart', timeouts('provision', '5m'));
      await job.until(4 * MINUTE);
      assert.deepEqual(asked(job), [A]);
      assert.ok(Math.abs(((await job.view()).nextZone?.at ?? 0) - START - 5 * MINUTE) < SLACK_MS);
      await job.until(5 * MINUTE + SLACK_MS);
      assert.deepEqual(asked(job), [A, B]);
      await job.until(10 * MINUTE + 2 * SLACK_MS);
      assert.deepEqual(asked(job), [A, B, C]);
    });

  it('that is over by an edit moves it on at once, and a longer one lets it wait', async () => {
    const job = await WaitingJob.submit({ zones: [A, B, C], timeouts: { provision: '4m' } }, {});
    await job.until(3 * MINUTE);
    await job.ask('restart', timeouts('provision', '1h'));
    await job.until(20 * MINUTE);
    assert.deepEqual(asked(job), [A]);
    await job.ask('restart', timeouts('provision', '10m'));
    await job.until(20 * MINUTE + SLACK_MS);
    assert.deepEqual(asked(job), [A, B]);
  });
});

describe('the rest of a changed file of a job that waits', function () {
  this.timeout(120_000);
  /** Keys that bound no wait for chips: they hold from the next attempt on. */
  const OTHERS = { stop: '7m', setup: '6m', device: '90s', run: '5m', unreachable: '11m', no_output: '13m' };

  it('is in force at once: the next attempt, and what ends the wait, are by it', async () => {
    const job = await WaitingJob.submit({ zones: [A, B] }, { wait: (_, nth) => (nth > 1 ? READY : undefined) });
    await job.until(MINUTE);
    for (const [key, value] of Object.entries(OTHERS)) await job.ask('restart', timeouts(key, value));
    await job.ask('restart', { set: [{ path: ['retries', 'task'], value: 7 }] });
    await job.until(MINUTE + SLACK_MS);
    const { spec, phase } = await job.view();
    assert.equal(phase, 'provisioning');
    assert.deepEqual(spec.timeouts, { stop: 420, setup: 360, device: 90, run: 300, unreachable: 660, noOutput: 780 });
    assert.equal(spec.retries.task, 7);
  });
});

import assert from 'node:assert/strict';
import { StorePatience, tellJobOfTrouble } from '../../activities/attempt/store-patience.js';
import { StoreRefused } from '../../cloud/store/port.js';
import type { AttemptEnd } from '../../contract/job-activities.js';
import { DAY, HOUR, MINUTE, type Script, succeeded, VirtualJob } from '../virtual-clock/virtual-job.js';

const WORKER_ERROR = 'a worker lost its way';

/** docs/recovery.md, over days: the workflows' own timers run, and nobody waits for them. */
describe('a job over days of virtual time', function () {
  this.timeout(120_000);
  let bundle: Awaited<ReturnType<typeof VirtualJob.bundle>>;

  before(async function () {
    this.timeout(180_000);
    bundle = await VirtualJob.bundle();
  });

  /** @returns the outcome, and how much virtual time the job took, in ms */
  async function live(script: (job: VirtualJob) => Script, more: object = {}) {
    const outcome = await VirtualJob.live(bundle, script, more);
    return { ...outcome, took: outcome.endedAt - outcome.submittedAt };
  }

  const noRetries = { retries: { infrastructure: 0, task: 0 } };
  /** Supervisions that see nothing, for so long each. */
  const uneventful = (job: VirtualJob, ms: number) => async (): Promise<AttemptEnd> => {
    await job.pass(ms);
    return { kind: 'still-running' };
  };

  it('lives on the attempt that it has through six errors of workers, each after days of work', async () => {
    const supervise =
      (job: VirtualJob) =>
      async (call: number): Promise<AttemptEnd> => {
        if (call > 6) return succeeded;
        await job.pass(2 * DAY);
        throw new Error(WORKER_ERROR);
      };
    const { result, attempts, took } = await live((job) => ({ supervise: supervise(job) }), noRetries);
    assert.deepEqual([result, attempts], ['succeeded', 1]);
    assert.ok(took >= 12 * DAY, `${took / DAY} days`);
  });

  it('lives through six errors at once, with a day that a worker did well before each', async () => {
    const supervise =
      (job: VirtualJob) =>
      async (call: number): Promise<AttemptEnd> => {
        if (call > 12) return succeeded;
        if (call % 2 === 1) return uneventful(job, DAY)();
        throw new Error(WORKER_ERROR);
      };
    const { result, attempts, took } = await live((job) => ({ supervise: supervise(job) }), noRetries);
    assert.deepEqual([result, attempts], ['succeeded', 1]);
    assert.ok(took >= 6 * DAY, `${took / DAY} days`);
  });

  it('pays one infrastructure retry for six errors in a row, and begins the next row at nought', async () => {
    const supervise =
      (job: VirtualJob) =>
      async (call: number): Promise<AttemptEnd> => {
        if (call > 11) return succeeded;
        throw new Error(WORKER_ERROR);
      };
    const { result, attempts } = await live((job) => ({ supervise: supervise(job) }), {
      retries: { infrastructure: 1 },
    });
    assert.deepEqual([result, attempts], ['succeeded', 2]);
  });

  it('fails with cause infrastructure at the sixth error in a row when that budget is spent', async () => {
    let calls = 0;
    const supervise = (job: VirtualJob) => async (): Promise<AttemptEnd> => {
      calls += 1;
      throw new Error(WORKER_ERROR);
    };
    const { result, cause, attempts } = await live((job) => ({ supervise: supervise(job) }), noRetries);
    assert.deepEqual([result, cause?.by, attempts, calls], ['failed', 'infrastructure', 1, 6]);
    assert.match(cause?.message ?? '', /a worker lost its way; its budget of 0 infrastructure retries is spent/);
  });

  it('waits for days for a bucket that says no and yes in turn, says why, and ends by its command alone', async () => {
    const [days, refusedMs] = [3, HOUR / 4];
    const seen = { refused: 0, kept: 0, reasons: new Set<string>() };
    const supervise =
      (job: VirtualJob): Script['supervise'] =>
      async (_call, input) => {
        const { signal } = new AbortController();
        const clock = { now: Date.now, pause: (ms: number) => job.pass(ms) };
        const patience = new StorePatience(signal, tellJobOfTrouble(input), clock);
        for (let half = 0; half < 2 * days; half++) {
          const noUntil = (await job.now()) + refusedMs;
          await patience.through(async () => {
            if ((await job.now()) < noUntil) {
              seen.refused += 1;
              if (seen.refused % 20 === 1) seen.reasons.add(await job.why());
              throw new StoreRefused('the bucket says no');
            }
            seen.kept += 1;
          });
          seen.reasons.add(await job.why());
          await job.pass(DAY / 2 - refusedMs);
        }
        return succeeded;
      };
    const { result, attempts, took } = await live((job) => ({ supervise: supervise(job) }), noRetries);
    assert.deepEqual([result, attempts, seen.kept], ['succeeded', 1, 2 * days]);
    assert.ok(took >= days * DAY, `${took / DAY} days`);
    assert.ok(seen.refused > (2 * days * refusedMs) / MINUTE, `${seen.refused} refusals`);
    const usual = 'attempt 1 on 1 host in us-central1-a';
    const waiting = `${usual}; waits for the store, which keeps nothing now: the bucket says no`;
    assert.deepEqual([...seen.reasons].sort(), [usual, waiting]);
  });

  for (const [hours, isStored] of [
    [4, true],
    [9, false],
  ] as const) {
    it(`has its outcome while the bucket refuses it for ${hours} hours, says so, and ends: stored ${isStored}`, async () => {
      const reasons = new Set<string>();
      let stored = false;
      const { result, took } = await live((job) => {
        let refusedUntil = 0;
        return {
          supervise: async () => succeeded,
          recordOutcome: async () => {
            refusedUntil ||= (await job.now()) + hours * HOUR;
            reasons.add(await job.why());
            if ((await job.now()) < refusedUntil) throw new Error('the bucket says no');
            stored = true;
          },
        };
      });
      assert.deepEqual([result, stored], ['succeeded', isStored]);
      assert.ok(took < HOUR, 'the outcome is final when the command ended');
      const usual = 'the command ended with exit code 0';
      const waiting = `${usual}; its outcome is not stored yet, which is tried for 6 h: the bucket says no`;
      assert.deepEqual([...reasons], [usual, waiting]);
    });
  }

  const TIMEOUTS: Record<string, { script: (job: VirtualJob) => Partial<Script>; by: string; says: RegExp }> = {
    queue: {
      script: () => ({ isGranted: false }),
      by: 'infrastructure',
      says: /granted nothing for .* \(timeouts\.queue\)/,
    },
    provision: {
      script: (job) => ({ provision: () => job.pass(5 * DAY) }),
      by: 'infrastructure',
      says: /is not ready in us-central1-a: .* \(timeouts\.provision\)/,
    },
    setup: {
      script: (job) => ({ setUp: () => job.pass(5 * DAY) }),
      by: 'task',
      says: /not set up after .* \(timeouts\.setup\)/,
    },
    run: { script: () => ({}), by: 'task', says: /has run for .* \(timeouts\.run\)/ },
  };
  for (const [name, { script, by, says }] of Object.entries(TIMEOUTS)) {
    it(`is over three days after timeouts.${name} of three days began, and not sooner`, async () => {
      const { result, cause, took } = await live((job) => ({ supervise: uneventful(job, HOUR), ...script(job) }), {
        ...noRetries,
        timeouts: { [name]: '72h' },
      });
      assert.deepEqual([result, cause?.by], ['failed', by]);
      assert.match(cause?.message ?? '', says);
      assert.ok(took >= 3 * DAY && took < 3 * DAY + 2 * HOUR, `${took / DAY} days`);
    });
  }
});

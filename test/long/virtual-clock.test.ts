import assert from 'node:assert/strict';
import { StorePatience, tellJobOfTrouble } from '../../activities/attempt/store-patience.js';
import { StoreRefused } from '../../cloud/store/port.js';
import type { AttemptEnd, AttemptInput, SetUpEnd } from '../../contract/job-activities.js';
import { sumOf } from '../../domain/counted/usage.js';
import { DAY, HOUR, type Script, succeeded, VirtualJob } from '../virtual-clock/virtual-job.js';

const MINUTE = HOUR / 60;
const STILL_RUNNING = { kind: 'still-running' } as const;
/** In answer to a stop. */
const STOPPED: AttemptEnd = { kind: 'exited', code: 143, isStopped: true, at: { slice: 0, host: 0 }, startedAt: 0 };
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
  async function live(script: (job: VirtualJob) => Script, more: Readonly<Record<string, unknown>> = {}) {
    const outcome = await VirtualJob.live(bundle, script, more);
    return { ...outcome, took: outcome.endedAt - outcome.submittedAt };
  }

  const noRetries = { retries: { infrastructure: 0, task: 0 } };
  /** Supervisions that see nothing, for so long each. */
  const uneventful = (job: VirtualJob, ms: number) => async (): Promise<AttemptEnd> => {
    await job.pass(ms);
    return STILL_RUNNING;
  };

  it('lives on the attempt that it has through six errors of workers, each after 20 hours of work', async () => {
    const supervise =
      (job: VirtualJob) =>
      async (call: number): Promise<AttemptEnd> => {
        if (call > 6) return succeeded;
        await job.pass(20 * HOUR);
        throw new Error(WORKER_ERROR);
      };
    const { result, attempts, took } = await live((job) => ({ supervise: supervise(job) }), noRetries);
    assert.deepEqual([result, attempts], ['succeeded', 1]);
    assert.ok(took >= 5 * DAY, `${took / DAY} days`);
  });

  it('lives through six errors days apart, with two good supervisions of 20 hours before each', async () => {
    const supervise =
      (job: VirtualJob) =>
      async (call: number): Promise<AttemptEnd> => {
        if (call > 18) return succeeded;
        if (call % 3 === 0) throw new Error(WORKER_ERROR);
        return uneventful(job, 20 * HOUR)();
      };
    const { result, attempts, took } = await live((job) => ({ supervise: supervise(job) }), noRetries);
    assert.deepEqual([result, attempts], ['succeeded', 1]);
    assert.ok(took >= 10 * DAY, `${took / DAY} days`);
  });

  it('pays one infrastructure retry for six errors in a row, and begins the next row at nought', async () => {
    const supervise = async (call: number): Promise<AttemptEnd> => {
      if (call > 11) return succeeded;
      throw new Error(WORKER_ERROR);
    };
    const { result, attempts } = await live(() => ({ supervise }), {
      retries: { infrastructure: 1 },
    });
    assert.deepEqual([result, attempts], ['succeeded', 2]);
  });

  it('fails with cause infrastructure at the sixth error in a row when that budget is spent', async () => {
    let calls = 0;
    const supervise = async (): Promise<AttemptEnd> => {
      calls += 1;
      throw new Error(WORKER_ERROR);
    };
    const { result, cause, attempts } = await live(() => ({ supervise }), noRetries);
    assert.deepEqual([result, cause?.by, attempts, calls], ['failed', 'infrastructure', 1, 6]);
    assert.match(cause?.message ?? '', /a worker lost its way; its budget of 0 infrastructure retries is spent/);
  });

  it('waits for days for a bucket that says no and yes in turn, says why, and ends by its command alone', async () => {
    const [halfDays, refusedMs] = [6, HOUR / 4];
    const seen = { refused: 0, kept: 0, reasons: new Set<string>() };
    const supervise =
      (job: VirtualJob) =>
      async (call: number, input: AttemptInput): Promise<AttemptEnd> => {
        if (call > halfDays) return succeeded;
        const { signal } = new AbortController();
        const patience = new StorePatience(signal, tellJobOfTrouble(input), { now: Date.now, pause: job.pass });
        const noUntil = (await job.now()) + refusedMs;
        await patience.through(async () => {
          if ((await job.now()) < noUntil) {
            seen.refused += 1;
            if (seen.refused % 20 === 0) seen.reasons.add(await job.why());
            throw new StoreRefused('the bucket says no');
          }
          seen.kept += 1;
        });
        await job.pass(DAY / 2 - refusedMs);
        seen.reasons.add(await job.why());
        return STILL_RUNNING;
      };
    const { result, attempts, took } = await live((job) => ({ supervise: supervise(job) }), noRetries);
    assert.deepEqual([result, attempts, seen.kept], ['succeeded', 1, halfDays]);
    assert.ok(took >= 3 * DAY, `${took / DAY} days`);
    assert.ok(seen.refused > halfDays * 50, `${seen.refused} refusals`);
    const usual = 'attempt 1 on 1 host in us-central1-a';
    const waiting = `${usual}; waits for the store, which keeps nothing now: the bucket says no`;
    assert.deepEqual([...seen.reasons].sort(), [usual, waiting]);
  });

  it('counts each chip-second of 30 days with 20 preemptions in one part', async () => {
    const [preemptions, chips, parts] = [20, 16, 2];
    const [part, setUpMs, waitMs] = [17 * HOUR, HOUR / 12, HOUR / 6];
    const lost = { chipMs: 20 * chips * HOUR, marks: 4_000 };
    let stored: Parameters<NonNullable<Script['recordOutcome']>>[0] | undefined;
    const outcome = await live(
      (job) => {
        let asked = 0;
        return {
          ...{ repeated: { lost } },
          setUp: async () => {
            await job.pass(setUpMs);
            return { kind: 'ready' };
          },
          // Each slice is there at the second look.
          isProvisioned: () => (asked += 1) % 2 === 0,
          supervise: async (call) => {
            await job.pass(part);
            if (call % parts !== 0) return STILL_RUNNING;
            if (call > preemptions * parts) return succeeded;
            return { kind: 'slices-lost', slices: [{ index: 0, cause: 'preempted', message: 'PREEMPTED' }] };
          },
          recordOutcome: async (input) => void (stored = input),
        };
      },
      { retries: { preemption: preemptions }, max_cost: 100 },
    );
    assert.deepEqual([outcome.result, outcome.preemptions], ['succeeded', preemptions]);
    assert.ok(outcome.took > 29 * DAY, `${outcome.took / DAY} days`);
    const { counted, events = [] } = stored ?? {};
    assert.ok(counted !== undefined);
    const inMs = (seconds: number): number => Math.round(seconds * 1000);
    // The lease is granted at once, and held to the end.
    const leased = chips * (counted.countedTo - counted.submittedAt);
    const all = inMs(sumOf(counted.parts));
    assert.ok(all <= leased && all > leased - chips * MINUTE, `${all} of ${leased}`);
    const attempts = preemptions + 1;
    const wanted = {
      useful: attempts * parts * part * chips - lost.chipMs,
      lost: lost.chipMs,
      setUp: setUpMs * chips,
      restart: preemptions * setUpMs * chips,
      waiting: attempts * waitMs * chips,
      ...{ idle: 0, draining: 0 },
    };
    for (const [name, ms] of Object.entries(wanted)) {
      const seen = inMs(counted.parts[name as keyof typeof wanted]);
      // The server's clock goes on while nothing is skipped.
      assert.ok(seen >= ms && seen < ms + attempts * chips * MINUTE, `${name}: ${seen} of ${ms}`);
    }
    assert.deepEqual([counted.lost, counted.lostMarks], ['counted', lost.marks]);
    const hours = counted.charged / 3600;
    assert.ok(Math.abs((counted.usd ?? 0) - hours * 0.2449) < 0.01, `${counted.usd} for ${hours} h`);
    const over = events.filter((event) => 'kind' in event && event.kind === 'over-budget');
    assert.equal(over.length, 1);
    // $100 of 16 chips at $0.2449 are 25.5 h of what is charged.
    const at = ((over[0]?.at ?? 0) - counted.submittedAt) / HOUR;
    assert.ok(at > 25.5 && at < 27, `${at} h`);
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

  const LIMIT = 3 * DAY;
  /** Works in parts of 20 hours, as long as an activity may last, until the limit is over, and then until it is told to end. */
  const untilStopped = (job: VirtualJob) => {
    let until = 0;
    return async (): Promise<'under way' | 'stopped'> => {
      const now = await job.now();
      until ||= now + LIMIT;
      await job.pass(Math.min(20 * HOUR, until - now));
      if ((await job.now()) < until) return 'under way';
      await job.stopped;
      return 'stopped';
    };
  };
  const TIMEOUTS: Record<string, { script: (job: VirtualJob) => Partial<Script>; by: string; says: RegExp }> = {
    queue: {
      script: () => ({ isGranted: false }),
      by: 'infrastructure',
      says: /granted nothing for 72 h \(timeouts\.queue\)/,
    },
    'queue of a job that has its lease': {
      script: () => ({ isProvisioned: () => false }),
      by: 'infrastructure',
      says: /its zones gave no chips for 72 h \(timeouts\.queue\)/,
    },
    setup: {
      script: (job) => {
        const work = untilStopped(job);
        return { setUp: async () => work().then((): SetUpEnd => ({ kind: 'handed-over' })) };
      },
      by: 'task',
      says: /not set up within 72 h \(timeouts\.setup\)/,
    },
    run: {
      script: (job) => {
        const work = untilStopped(job);
        return { supervise: async () => ((await work()) === 'stopped' ? STOPPED : STILL_RUNNING) };
      },
      by: 'task',
      says: /ran for 72 h, as long as timeouts\.run allows/,
    },
  };
  for (const [name, { script, by, says }] of Object.entries(TIMEOUTS)) {
    it(`is over three days after timeouts.${name} of three days began, and not sooner`, async () => {
      const { result, cause, took } = await live((job) => ({ supervise: async () => succeeded, ...script(job) }), {
        ...noRetries,
        timeouts: { [name.split(' ')[0] ?? '']: '72h' },
      });
      assert.deepEqual([result, cause?.by], ['failed', by]);
      assert.match(cause?.message ?? '', says);
      assert.ok(took >= LIMIT && took < LIMIT + HOUR, `${took / DAY} days`);
    });
  }
});

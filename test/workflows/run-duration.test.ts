import assert from 'node:assert/strict';
import type { AttemptEnd } from '../../contract/job-activities.js';
import type { Condition } from '../../domain/slice.js';
import { endingWith, firstSave, savesAt, type StopNotice } from '../../domain/early-end.js';
import { READY } from '../virtual-clock/plain-activities.js';
import { type Answers, START, WaitingJob } from './waiting-job.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const SLACK_MS = 3 * SECOND;
const ZONE = 'us-east5-a';
const GRACE_MS = 30 * SECOND;
const LEAD_MS = GRACE_MS + 2 * MINUTE;

describe('when a command on slices that end is told to save', () => {
  const slice = (endsAt: number, since = 0) => ({ endsAt, since });

  it('is its grace and two minutes before; of a short life after half of it; without an end never', () => {
    assert.equal(savesAt(slice(HOUR), 30), HOUR - LEAD_MS);
    assert.equal(savesAt(slice(HOUR), 600), HOUR - 12 * MINUTE);
    assert.equal(savesAt(slice(3 * MINUTE), 30), 1.5 * MINUTE);
    assert.equal(savesAt({ endsAt: HOUR }, 30), HOUR - LEAD_MS);
    assert.equal(savesAt({ since: 0 }, 30), undefined);
    assert.equal(firstSave([], 30), undefined);
    assert.equal(firstSave([{}, slice(2 * HOUR), slice(HOUR)], 30), HOUR - LEAD_MS);
  });

  it('takes those along whose own time comes before the first is gone', () => {
    const all = [slice(HOUR), slice(HOUR + LEAD_MS), slice(HOUR + LEAD_MS + 1), { since: 0 }];
    assert.deepEqual(endingWith(all, 30), all.slice(0, 2));
    assert.deepEqual(endingWith([{ since: 0 }], 30), []);
  });
});

/** Slices that live for `lifeMs`; a command that ends once it is told to. */
class Lives implements Answers {
  readonly told: { readonly at: number; readonly attempt: number; readonly notice: StopNotice }[] = [];
  readonly began: { readonly attempt: number; readonly previousEnd: string | undefined }[] = [];
  job: WaitingJob | undefined;
  readonly #lifeMs: readonly number[];
  readonly #ends = new Map<number, (end: AttemptEnd) => void>();
  #ready = 0;

  constructor(...lifeMs: readonly number[]) {
    this.#lifeMs = lifeMs;
  }

  get #now(): number {
    return this.job?.server.now ?? START;
  }

  readonly wait = (): Condition => {
    const life = this.#lifeMs[Math.min(this.#ready++, this.#lifeMs.length - 1)] ?? Infinity;
    return { ...READY, endsAt: this.#now + life };
  };
  readonly run: NonNullable<Answers['run']> = ({ attempt, previousEnd }) => {
    this.began.push({ attempt, previousEnd });
    return new Promise((resolve) => this.#ends.set(attempt, resolve));
  };
  readonly stop: NonNullable<Answers['stop']> = async ({ attempt, notice }) => {
    this.told.push({ at: this.#now - START, attempt, notice });
    const at = { slice: 0, host: 0 };
    this.#ends.get(attempt)?.({ kind: 'exited', code: 0, at, startedAt: START, isStopped: true });
  };
}

async function running(lives: Lives, file: object = {}): Promise<WaitingJob> {
  const tpu = { pricing: 'flex-start', run_duration: '1h', allocation_mode: undefined };
  const job = await WaitingJob.submit({ zones: [ZONE], tpu, retries: { preemption: 0 }, ...file }, lives);
  lives.job = job;
  return job;
}

describe('a job whose slices were bought for a time', function () {
  this.timeout(120_000);

  it('is told to save before each end, goes on in the next slice, and spends no retry', async () => {
    const lives = new Lives(HOUR);
    const job = await running(lives);
    await job.until(HOUR - LEAD_MS - SLACK_MS);
    assert.equal(lives.told.length, 0);
    await job.until(HOUR);
    const [first] = lives.told;
    assert.ok(first && Math.abs(first.at - (HOUR - LEAD_MS)) < SLACK_MS, JSON.stringify(lives.told));
    assert.equal(first.notice.cause, 'preemption');
    assert.match(
      first.notice.reason,
      /^the run duration of its slices is over \(tpu\.run_duration\): its provider may/,
    );
    await job.until(10 * HOUR);
    const { phase, preemptions, attempt, slices } = await job.view();
    assert.deepEqual([phase, preemptions, slices.length], ['running', 0, 1]);
    assert.ok(attempt > 9, `${attempt} attempts`);
    assert.deepEqual(
      lives.began.map(({ previousEnd }) => previousEnd),
      [undefined, ...lives.began.slice(1).map(() => 'run-duration-over')],
    );
    assert.equal(job.asked.length, attempt, 'a slice for each attempt');
  });

  it('keeps the slices of a gang that live on', async () => {
    const lives = new Lives(HOUR, 3 * HOUR, 3 * HOUR);
    const job = await running(lives, { slices: 2 });
    await job.until(HOUR + MINUTE);
    const { slices, attempt } = await job.view();
    assert.deepEqual(
      [attempt, ...slices.map(({ generation }) => generation).toSorted((a, b) => a - b)],
      [2, 1, 2],
      JSON.stringify(slices),
    );
  });

  it('has no clock where nothing ends', async () => {
    const job = await WaitingJob.submit({ zones: [ZONE] }, { wait: () => READY });
    await job.until(100 * HOUR);
    assert.equal((await job.view()).attempt, 1);
  });

  it('does not start a command that could do nothing, and pays a preemption for that', async () => {
    // Half of a life is the command's, but this one was over before it was ready.
    const lives = new Lives(0);
    const job = await running(lives, { retries: { preemption: 2 } });
    await job.until(HOUR);
    assert.deepEqual([lives.began, lives.told], [[], []]);
    assert.equal(job.end?.kind, 'failed');
    const { cause, preemptions } = job.outcome;
    assert.deepEqual([cause?.by, preemptions], ['preemption', 2]);
    assert.match(cause?.message ?? '', /its run duration \(tpu\.run_duration\) is over before its command could begin/);
  });
});

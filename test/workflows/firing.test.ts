import assert from 'node:assert/strict';
import type { LookedAt } from '../../contract/after.js';
import { cancelNoteSignal, type JobInput } from '../../contract/job.js';
import type { FiringResult, StartedFiring, StartFiringInput } from '../../contract/schedule.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import type { PastState } from '../../domain/after.js';
import { firingJobId, firingWorkflowId } from '../../domain/schedule/schedule.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import type { Outcome } from '../../domain/job-state.js';
import { READY } from '../virtual-clock/plain-activities.js';
import { Sandboxes } from '../virtual-clock/sandboxes.js';
import { virtualActivities, type VirtualCloud } from '../virtual-clock/virtual-activities.js';
import { type Ended, VirtualServer } from '../virtual-clock/virtual-server.js';

const START = Date.UTC(2026, 10, 30, 2);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const FIRING = { schedule: 'nightly', at: START };
const WORKFLOW = firingWorkflowId(FIRING);
const JOB = firingJobId(FIRING);

/** One firing in virtual time. The command of its job runs for the seconds that it names. */
class Night {
  readonly server: VirtualServer;
  readonly ends = new Map<string, Ended & { readonly at: number }>();
  looks = 0;
  /** Calls of `startFiring`. */
  tries = 0;
  /** Jobs that were started. */
  starts = 0;
  /** Ids of workflows that it asked to end. */
  readonly asked: string[] = [];
  /** What becomes of a try. Absent: it starts the job. */
  answer: (tries: number) => StartedFiring | 'lost' | 'away' | undefined = () => undefined;
  /** Of a job that Temporal shows otherwise than it ended here. */
  state: PastState | undefined;

  private constructor(server: VirtualServer) {
    this.server = server;
  }

  static async open(): Promise<Night> {
    const server = new VirtualServer(await Sandboxes.ofThisProcess(), { startAt: START, delayMs: () => 50 });
    const night = new Night(server);
    server.serve(night.#activities());
    return night;
  }

  fire(seconds: number, more: object = {}): this {
    const tpu = { accelerator: 'v5litepod-1', zone: 'us-central1-a' };
    const job = { name: 'train', tpu, command: { run: String(seconds) }, ...more };
    this.#start(WorkflowType.Firing, WORKFLOW, { v: 1, submission: { v: 1, job } });
    return this;
  }

  #start(type: string, id: string, input: object): void {
    void this.server.start(type, id, input).then((end) => this.ends.set(id, { ...end, at: this.server.now - START }));
  }

  async until(ms: number): Promise<this> {
    this.server.at(START + ms, () => undefined);
    await this.server.run(START + ms);
    return this;
  }

  get end(): (Ended & { readonly at: number }) | undefined {
    return this.ends.get(WORKFLOW);
  }

  get result(): FiringResult['state'] | undefined {
    return (this.end?.value as FiringResult | undefined)?.state;
  }

  #stateOf(id: string): LookedAt {
    if (this.state !== undefined) return { id, state: this.state, workflow: id };
    if (this.server.isOpen(id)) return { id, state: 'open', workflow: id };
    const end = this.ends.get(id);
    if (end === undefined) return { id, state: 'missing' };
    const outcome = (end.error as { readonly details?: readonly Outcome[] } | undefined)?.details?.[0];
    const state = end.kind === 'completed' ? 'succeeded' : end.kind === 'cancelled' ? 'cancelled' : outcome?.result;
    return { id, state: state ?? 'failed', workflow: id };
  }

  #activities() {
    const cloud: VirtualCloud = {
      create: async () => ({ kind: 'accepted' }),
      inspect: async () => ({ kind: 'missing' }),
      wait: async (_, signal) => (await this.server.sleep(0, signal), READY),
      remove: async () => undefined,
      run: async ({ spec }, signal) => {
        const left = START + Number(spec.command?.run ?? 0) * SECOND - this.server.now;
        await this.server.sleep(left, signal);
        return { kind: 'exited', code: 0, at: { slice: 0, host: 0 }, startedAt: START };
      },
      // The command takes its time to save.
      stop: async () => this.server.sleep(90 * SECOND),
    };
    return {
      ...virtualActivities(this.server, cloud, DEFAULT_TIMINGS),
      startFiring: async ({ firing, submission, isCancelled }: StartFiringInput): Promise<StartedFiring> => {
        const id = firingJobId(firing);
        const isThere = this.server.isOpen(id) || this.ends.has(id);
        if (isCancelled === true) return isThere ? { kind: 'started' } : { kind: 'skipped', why: 'it was cancelled' };
        const answer = this.answer((this.tries += 1));
        if (answer === 'away') throw new Error('the store is away');
        if (answer !== undefined && answer !== 'lost') return answer;
        const input: JobInput = { ...submission, firing };
        if (!isThere) {
          this.starts += 1;
          this.#start(WorkflowType.Job, id, input);
          // It is open before anybody can look.
          await this.server.sleep(1);
        }
        // The worker dies before it can say so.
        if (answer === 'lost') throw new Error('lost');
        return { kind: 'started' };
      },
      readRefusal: async () => ({ why: 'pool p has no project vision' }),
      cancelMembers: async ({ ids, asker }: { readonly ids: readonly string[]; readonly asker: object }) => {
        this.asked.push(...ids);
        for (const id of ids) {
          this.server.signal(id, cancelNoteSignal.name, { v: 1, ...asker });
          if (this.server.isOpen(id)) this.server.cancel(id);
        }
      },
      lookAtOthers: async ({ ids }: { readonly ids: readonly string[] }) => {
        this.looks += 1;
        return ids.map((id) => this.#stateOf(id));
      },
    };
  }
}

describe('a firing of a schedule', function () {
  this.timeout(60_000);

  it('starts its job, and is over within seconds of its end', async () => {
    const night = (await Night.open()).fire(600);
    await night.until(9 * MINUTE);
    assert.deepEqual([night.starts, night.end], [1, undefined]);
    await night.until(11 * MINUTE);
    const { at = 0 } = night.ends.get(JOB) ?? {};
    assert.equal(night.result, 'succeeded');
    assert.ok((night.end?.at ?? Infinity) < at + 5 * SECOND, `${night.end?.at} ms, and its job ${at} ms`);
  });

  it('costs next to nothing for a job of three weeks, over runs of its workflow, and hears of its end at once', async () => {
    const night = (await Night.open()).fire((21 * DAY) / SECOND);
    await night.until(21 * DAY - MINUTE);
    assert.ok(night.looks > 400 && night.looks < 21 * 24 + 12, `${night.looks} looks`);
    await night.until(21 * DAY + MINUTE);
    assert.deepEqual([night.result, night.starts, night.tries], ['succeeded', 1, 1]);
  });

  it('starts one job though the answer of the start was lost, twice', async () => {
    const night = await Night.open();
    night.answer = (tries) => (tries < 3 ? 'lost' : undefined);
    await night.fire(600).until(11 * MINUTE);
    assert.deepEqual([night.result, night.starts, night.tries], ['succeeded', 1, 3]);
  });

  it('tries on while a store is away for hours, and then starts one', async () => {
    const night = await Night.open();
    night.answer = () => (night.server.now < START + 5 * HOUR ? 'away' : undefined);
    await night.fire(6 * 3_600).until(4 * HOUR);
    assert.equal(night.starts, 0);
    assert.ok(night.tries < 200, `${night.tries} tries`);
    await night.until(6 * HOUR + MINUTE);
    assert.deepEqual([night.result, night.starts], ['succeeded', 1]);
  });

  it('that is cancelled cancels its job, and is over when that has ended, not before', async () => {
    const night = (await Night.open()).fire(9_999, { grace: '2m' });
    await night.until(30 * MINUTE);
    night.server.cancel(WORKFLOW);
    await night.until(31 * MINUTE);
    assert.equal(night.end, undefined, 'its job saves');
    await night.until(40 * MINUTE);
    assert.equal(night.result, 'cancelled');
    const { at = 0 } = (night.end ?? {}) as { readonly at?: number };
    assert.ok(at >= (night.ends.get(JOB)?.at ?? Infinity) - 5 * SECOND);
  });

  it('that is cancelled cancels the group of an array, whose members it waits for', async () => {
    const night = await Night.open();
    night.answer = () => ({ kind: 'started' });
    night.state = 'open';
    await night.fire(9_999, { array: { matrix: { n: '1..3' } } }).until(30 * MINUTE);
    night.server.cancel(WORKFLOW);
    await night.until(31 * MINUTE);
    assert.deepEqual([night.asked, night.end], [[`group/${JOB}`], undefined]);
    night.state = 'cancelled';
    await night.until(3 * HOUR);
    assert.equal(night.result, 'cancelled');
  });

  it('that is cancelled while the store is away starts nothing', async () => {
    const night = await Night.open();
    night.answer = () => 'away';
    await night.fire(60).until(20 * MINUTE);
    night.server.cancel(WORKFLOW);
    await night.until(21 * MINUTE);
    assert.deepEqual([night.result, night.starts], ['skipped', 0]);
  });

  it('that is cancelled while it does not know of the job that it has started cancels that job', async () => {
    const night = await Night.open();
    night.answer = () => 'lost';
    await night.fire(9_999).until(20 * MINUTE);
    assert.equal(night.starts, 1);
    night.server.cancel(WORKFLOW);
    await night.until(30 * MINUTE);
    assert.deepEqual([night.result, night.ends.has(JOB)], ['cancelled', true]);
  });

  it('finds a job that was terminated, which tells nobody, within the hour', async () => {
    const night = (await Night.open()).fire(99_999);
    await night.until(12 * HOUR);
    night.state = 'terminated';
    await night.until(13 * HOUR + MINUTE);
    assert.equal(night.result, 'terminated');
  });

  it('fails with the reason if its job cannot be started, or a worker refuses it; one that is left out does not', async () => {
    const refused = (await Night.open()).fire(60);
    refused.state = 'refused';
    await refused.until(2 * MINUTE);
    assert.match(refused.end?.error?.message ?? '', /pool p has no project vision/);
    for (const [kind, end] of [
      ['not-started', 'failed'],
      ['skipped', 'completed'],
    ] as const) {
      const night = await Night.open();
      night.answer = () => ({ kind, why: 'another job has the id' });
      await night.fire(60).until(MINUTE);
      assert.deepEqual([night.end?.kind, night.starts, night.tries], [end, 0, 1]);
    }
  });

  it('takes no workflow id that no schedule gives, and no state but its own', async () => {
    const night = await Night.open();
    const submission = { v: 1, job: {} };
    const ends: Ended[] = [];
    void night.server
      .start(WorkflowType.Firing, 'schedule/nightly', { v: 1, submission })
      .then((end) => void ends.push(end));
    await night.until(MINUTE);
    assert.match(ends[0]?.error?.message ?? '', /'schedule\/nightly' is not one that a schedule gives/);
    const forged = await Night.open();
    void forged.server.start(WorkflowType.Firing, WORKFLOW, { v: 1, submission, carry: { isStarted: true } });
    await forged.until(MINUTE);
    assert.equal(forged.tries, 1, 'it starts its job');
  });
});

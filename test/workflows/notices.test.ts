import assert from 'node:assert/strict';
import { ApplicationFailure } from '@temporalio/common';
import fc from 'fast-check';
import type { AttemptEnd, JobActivities } from '../../contract/job-activities.js';
import type { DeliverInput } from '../../contract/notices.js';
import { noticesWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import { eventText, type JobEvent, readEvent, type ToldEvent } from '../../domain/job-events/event.js';
import { isTold } from '../../domain/job-events/topics.js';
import { type OutsideTarget, targetKey } from '../../domain/notify.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { Sandboxes } from '../virtual-clock/sandboxes.js';
import { virtualActivities, type VirtualCloud } from '../virtual-clock/virtual-activities.js';
import { type Ended, VirtualServer } from '../virtual-clock/virtual-server.js';

const START = Date.UTC(2026, 10, 29);
const DAY = 86_400_000;
const JOB = 'train-7f3k';

/** How a receiver answers one try. `lost`: it took the event, and the answer was lost. */
type Answer = 'ok' | 'down' | 'lost' | 'slow' | 'never';

/** One job that tells receivers, in virtual time. */
class ToldJob {
  readonly server: VirtualServer;
  /** What each receiver got, repetitions included. */
  readonly got = new Map<string, ToldEvent[]>();
  events: readonly JobEvent[] = [];
  end: (Ended & { readonly at: number }) | undefined;
  readonly #answers: Answer[];

  constructor(sandboxes: Sandboxes, answers: readonly Answer[], delayMs: () => number) {
    this.server = new VirtualServer(sandboxes, { startAt: START, delayMs });
    this.#answers = [...answers];
  }

  async live(notify: readonly object[], exits: readonly number[], jobHistoryEvents: number): Promise<this> {
    const { server } = this;
    const left = [...exits];
    const cloud: VirtualCloud = {
      create: async () => ({ kind: 'accepted' }),
      inspect: async () => READY,
      wait: async () => READY,
      remove: async () => undefined,
      run: async (_, signal): Promise<AttemptEnd> => {
        await server.sleep(60_000, signal);
        return { kind: 'exited', code: left.shift() ?? 0, at: { slice: 0, host: 0 }, startedAt: 0 };
      },
    };
    server.serve({
      ...virtualActivities(server, cloud, { ...DEFAULT_TIMINGS, jobHistoryEvents }),
      deliverNotice: (input: DeliverInput) => this.#deliver(input),
      recordOutcome: async ({ events }: Parameters<JobActivities['recordOutcome']>[0]) =>
        void (this.events = events.map(readEvent)),
    });
    const tpu = { accelerator: 'v5litepod-1', zone: 'us-central1-a' };
    const job = { name: 'train', tpu, retries: { task: 10 }, command: { run: 'train' }, notify };
    void server.start(WorkflowType.Job, JOB, { v: 1, job }).then((end) => (this.end = { ...end, at: server.now }));
    await server.run(START + 3 * DAY);
    return this;
  }

  async #deliver({ target, event }: DeliverInput): Promise<void> {
    const answer = this.#answers.shift() ?? 'ok';
    if (answer === 'slow') await this.server.sleep(50_000);
    if (answer === 'down') throw new Error('it answered 503');
    if (answer === 'never') throw ApplicationFailure.create({ message: 'it answered 410', nonRetryable: true });
    const key = targetKey(target);
    this.got.set(key, [...(this.got.get(key) ?? []), event]);
    if (answer === 'lost') throw new Error('the answer was lost');
  }

  /** The texts that a receiver got, each id once. */
  once(to: OutsideTarget): readonly string[] {
    const events = new Map((this.got.get(targetKey(to)) ?? []).map((event) => [event.id, event.text]));
    return [...events.values()];
  }

  /** The texts that its rule is to be told. A cut of the 200 events that a job keeps would show here. */
  wanted(on: readonly string[]): readonly string[] {
    return this.events.filter((event) => isTold(on, event)).map(eventText);
  }
}

const READY = { kind: 'ready', uid: 'u', hosts: [{ reach: 'ssh', index: 0, internalIp: '10.0.0.1' }] } as const;
const HOOK = { webhook: 'https://example.org/jobs', secret: 'key' } as const;
const MAIL = { mail: ['ann@example.org'] } as const;
const ON = ['queued', 'started', 'retried', 'ended'];

describe('a job that tells others of its events', function () {
  this.timeout(300_000);
  let sandboxes: Sandboxes;
  before(async () => {
    sandboxes = await Sandboxes.ofThisProcess();
  });

  it('tells each event once to each receiver, in order, however receivers answer and however often it continues as new', async () => {
    let [repeated, renewed] = [0, 0];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom<Answer>('ok', 'down', 'lost', 'slow'), { maxLength: 30 }),
        fc.array(fc.constantFrom(1, 2), { maxLength: 4 }),
        fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 5 }),
        fc.constantFrom(30, 10_000),
        async (answers, exits, delays, jobHistoryEvents) => {
          let call = 0;
          const delayMs = (): number => delays[(call += 1) % delays.length] ?? 1;
          const job = await new ToldJob(sandboxes, answers, delayMs).live(
            [
              { on: ON, to: HOOK },
              { on: ['retried', 'ended'], to: MAIL },
            ],
            exits,
            jobHistoryEvents,
          );
          assert.equal(job.end?.kind, 'completed');
          assert.equal(job.server.isOpen(noticesWorkflowId(JOB)), false);
          assert.deepEqual(job.once(HOOK), job.wanted(ON));
          assert.deepEqual(job.once(MAIL), job.wanted(['retried', 'ended']));
          // One `started` for each attempt, one `retried` for each exit, one end; `queued` once or more.
          assert.ok(job.once(HOOK).length >= 2 * exits.length + 3);
          if ((job.got.get(targetKey(HOOK)) ?? []).length > job.once(HOOK).length) repeated += 1;
          if (jobHistoryEvents === 30 && exits.length > 1) renewed += 1;
        },
      ),
      { numRuns: 40 },
    );
    assert.ok(repeated > 2 && renewed > 2, `${repeated} ${renewed}`);
  });

  it('is over although its receiver is down for a day, and names the workflow that goes on', async () => {
    const job = await new ToldJob(
      sandboxes,
      Array.from({ length: 2_000 }, () => 'down' as const),
      () => 10,
    ).live([{ to: HOOK }], [], 10_000);
    assert.ok((job.end?.at ?? Infinity) - START < 600_000);
    const line = 'notify: workflow notices/train-7f3k delivers what is left to webhook https://example.org';
    assert.ok(job.events.map(eventText).includes(line));
    assert.deepEqual(job.once(HOOK), job.wanted(['ended']));
  });

  it('says which events a receiver refused for good, and goes on with the next', async () => {
    const job = await new ToldJob(sandboxes, ['ok', 'never', 'ok'], () => 10).live([{ on: ON, to: HOOK }], [1], 10_000);
    const wanted = job.wanted(ON);
    assert.deepEqual(job.once(HOOK), [wanted[0], ...wanted.slice(2)]);
    const told = job.events.filter(({ kind }) => kind === 'not-notified').map(eventText);
    assert.deepEqual(told, ['notify: webhook https://example.org not told: it answered 410']);
  });

  it('starts nothing for a rule of which nothing happened', async () => {
    const job = await new ToldJob(sandboxes, [], () => 10).live([{ on: ['preempted'], to: HOOK }], [1], 10_000);
    assert.equal(job.got.size, 0);
    assert.deepEqual(
      job.events.filter(({ kind }) => /not/.test(kind)),
      [],
    );
  });
});

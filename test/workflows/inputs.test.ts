import assert from 'node:assert/strict';
import type { FoundInputs } from '../../contract/job-activities.js';
import { describeQuery, type JobView } from '../../contract/job.js';
import { JOB_UPDATES } from '../../contract/job-requests.js';
import type { QuotaActivities } from '../../contract/quota-activities.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import type { Outcome } from '../../domain/job-state.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { READY } from '../virtual-clock/plain-activities.js';
import { Sandboxes } from '../virtual-clock/sandboxes.js';
import { virtualActivities, type VirtualCloud } from '../virtual-clock/virtual-activities.js';
import { type Ended, VirtualServer } from '../virtual-clock/virtual-server.js';

const START = Date.UTC(2026, 10, 30);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const FOUND: FoundInputs = {
  kind: 'found',
  inputs: [{ name: 'data', job: 'prep', files: 2, bytes: 20, jobs: 1 }],
};

/** A job with an input, in virtual time. Its story is what it asked for, in order. */
class Reader {
  readonly server: VirtualServer;
  readonly asked: string[] = [];
  end: Ended | undefined;
  /** One answer for each look; the last one stays. */
  answers: (FoundInputs | Error)[] = [FOUND];

  private constructor(server: VirtualServer) {
    this.server = server;
  }

  static async start(...answers: readonly (FoundInputs | Error)[]): Promise<Reader> {
    const server = new VirtualServer(await Sandboxes.ofThisProcess(), { startAt: START, delayMs: () => 50 });
    const reader = new Reader(server);
    if (answers.length > 0) reader.answers = [...answers];
    server.serve(reader.#activities());
    const job = {
      ...{ name: 'train', tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' }, command: { run: 'x' } },
      inputs: { data: { job: 'prep', wait: false } },
    };
    void server.start(WorkflowType.Job, 'train', { v: 1, job }).then((end) => (reader.end = end));
    return reader;
  }

  async until(ms: number): Promise<this> {
    this.server.at(START + ms, () => undefined);
    await this.server.run(START + ms);
    return this;
  }

  view(): Promise<JobView> {
    return this.server.query<JobView>('train', describeQuery.name);
  }

  get outcome(): Outcome {
    if (this.end?.kind === 'completed') return this.end.value as Outcome;
    return ((this.end?.error ?? {}) as { readonly details?: readonly Outcome[] }).details?.[0] as Outcome;
  }

  #activities() {
    const cloud: VirtualCloud = {
      create: async () => ({ kind: 'accepted' }),
      inspect: async () => ({ kind: 'missing' }),
      wait: async (_, signal) => (await this.server.sleep(0, signal), READY),
      remove: async () => undefined,
      run: async (_, signal) => {
        this.asked.push('run');
        await this.server.sleep(10 * MINUTE, signal);
        return { kind: 'exited', code: 0, at: { slice: 0, host: 0 }, startedAt: START };
      },
    };
    const base = virtualActivities(this.server, cloud, DEFAULT_TIMINGS);
    return {
      ...base,
      findInputs: async () => {
        this.asked.push('look');
        const [answer = FOUND] = this.answers;
        if (this.answers.length > 1) this.answers.shift();
        if (answer instanceof Error) throw answer;
        return answer;
      },
      sendLease: async (message: Parameters<QuotaActivities['sendLease']>[0], signal: AbortSignal) => {
        if (message.body.kind === 'request') this.asked.push('lease');
        return base['sendLease']?.(message as never, signal);
      },
    };
  }
}

describe('a job with inputs', function () {
  this.timeout(60_000);

  it('looks for them before it asks for a lease, and says what it found', async () => {
    const reader = await (await Reader.start()).until(5 * MINUTE);
    assert.deepEqual(reader.asked, ['look', 'lease', 'run']);
    const { events } = await reader.view();
    const found = events?.find(({ kind }) => kind === 'inputs-found');
    assert.equal(found?.text, 'inputs: data: 2 files (20 B) of prep');
  });

  it('asks for nothing and fails if they are gone', async () => {
    const reader = await Reader.start({ kind: 'gone', why: 'input data: no outputs of prep are stored' });
    await reader.until(5 * MINUTE);
    assert.deepEqual(reader.asked, ['look']);
    const { result, attempts, cause } = reader.outcome;
    assert.deepEqual([result, attempts], ['failed', 0]);
    assert.equal(cause?.message, 'it cannot begin: input data: no outputs of prep are stored');
  });

  it('waits for a store that does not answer, says so, and can be stopped meanwhile', async () => {
    const reader = await Reader.start(new Error('503 from the store'));
    await reader.until(5 * MINUTE);
    assert.ok(!reader.asked.includes('lease') && reader.asked.length > 3, reader.asked.join());
    assert.match((await reader.view()).why ?? '', /its inputs cannot be looked for: .*503 from the store/);
    await reader.server.update('train', JOB_UPDATES.stop.name, {});
    await reader.until(6 * MINUTE);
    const looks = reader.asked.length;
    await reader.until(20 * MINUTE);
    assert.equal(reader.asked.length, looks);
    reader.answers = [FOUND];
    await reader.server.update('train', JOB_UPDATES.resume.name, {});
    await reader.until(22 * MINUTE);
    assert.deepEqual(reader.asked.slice(looks), ['look', 'lease', 'run']);
    assert.doesNotMatch((await reader.view()).why ?? '', /cannot be looked for/);
  });

  it('looks again before it asks for chips again', async () => {
    const reader = await Reader.start(FOUND, { kind: 'gone', why: 'input data: deleted' });
    await reader.until(2 * MINUTE);
    await reader.server.update('train', JOB_UPDATES.requeue.name, {});
    await reader.until(20 * MINUTE);
    assert.deepEqual(
      reader.asked.filter((each) => each !== 'run'),
      ['look', 'lease', 'look'],
    );
    assert.match(reader.outcome.cause?.message ?? '', /input data: deleted/);
  });
});

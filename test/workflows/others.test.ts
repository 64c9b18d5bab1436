import assert from 'node:assert/strict';
import { followedSignal, type LookedAt } from '../../contract/after.js';
import { beginUpdate, type GroupResult } from '../../contract/group.js';
import { type JobView, cancelNoteSignal, describeQuery } from '../../contract/job.js';
import type { QuotaActivities } from '../../contract/quota-activities.js';
import { groupWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import type { PastState } from '../../domain/after.js';
import type { Outcome } from '../../domain/job-state.js';
import { DEFAULT_TIMINGS, type Timings } from '../../domain/timings.js';
import { READY } from '../virtual-clock/plain-activities.js';
import { Sandboxes } from '../virtual-clock/sandboxes.js';
import { virtualActivities, type VirtualCloud } from '../virtual-clock/virtual-activities.js';
import { type Ended, VirtualServer } from '../virtual-clock/virtual-server.js';

const START = Date.UTC(2026, 10, 30);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** Of the calls and messages between an end and the start of the next job. */
const SLACK_MS = 10 * SECOND;

/** Jobs that wait for one another, in virtual time. A job's command runs for the seconds that it names, then exits with a code. */
class Chain {
  readonly server: VirtualServer;
  readonly ends = new Map<string, Ended & { readonly at: number }>();
  /** When the command of each job began, in ms since the start. */
  readonly began = new Map<string, number>();
  /** When each lease was asked for, and since when its job stands in line. */
  readonly asked = new Map<string, number>();
  looks = 0;
  /** Jobs that were ended from outside. */
  readonly terminated = new Set<string>();
  readonly missing = new Set<string>();
  /** Jobs that are shown as open, and take no signal. */
  readonly deaf = new Set<string>();

  private constructor(server: VirtualServer) {
    this.server = server;
  }

  static async open(timings: Partial<Timings> = {}): Promise<Chain> {
    const server = new VirtualServer(await Sandboxes.ofThisProcess(), { startAt: START, delayMs: () => 50 });
    const chain = new Chain(server);
    server.serve(chain.#activities({ ...DEFAULT_TIMINGS, ...timings }));
    return chain;
  }

  submit(id: string, run: string, more: object = {}): void {
    const job = {
      name: 'train',
      tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' },
      command: { run },
      ...more,
    };
    this.#start(WorkflowType.Job, id, id, { v: 1, job });
  }

  submitGroup(id: string, array: object, more: object = {}): void {
    const job = {
      name: 'exp',
      tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' },
      command: { run: 'x' },
      array,
      ...more,
    };
    this.#start(WorkflowType.Group, groupWorkflowId(id), id, { v: 1, submission: { v: 1, job } });
  }

  #start(type: string, workflow: string, id: string, input: object): void {
    void this.server.start(type, workflow, input).then((end) => this.ends.set(id, { ...end, at: this.#now }));
  }

  async until(ms: number): Promise<this> {
    this.server.at(START + ms, () => undefined);
    await this.server.run(START + ms);
    return this;
  }

  view(id: string): Promise<JobView> {
    return this.server.query<JobView>(id, describeQuery.name);
  }

  outcome(id: string): Outcome {
    const end = this.ends.get(id);
    if (end?.kind === 'completed') return end.value as Outcome;
    const { details } = (end?.error ?? {}) as { readonly details?: readonly Outcome[] };
    return details?.[0] as Outcome;
  }

  get #now(): number {
    return this.server.now - START;
  }

  #stateOf(id: string): LookedAt {
    const workflow = [id, groupWorkflowId(id)].find((each) => this.server.isOpen(each));
    if (this.deaf.has(id)) return { id, state: 'open', workflow: id };
    if (this.missing.has(id)) return { id, state: 'missing' };
    if (this.terminated.has(id)) return { id, state: 'terminated', workflow: id };
    if (workflow !== undefined) return { id, state: 'open', workflow };
    const end = this.ends.get(id);
    if (end === undefined) return { id, state: 'missing' };
    const group = end.value as GroupResult | undefined;
    if (group?.state !== undefined) return { id, state: /^[s-]+$/.test(group.state.marks) ? 'succeeded' : 'failed' };
    const state: PastState =
      end.kind === 'completed' ? 'succeeded' : end.kind === 'cancelled' ? 'cancelled' : this.outcome(id).result;
    return { id, state, workflow: id };
  }

  #activities(timings: Timings) {
    const cloud: VirtualCloud = {
      create: async () => ({ kind: 'accepted' }),
      inspect: async () => ({ kind: 'missing' }),
      wait: async (_, signal) => (await this.server.sleep(0, signal), READY),
      remove: async () => undefined,
      run: async ({ job, spec }, signal) => {
        const began = this.began.get(job.id) ?? this.#now;
        this.began.set(job.id, began);
        const [seconds = 0, code = 0] = (spec.command?.run ?? '').split(' ').map(Number);
        // A supervision ends now and then, and the next one finds the same command.
        await this.server.sleep(began + seconds * SECOND - this.#now, signal);
        return { kind: 'exited', code, at: { slice: 0, host: 0 }, startedAt: began };
      },
    };
    const base = virtualActivities(this.server, cloud, timings);
    const members = {
      startMembers: async ({ indexes }: { readonly indexes: readonly number[] }) => {
        this.began.set('members', this.#now);
        return { marks: 's'.repeat(indexes.length), notes: [] };
      },
      compareMembers: async ({ state }: { readonly state: { readonly marks: string; readonly rounds: string } }) => ({
        marks: '.'.repeat(state.marks.length),
        rounds: state.rounds,
      }),
      cancelMembers: async () => undefined,
    };
    return {
      ...base,
      ...members,
      sendLease: async (message: Parameters<QuotaActivities['sendLease']>[0], signal: AbortSignal) => {
        const { lease, body } = message;
        if (body.kind === 'request') this.asked.set(lease.job, body.demand.submittedAt - START);
        return base['sendLease']?.(message as never, signal);
      },
      lookAtOthers: async ({ ids }: { readonly ids: readonly string[] }) => {
        this.looks += 1;
        return ids.map((id) => this.#stateOf(id));
      },
    };
  }
}

describe('a job that waits for others', function () {
  this.timeout(60_000);

  it('begins when all that its file names have ended as it wants, within seconds, and stands in line since then', async () => {
    const chain = await Chain.open();
    chain.submit('prep', '600');
    chain.submit('broken', '900 3');
    chain.submit('other', '300 1');
    chain.submit('train', '10', {
      after: { ok: ['prep'], not_ok: ['broken'], any: 'other' },
      timeouts: { queue: '1m' },
    });
    await chain.until(5 * MINUTE);
    const { phase, why } = await chain.view('train');
    assert.deepEqual(
      [phase, why],
      ['queued', 'waits for prep to succeed; other to end; broken to end without success'],
    );
    await chain.until(12 * MINUTE);
    assert.equal((await chain.view('train')).why, 'waits for broken to end without success');
    assert.equal(chain.asked.has('train'), false, 'its pool hears nothing of it');
    await chain.until(40 * MINUTE);
    const at = chain.began.get('train') ?? 0;
    assert.ok(at > 15 * MINUTE && at < 15 * MINUTE + SLACK_MS, `it began after ${at} ms`);
    assert.ok((chain.asked.get('train') ?? 0) >= 15 * MINUTE, 'it stands in line since it could begin');
    assert.equal(chain.outcome('train').result, 'succeeded', 'timeouts.queue did not count the wait');
  });

  const WRONG: readonly [string, string, object, RegExp][] = [
    [
      'ok',
      '10 3',
      { ok: ['prep'] },
      /did not begin: prep failed, and it was to run only if that succeeded \(after\.ok\)/,
    ],
    [
      'not_ok',
      '10',
      { not_ok: ['prep'] },
      /prep succeeded, and it was to run only if that did not succeed \(after\.not_ok\)/,
    ],
    ['one that is not there', '10', { any: ['gone'] }, /Temporal knows no job or group 'gone'/],
    ['itself', '10', { any: ['train'] }, /after itself/],
  ];
  for (const [what, run, after, message] of WRONG)
    it(`ends as cancelled, with the reason, without waiting for the rest: ${what}`, async () => {
      const chain = await Chain.open();
      chain.submit('prep', run);
      chain.submit('long', '86400');
      chain.submit('train', '10', { after: { ...after, ok: [...((after as { ok?: string[] }).ok ?? []), 'long'] } });
      chain.submit('last', '10', { after: 'train' });
      await chain.until(5 * MINUTE);
      assert.equal(chain.outcome('train').result, 'cancelled');
      assert.match(chain.outcome('train').cause?.message ?? '', message);
      assert.match(chain.outcome('last').cause?.message ?? '', /train was cancelled/, 'the one behind it hears of it');
      assert.equal(chain.began.has('train') || chain.began.has('last'), false);
    });

  it('finds the end of one that told nothing, and looks seldom at one that runs for days', async () => {
    const chain = await Chain.open();
    chain.submit('prep', '999999');
    chain.submit('train', '10', { after: { any: 'prep' } });
    await chain.until(24 * 60 * MINUTE);
    assert.ok(chain.looks < 160, `${chain.looks} looks in a day`);
    chain.terminated.add('prep');
    await chain.until(24 * 60 * MINUTE + 11 * MINUTE);
    assert.equal(chain.outcome('train').result, 'succeeded');
  });

  it('looks seldom, too, at one that takes no signals and is shown as open', async () => {
    const chain = await Chain.open();
    chain.submit('prep', '1');
    await chain.until(MINUTE);
    chain.deaf.add('prep');
    chain.submit('train', '10', { after: { any: 'prep' } });
    await chain.until(60 * MINUTE);
    assert.ok(chain.looks < 25, `${chain.looks} looks in an hour`);
    chain.deaf.delete('prep');
    await chain.until(75 * MINUTE);
    assert.equal(chain.outcome('train').result, 'succeeded');
  });

  it('waits on over runs of its workflow, hears a stop, and is cancelled at once', async () => {
    const chain = await Chain.open({ jobHistoryEvents: 60 });
    chain.submit('prep', '999999');
    for (const id of ['train', 'other']) chain.submit(id, '10', { after: 'prep' });
    await chain.until(6 * 60 * MINUTE);
    assert.equal((await chain.view('train')).why, 'waits for prep to succeed');
    await chain.server.update('train', 'stop', { v: 1, by: 'alice' });
    await chain.until(6 * 60 * MINUTE + MINUTE);
    assert.equal((await chain.view('train')).phase, 'released');
    await chain.server.update('train', 'resume', { v: 1, by: 'alice' });
    await chain.until(6 * 60 * MINUTE + 2 * MINUTE);
    assert.equal((await chain.view('train')).why, 'waits for prep to succeed');
    chain.server.signal('other', cancelNoteSignal.name, { v: 1, by: 'bob', verb: 'cancel' });
    chain.server.cancel('other');
    await chain.until(6 * 60 * MINUTE + 3 * MINUTE);
    assert.equal(chain.ends.get('other')?.kind, 'cancelled');
  });

  it('goes on when a person takes `after` away, and no edit brings another one', async () => {
    const chain = await Chain.open();
    chain.submit('prep', '999999');
    chain.submit('train', '10', { after: 'prep' });
    await chain.until(MINUTE);
    const edit = (value: unknown) => ({ v: 1, by: 'alice', set: [{ path: ['after'], value }] });
    await assert.rejects(chain.server.update('train', 'restart', edit('last')), /after: .*cannot be changed/);
    const said = await chain.server.update('train', 'restart', {
      ...edit(null),
      set: [
        { path: ['after'], value: null },
        { path: ['timeouts'], value: { queue: '10s' } },
      ],
    });
    assert.match(said, /from when it stands in line it waits for chips for 10 s at most/);
    await chain.until(3 * MINUTE);
    assert.equal(chain.outcome('train').result, 'succeeded', 'timeouts.queue did not count the wait');
    assert.ok((chain.asked.get('train') ?? 0) >= MINUTE, 'it stands in line since it was let go');
  });

  it('a forged word of an end, and of a follower, changes nothing', async () => {
    const chain = await Chain.open();
    chain.submit('prep', '600');
    chain.submit('train', '10', { after: 'prep' });
    await chain.until(MINUTE);
    chain.server.signal('train', 'otherEnded', { v: 1, id: 'prep' });
    // Its pool asks every open job that it does not know.
    chain.server.signal('train', 'restate', { epoch: 1 });
    for (const follower of ['quota/default', '../x', 'A', ''])
      chain.server.signal('prep', followedSignal.name, { v: 1, follower });
    await chain.until(9 * MINUTE);
    assert.equal(chain.began.has('train'), false);
    await chain.until(12 * MINUTE);
    assert.equal(chain.outcome('train').result, 'succeeded');
  });

  it('a group waits as one, is waited for as one, and its retry waits for nobody', async () => {
    const chain = await Chain.open();
    chain.submit('prep', '600');
    chain.submitGroup('exp', { matrix: { i: '1..5' } }, { after: 'prep' });
    chain.submit('sum', '10', { after: { ok: 'exp' } });
    await chain.until(9 * MINUTE);
    assert.equal(chain.began.has('members'), false);
    const told = { counts: { waiting: 5 }, awaited: 'prep to succeed' };
    assert.deepEqual(chain.server.memoOf(groupWorkflowId('exp')), told, 'lists, which ask no worker, know it');
    await chain.until(12 * MINUTE);
    assert.equal(chain.server.memoOf(groupWorkflowId('exp'))['awaited'], '');
    const at = chain.began.get('members') ?? 0;
    assert.ok(at >= 10 * MINUTE && at < 10 * MINUTE + SLACK_MS, `its members began after ${at} ms`);
    assert.equal(chain.outcome('sum').result, 'succeeded');
  });

  it('a group begins without waiting on if a person lets it, once', async () => {
    const chain = await Chain.open();
    chain.submit('prep', '999999');
    chain.submitGroup('exp', { matrix: { i: '1..5' } }, { after: 'prep' });
    await chain.until(MINUTE);
    const begin = () => chain.server.update(groupWorkflowId('exp'), beginUpdate.name, { v: 1, by: 'alice' });
    await assert.rejects(chain.server.update(groupWorkflowId('exp'), beginUpdate.name, { by: '' }), /form/);
    assert.equal(await begin(), 'group exp waits for no others any more: its members begin');
    assert.equal(await begin(), 'group exp waits for no others: nothing was changed');
    await chain.until(2 * MINUTE);
    assert.ok(chain.began.has('members'));
    assert.equal(chain.server.memoOf(groupWorkflowId('exp'))['awaited'], '');
  });

  it('no member begins if the group can never begin', async () => {
    const chain = await Chain.open();
    chain.submit('prep', '60 1');
    chain.submitGroup('exp', { matrix: { i: '1..3' } }, { after: 'prep' });
    await chain.until(5 * MINUTE);
    const result = chain.ends.get('exp')?.value as GroupResult | undefined;
    assert.equal(result?.state.marks, 'nnn');
    assert.deepEqual(chain.server.memoOf(groupWorkflowId('exp')), { counts: { 'never begun': 3 }, awaited: '' });
    assert.match(result?.notes[0]?.[1] ?? '', /did not begin: prep failed/);
    assert.equal(chain.began.has('members'), false);
  });
});

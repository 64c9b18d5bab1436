import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  type GroupInput,
  type GroupResult,
  memberNewsSignal,
  type StartMembersInput,
  UNSEEN,
} from '../../contract/group.js';
import type { AcceptJobInput, AttemptEnd, AttemptInput, JobActivities } from '../../contract/job-activities.js';
import { grantedSignal, revokedSignal } from '../../contract/job.js';
import type { QuotaActivities } from '../../contract/quota-activities.js';
import { leaseAnswerSignal } from '../../contract/slice.js';
import { groupWorkflowId, sliceWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import { markOfResult, memberId, memberWithId } from '../../domain/array/group-state.js';
import type { JobRecord } from '../../domain/counted/record.js';
import type { JobResult, Outcome } from '../../domain/job-state.js';
import { type LeaseId, leaseKey } from '../../domain/lease.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { plainActivities } from '../virtual-clock/plain-activities.js';
import { Sandboxes } from '../virtual-clock/sandboxes.js';
import { virtualActivities } from '../virtual-clock/virtual-activities.js';
import { VirtualServer } from '../virtual-clock/virtual-server.js';

const START = Date.UTC(2026, 10, 30);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const GROUP = 'exp';
const ID = groupWorkflowId(GROUP);
const TIMINGS = { ...DEFAULT_TIMINGS, heartbeatTimeoutMs: MINUTE };

const COMMAND_MS = 100 * SECOND;

/** The one attempt of a command: by whom, on which slice, from when to when. */
interface Run {
  readonly job: string;
  readonly slice: string;
  readonly from: number;
  to: number;
}

interface Lease {
  readonly id: LeaseId;
  readonly slices: Set<string>;
  isReleased: boolean;
}

/**
 * A group, its members and their slices as they ship, in virtual time. Behind them are a pool of so many leases that grants in
 * the order of the requests and frees a lease as a lease book does, and a cloud that counts what it creates.
 */
class Sweep {
  readonly server: VirtualServer;
  readonly runs: Run[] = [];
  readonly created: string[] = [];
  readonly present = new Set<string>();
  readonly outcomes = new Map<string, Outcome>();
  /** The last account of each job. */
  readonly accounts = new Map<string, JobRecord>();
  /** Milliseconds for which slices were there, until they were told to go. */
  readyMs = 0;
  readonly workflows: string[] = [];
  readonly parked: boolean[] = [];
  mostLeased = 0;
  mostOnOne = 0;
  isWaitedFor = false;
  /** `SLICE for JOB`: a set-up that does not work there. */
  readonly bad = new Set<string>();
  /** Commands that end otherwise than with code 0. */
  readonly codes = new Map<string, number>();
  readonly #size: number;
  readonly #leases = new Map<string, Lease>();
  readonly #line: LeaseId[] = [];
  readonly #lost = new Map<string, () => void>();
  readonly #stop = new Map<string, () => void>();
  #end: GroupResult | undefined;

  private constructor(server: VirtualServer, size: number) {
    this.server = server;
    this.#size = size;
    this.#serve();
  }

  static async of(size: number, delayMs: () => number = () => 50): Promise<Sweep> {
    return new Sweep(new VirtualServer(await Sandboxes.ofThisProcess(), { startAt: START, delayMs }), size);
  }

  start(array: object, more: object = {}): this {
    const job = {
      ...{ name: 'exp', tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' }, command: { run: 'train' } },
      ...{ retries: { task: 0 }, grace: '30s', array: { warm: true, ...array }, ...more },
    };
    const input: GroupInput = { v: 1, submission: { v: 1, job } };
    void this.server.start(WorkflowType.Group, ID, input).then(({ value, error }) => {
      if (error !== undefined) throw error;
      this.#end = value as GroupResult;
    });
    return this;
  }

  async until(ms: number): Promise<this> {
    this.server.at(START + ms, () => undefined);
    await this.server.run(START + ms);
    return this;
  }

  /** Until nothing more happens. */
  async settled(): Promise<this> {
    return this.until(24 * 60 * MINUTE);
  }

  get marks(): string {
    assert.ok(this.#end !== undefined, 'the group goes on');
    return this.#end.state.marks;
  }

  /** Nothing is open, present or leased. */
  assertNothingLeft(): void {
    assert.deepEqual(
      this.workflows.filter((id) => this.server.isOpen(id)),
      [],
      'open workflows',
    );
    assert.deepEqual([...this.present], [], 'slices');
    assert.deepEqual([...this.#leases.keys()], [], 'leases');
    assert.ok(this.mostLeased <= this.#size, `${this.mostLeased} leases of ${this.#size}`);
    assert.ok(this.mostOnOne <= 1, `${this.mostOnOne} commands on one slice at once`);
  }

  /** Each second of a ready slice is charged to one job. */
  assertChargedOnce(): void {
    const charged = [...this.accounts.values()].reduce((sum, account) => sum + account.charged, 0);
    const there = this.readyMs / SECOND;
    // Signals between jobs, and the look at a slice, take 50 ms each.
    assert.ok(Math.abs(charged - there) < 6, `${charged} s charged, ${there} s there`);
  }

  /** The job that now runs on a slice of another. */
  get lodger(): Run | undefined {
    return this.runs.find(({ job, slice, to }) => to === Infinity && !slice.includes(`${job}-`));
  }

  preempt(slice: string): void {
    this.present.delete(slice);
    this.#lost.get(slice)?.();
  }

  /** The pool wants a lease of this job back. */
  revoke(job: string): void {
    const lease = [...this.#leases.values()].find(({ id, isReleased }) => id.job === job && !isReleased);
    if (lease === undefined) return;
    const { run, number } = lease.id;
    this.server.signal(job, revokedSignal.name, { run, number, epoch: 1, reason: 'bob waits', cause: 'quota' });
  }

  isOpen(job: string): boolean {
    return this.server.isOpen(job);
  }

  #serve(): void {
    const cloud = {
      create: async ({ ref }: { readonly ref: { readonly name: string } }) => {
        this.created.push(ref.name);
        this.present.add(ref.name);
        return { kind: 'accepted' } as const;
      },
      inspect: async () => ({ kind: 'waiting', detail: 'PROVISIONING' }) as const,
      wait: async ({ name }: { readonly name: string }, signal: AbortSignal) => {
        await this.server.sleep(MINUTE, signal);
        if (!this.present.has(name)) return { kind: 'lost', cause: 'preempted', message: 'PREEMPTED' } as const;
        this.readyMs -= this.server.now;
        const hosts = [{ reach: 'ssh', index: 0, internalIp: '10.0.0.1' }] as const;
        return { kind: 'ready', uid: `uid of ${name}`, hosts } as const;
      },
      remove: async ({ name }: { readonly name: string }) => {
        this.readyMs += this.server.now;
        await this.server.sleep(5 * SECOND);
        this.present.delete(name);
      },
      run: (input: AttemptInput, signal: AbortSignal) => this.#run(input, signal),
      stop: async ({ job }: AttemptInput) => {
        await this.server.sleep(10 * SECOND);
        this.#stop.get(job.id)?.();
      },
    };
    this.server.serve({
      ...virtualActivities(this.server, cloud, TIMINGS, { sendLease: (message) => this.#sendLease(message) }),
      acceptJob: async (question: AcceptJobInput) => {
        const accepted = await plainActivities('virtual', TIMINGS).acceptJob(question);
        return { ...accepted, fits: `priority ${question.spec.priority}` };
      },
      holdSlices: async (_: unknown, signal: AbortSignal) => this.server.sleep(1e12, signal),
      setUpHosts: async ({ job, slices }: AttemptInput) =>
        this.bad.has(`${slices[0]?.ref.name} for ${job.id}`)
          ? { kind: 'host-bad', at: { slice: 0, host: 0 }, module: 'connect', message: 'no answer' }
          : { kind: 'ready' },
      isWaitedFor: async () => this.isWaitedFor,
      recordOutcome: async ({ job, outcome, counted }: Parameters<JobActivities['recordOutcome']>[0]) => {
        this.outcomes.set(job.id, this.outcomes.get(job.id) ?? outcome);
        if (counted !== undefined) this.accounts.set(job.id, counted);
      },
      startMembers: async ({ group, round, indexes, submission, landlords = [] }: StartMembersInput) => {
        for (const index of indexes) {
          const landlord = new Map(landlords).get(index);
          const member = { group, index, ...(round > 0 && { round }), ...(landlord !== undefined && { landlord }) };
          this.#begin(memberId(member), { ...submission, member });
        }
        return { marks: 'o'.repeat(indexes.length), notes: [] };
      },
      cancelMembers: async ({ ids }: { readonly ids: readonly string[] }) => {
        for (const id of ids) if (this.server.isOpen(id)) this.server.cancel(id);
      },
      compareMembers: async ({ state }: { readonly state: { readonly marks: string; readonly rounds: string } }) => {
        const marks = Array.from(state.marks, () => UNSEEN as string);
        for (const id of this.workflows) {
          const { index } = memberWithId(GROUP, id) ?? {};
          if (index === undefined) continue;
          const outcome = this.outcomes.get(id);
          marks[index] = outcome === undefined ? (this.server.isOpen(id) ? 'o' : 't') : markOfResult(outcome.result);
        }
        return { ...state, marks: marks.join('') };
      },
      tellGroup: async ({ news }: { readonly news: unknown }) =>
        void this.server.signal(ID, memberNewsSignal.name, [news]),
    });
  }

  #begin(id: string, input: unknown): void {
    this.workflows.push(id);
    void this.server.start(WorkflowType.Job, id, input);
  }

  async #run({ job, slices }: AttemptInput, signal: AbortSignal): Promise<AttemptEnd> {
    const [slice] = slices;
    const { name = '' } = slice?.ref ?? {};
    const at = { slice: 0, host: 0 };
    const preempted = { index: 0, cause: 'preempted', message: 'PREEMPTED' } as const;
    if (!this.present.has(name)) return { kind: 'slices-lost', slices: [preempted] };
    const run: Run = { job: job.id, slice: name, from: this.server.now, to: Infinity };
    this.runs.push(run);
    this.mostOnOne = Math.max(
      this.mostOnOne,
      this.runs.filter(({ slice: on, to }) => on === name && to === Infinity).length,
    );
    const told = new AbortController();
    try {
      const stopped = new Promise<AttemptEnd>((resolve) =>
        this.#stop.set(job.id, () =>
          resolve({ kind: 'exited', code: 143, at, startedAt: run.from, isStopped: true } as never),
        ),
      );
      const lost = new Promise<AttemptEnd>((resolve) =>
        this.#lost.set(name, () => resolve({ kind: 'slices-lost', slices: [preempted] })),
      );
      const ended = this.server
        .sleep(COMMAND_MS, AbortSignal.any([signal, told.signal]))
        .then((): AttemptEnd => ({ kind: 'exited', code: this.codes.get(job.id) ?? 0, at, startedAt: run.from }));
      ended.catch(() => undefined);
      const end = await Promise.race([ended, lost, stopped]);
      return end;
    } finally {
      run.to = this.server.now;
      told.abort(new Error('over'));
    }
  }

  // The pool -----------------------------------------------------------------------------------------------------------

  async #sendLease({ lease, body, sender }: Parameters<QuotaActivities['sendLease']>[0]): Promise<void> {
    const key = leaseKey(lease);
    const known = this.#leases.get(key);
    switch (body.kind) {
      case 'request':
        if (known === undefined && !this.#line.some((each) => leaseKey(each) === key)) this.#line.push(lease);
        break;
      case 'release': {
        const at = this.#line.findIndex((each) => leaseKey(each) === key);
        if (at >= 0) this.#line.splice(at, 1);
        for (const { name } of body.slices) if (this.present.has(name)) known?.slices.add(name);
        if (known) known.isReleased = true;
        break;
      }
      case 'slice':
        this.workflows.push(sliceWorkflowId(sender));
        known?.slices.add(sender);
        this.server.signal(sliceWorkflowId(sender), leaseAnswerSignal.name, {
          epoch: 1,
          isHeld: known !== undefined && !known.isReleased,
        });
        break;
      case 'gone':
        known?.slices.delete(sender);
        break;
      case 'parked':
        this.parked.push(body.isParked);
        break;
      default:
    }
    if (known?.isReleased && known.slices.size === 0) this.#leases.delete(key);
    this.#grant();
  }

  #grant(): void {
    while (this.#leases.size < this.#size) {
      const id = this.#line.shift();
      if (id === undefined) return;
      this.#leases.set(leaseKey(id), { id, slices: new Set(), isReleased: false });
      this.mostLeased = Math.max(this.mostLeased, this.#leases.size);
      this.server.signal(id.job, grantedSignal.name, { run: id.run, number: id.number, epoch: 1, tier: 0 });
    }
  }
}

const of = (sweep: Sweep, result: JobResult): number =>
  [...sweep.outcomes.values()].filter((outcome) => outcome.result === result).length;

describe('members that lend each other their slices', function () {
  this.timeout(300_000);

  it('run on two slices, one after the other, and nothing is left', async () => {
    const sweep = await (await Sweep.of(2)).start({ matrix: { i: '0..5' }, max_parallel: 2 }).settled();
    assert.equal(sweep.marks, 'ssssss');
    assert.equal(sweep.created.length, 2);
    assert.equal(new Set(sweep.runs.map(({ slice }) => slice)).size, 2);
    sweep.assertNothingLeft();
    // Three commands and one start of a slice, and little beside.
    const { to } = sweep.runs.at(-1) as Run;
    assert.ok(to - START < MINUTE + 3 * COMMAND_MS + 20 * SECOND, `${(to - START) / 1000} s`);
  });

  it('and each chip counts in one of them: the one whose command runs on it', async () => {
    const sweep = await (await Sweep.of(2)).start({ matrix: { i: '0..5' }, max_parallel: 2 }).settled();
    const accounts = [...sweep.accounts.values()];
    assert.equal(accounts.length, 6);
    for (const { job, parts } of accounts)
      assert.ok(Math.abs(parts.useful - COMMAND_MS / SECOND) < 2, `${job}: ${JSON.stringify(parts)}`);
    sweep.assertChargedOnce();
    const lent = accounts.filter(({ leaving }) => leaving === undefined);
    assert.equal(lent.length, 4, 'a slice is leaving in the account of its owner alone');
  });

  it('give back at once when no member is left, without waiting for one', async () => {
    const sweep = await Sweep.of(2);
    await sweep.start({ matrix: { i: '0..2' }, max_parallel: 2 }).settled();
    const last = Math.max(...sweep.runs.map(({ to }) => to));
    const again = await (
      await Sweep.of(2)
    )
      .start({ matrix: { i: '0..2' }, max_parallel: 2 })
      .until(last - START + 30 * SECOND);
    again.assertNothingLeft();
  });

  it('of whom each has a slice of its own if another job waits for them', async () => {
    const sweep = await Sweep.of(2);
    sweep.isWaitedFor = true;
    await sweep.start({ matrix: { i: '0..3' }, max_parallel: 2 }).settled();
    assert.equal(sweep.marks, 'ssss');
    assert.equal(sweep.created.length, 4);
    assert.deepEqual(sweep.parked, []);
    sweep.assertNothingLeft();
  });

  it('that differ in what slices and lease are made of share nothing', async () => {
    const sweep = await Sweep.of(1);
    await sweep.start({ matrix: { p: [2, 3] }, max_parallel: 1 }, { priority: '${array.p}' }).settled();
    assert.equal(sweep.marks, 'ss');
    assert.equal(sweep.created.length, 2);
    sweep.assertNothingLeft();
  });

  it('do not lend after a failure, their own or a lodger’s', async () => {
    const sweep = await Sweep.of(1);
    sweep.codes.set('exp-0', 3);
    sweep.codes.set('exp-2', 3);
    await sweep.start({ matrix: { i: '0..4' }, max_parallel: 1 }).settled();
    assert.equal(sweep.marks, 'fsfss');
    assert.deepEqual(
      sweep.runs.map(({ slice }) => slice),
      ['jc-exp-0-g1', 'jc-exp-1-g1', 'jc-exp-1-g1', 'jc-exp-3-g1', 'jc-exp-3-g1'],
    );
    sweep.assertNothingLeft();
  });

  it('go on when the slice of one is preempted under another', async () => {
    const sweep = await (await Sweep.of(1)).start({ matrix: { i: '0..2' }, max_parallel: 1 }).until(220 * SECOND);
    const { job, slice } = sweep.lodger as Run;
    assert.deepEqual([job, slice], ['exp-1', 'jc-exp-0-g1']);
    sweep.preempt(slice);
    await sweep.settled();
    assert.equal(sweep.marks, 'sss');
    assert.deepEqual(sweep.created, ['jc-exp-0-g1', 'jc-exp-1-g1']);
    assert.equal(sweep.outcomes.get('exp-1')?.preemptions, 1);
    assert.equal(sweep.outcomes.get('exp-1')?.attempts, 2);
    // The second attempt was on a slice of its own, which it lends.
    assert.equal(sweep.runs.at(-1)?.slice, 'jc-exp-1-g1');
    sweep.assertNothingLeft();
  });

  it('have the time to save when the pool takes the lease of one under another', async () => {
    const sweep = await (await Sweep.of(1)).start({ matrix: { i: '0..1' }, max_parallel: 1 }).until(220 * SECOND);
    assert.equal(sweep.lodger?.job, 'exp-1');
    sweep.revoke('exp-0');
    await sweep.settled();
    assert.equal(sweep.marks, 'ss');
    const [, stopped, again] = sweep.runs as [Run, Run, Run];
    assert.ok(stopped.to - stopped.from < COMMAND_MS);
    assert.equal(again.slice, 'jc-exp-1-g1');
    assert.equal(sweep.outcomes.get('exp-1')?.quotaPreemptions, 1);
    sweep.assertNothingLeft();
  });

  it('leave a slice on which a host cannot be set up, and ask for one of their own', async () => {
    const sweep = await Sweep.of(1);
    sweep.bad.add('jc-exp-0-g1 for exp-1');
    await sweep.start({ matrix: { i: '0..1' }, max_parallel: 1 }).settled();
    assert.equal(sweep.marks, 'ss');
    assert.deepEqual(sweep.created, ['jc-exp-0-g1', 'jc-exp-1-g1']);
    sweep.assertNothingLeft();
  });

  it('leave nothing if the group is cancelled in the middle', async () => {
    const sweep = await (await Sweep.of(2)).start({ matrix: { i: '0..9' }, max_parallel: 2 }).until(220 * SECOND);
    assert.notEqual(sweep.lodger, undefined);
    sweep.server.cancel(ID);
    await sweep.until(400 * SECOND);
    sweep.assertNothingLeft();
    sweep.assertChargedOnce();
    assert.equal(of(sweep, 'succeeded'), 2);
    assert.equal(sweep.created.length, 2);
  });

  it('go on whatever is cancelled, lost or taken, at any moment', async () => {
    const seen = { lodged: 0, evicted: 0, created: 0 };
    const blow = fc.record({
      at: fc.integer({ min: 1, max: 700 }),
      what: fc.constantFrom<'cancel' | 'cancel all' | 'preempt' | 'revoke' | 'wanted'>(
        'cancel',
        'cancel all',
        'preempt',
        'revoke',
        'wanted',
      ),
      which: fc.nat(7),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(blow, { maxLength: 4 }),
        fc.array(fc.nat(900), { minLength: 1, maxLength: 40 }),
        async (blows, delays) => {
          let at = 0;
          const sweep = await Sweep.of(2, () => 20 + (delays[(at += 1) % delays.length] ?? 0));
          sweep.start({ matrix: { i: '0..7' }, max_parallel: 2 });
          for (const { at: second, what, which } of blows.toSorted((a, b) => a.at - b.at)) {
            await sweep.until(second * SECOND);
            const job = `exp-${which}`;
            if (what === 'cancel' && sweep.isOpen(job)) sweep.server.cancel(job);
            if (what === 'cancel all' && which < 2 && sweep.isOpen(ID)) sweep.server.cancel(ID);
            if (what === 'preempt') for (const slice of [...sweep.present].slice(0, 1)) sweep.preempt(slice);
            if (what === 'revoke') sweep.revoke(job);
            if (what === 'wanted') sweep.isWaitedFor = !sweep.isWaitedFor;
          }
          await sweep.settled();
          assert.match(sweep.marks, /^[sc]{8}$/);
          sweep.assertNothingLeft();
          seen.lodged += sweep.runs.filter(({ job, slice }) => !slice.includes(`${job}-`)).length;
          seen.evicted += [...sweep.outcomes.values()].filter(
            ({ quotaPreemptions = 0 }) => quotaPreemptions > 0,
          ).length;
          seen.created += sweep.created.length;
        },
      ),
      { numRuns: 25 },
    );
    assert.ok(seen.lodged > 20 && seen.created > 40, JSON.stringify(seen));
  });
});

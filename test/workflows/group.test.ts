import assert from 'node:assert/strict';
import type { AfterActivities } from '../../contract/after.js';
import type { JobAuthorization } from '../../contract/authorization.js';
import {
  type GroupActivities,
  type GroupInput,
  type GroupResult,
  type GroupView,
  type MemberNews,
  memberNewsSignal,
  resumeGroupUpdate,
  retryUpdate,
  describeGroupQuery,
  stopGroupUpdate,
  UNSEEN,
} from '../../contract/group.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { cancelNoteSignal } from '../../contract/job.js';
import { groupWorkflowId, WorkflowType } from '../../contract/workflow-ids.js';
import { countMarks, memberId, MemberMark, memberWithId } from '../../domain/array/group-state.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { Sandboxes } from '../virtual-clock/sandboxes.js';
import { virtualActivities, type VirtualCloud } from '../virtual-clock/virtual-activities.js';
import { type Ended, VirtualServer } from '../virtual-clock/virtual-server.js';

const START = Date.UTC(2026, 10, 30);
const MINUTE = 60_000;
const GROUP = 'exp';
const ID = groupWorkflowId(GROUP);

type Result = MemberNews['result'];
/** How a member ends. `untold`: its group does not hear of it. */
interface Life {
  readonly ms: number;
  readonly result: Result | 'terminated';
  readonly untold?: true;
}

const fileOf = (array: object): object => ({
  name: 'exp',
  tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' },
  command: { run: 'train ${array.i}' },
  array,
});
const inputOf = (array: object, more: Partial<GroupInput> = {}): GroupInput => ({
  v: 1,
  submission: { v: 1, job: fileOf(array) },
  ...more,
});

/** Members whose lives a script tells, and Temporal around them. They outlive any run of their group. */
class Members {
  server: VirtualServer;
  readonly started: string[] = [];
  /** For each batch, the job that its statement names. */
  readonly signed: (string | undefined)[] = [];
  readonly marks = new Map<string, MemberMark>();
  mostOpen = 0;
  signals = 0;
  calls = 0;
  comparisons = 0;
  mostBytes = 0;
  /** Each `verb id` that a member took, once for each id of an update. */
  readonly asked: string[] = [];
  /** Members that do not answer, and calls that did not come through. */
  readonly silent = new Set<string>();
  unansweredCalls = 0;
  /** Updates that members have taken: `id updateId`. */
  readonly #taken = new Set<string>();
  readonly cancelled: { readonly id: string; readonly by: string | undefined }[] = [];
  end: (Ended & { readonly at: number }) | undefined;
  readonly #life: (index: number, round: number) => Life;
  #letters: MemberNews[] = [];

  constructor(server: VirtualServer, life: (index: number, round: number) => Life) {
    this.server = server;
    this.#life = life;
    this.#serve();
  }

  static async of(life: (index: number, round: number) => Life): Promise<Members> {
    return new Members(await newServer(START), life);
  }

  start(input: GroupInput): void {
    void this.server
      .start(WorkflowType.Group, ID, input)
      .then((end) => (this.end = { ...end, at: this.server.now - START }));
  }

  /** The group's workflow is reset: it runs again from its input, and forgets all else. Signals of the old run are lost. */
  async reset(input: GroupInput): Promise<void> {
    this.server = await newServer(this.server.now);
    this.#letters = [];
    for (const [id, mark] of this.marks) if (mark === MemberMark.Open) this.#live(id);
    this.#serve();
    this.start(input);
  }

  async until(ms: number): Promise<this> {
    this.server.at(START + ms, () => undefined);
    await this.server.run(START + ms);
    return this;
  }

  /** The state of each job that the group waits for. */
  other: 'open' | 'succeeded' = 'open';

  update(name: string, call: object = {}): Promise<string> {
    return this.server.update(ID, name, call);
  }

  get result(): GroupResult {
    assert.equal(this.end?.kind, 'completed', String(this.end?.error));
    return this.end?.value as GroupResult;
  }

  counts(): Record<string, number> {
    return Object.fromEntries(countMarks(this.result.state.marks));
  }

  get #open(): number {
    return [...this.marks.values()].filter((mark) => mark === MemberMark.Open).length;
  }

  #serve(): void {
    const activities: GroupActivities & AfterActivities = {
      lookAtOthers: async ({ ids }) => ids.map((id) => ({ id, state: this.other, workflow: id })),
      startMembers: async (input) => {
        this.#see(input);
        this.signed.push(input.submission.authorization?.job);
        for (const index of input.indexes) this.#begin(memberId({ group: input.group, index, round: input.round }));
        this.mostOpen = Math.max(this.mostOpen, this.#open);
        return { marks: MemberMark.Open.repeat(input.indexes.length), notes: [] };
      },
      cancelMembers: async (input) => {
        this.#see(input);
        for (const id of input.ids) {
          this.cancelled.push({ id, by: input.asker?.by });
          this.server.at(this.server.now + 1_000, () => this.#finish(id, 'cancelled', false));
        }
      },
      compareMembers: async ({ group, state }) => {
        this.#see({ group, state });
        this.comparisons += 1;
        const marks = Array.from<string>({ length: state.marks.length }).fill(UNSEEN);
        const rounds = Array.from(state.rounds);
        for (const [id, mark] of this.marks) {
          const member = memberWithId(group, id);
          if (member === undefined) continue;
          marks[member.index] = mark;
          rounds[member.index] = member.round.toString(36);
        }
        return { marks: marks.join(''), rounds: rounds.join('') };
      },
      askMembers: async (input) => {
        this.#see(input);
        const done: number[] = [];
        const unanswered: [number, string][] = [];
        for (const { index, id } of input.members) {
          if (this.silent.has(id)) unanswered.push([index, 'no answer']);
          else if (this.marks.get(id) === MemberMark.Open) {
            const update = `${id} ${input.updateId}`;
            if (!this.#taken.has(update)) this.asked.push(`${input.verb} ${id}`);
            this.#taken.add(update);
            done.push(index);
          }
        }
        if (unanswered.length === input.members.length) this.unansweredCalls += 1;
        return { done, unanswered };
      },
      tellGroup: async () => undefined,
    };
    this.server.serve(activities as never);
  }

  #see(input: unknown): void {
    this.calls += 1;
    this.mostBytes = Math.max(this.mostBytes, JSON.stringify(input).length);
  }

  #begin(id: string): void {
    if (this.marks.has(id)) return;
    this.started.push(id);
    this.marks.set(id, MemberMark.Open);
    this.#live(id);
  }

  #live(id: string): void {
    const { index = 0, round = 0 } = memberWithId(GROUP, id) ?? {};
    const { ms, result, untold } = this.#life(index, round);
    if (ms !== Infinity) this.server.at(this.server.now + ms, () => this.#finish(id, result, untold === true));
  }

  #finish(id: string, result: Life['result'], isUntold: boolean): void {
    if (this.marks.get(id) !== MemberMark.Open) return;
    const marks = { succeeded: 's', failed: 'f', cancelled: 'c', refused: 'r', terminated: 't' } as const;
    this.marks.set(id, marks[result]);
    const member = memberWithId(GROUP, id);
    if (isUntold || result === 'terminated' || member === undefined) return;
    if (this.#letters.length === 0) this.server.at(this.server.now + 500, () => this.#post());
    this.#letters.push({ v: 1, index: member.index, round: member.round, result });
  }

  /** As an outbox of one worker. */
  #post(): void {
    while (this.#letters.length > 0) {
      this.signals += 1;
      this.server.signal(ID, memberNewsSignal.name, this.#letters.splice(0, 200));
    }
  }
}

const newServer = async (startAt: number): Promise<VirtualServer> =>
  new VirtualServer(await Sandboxes.ofThisProcess(), { startAt, delayMs: () => 50 });
const succeeds = (ms: number): Life => ({ ms, result: 'succeeded' });

describe('a group of members', function () {
  this.timeout(300_000);

  it('starts each once, at most max_parallel at a time, and ends when all have ended', async () => {
    const members = await Members.of((index) =>
      index % 6 === 5 ? { ms: MINUTE, result: 'failed' } : succeeds(MINUTE),
    );
    members.start(inputOf({ matrix: { i: '0..11' }, max_parallel: 3 }));
    await members.until(60 * MINUTE);
    assert.deepEqual(members.counts(), { s: 10, f: 2 });
    assert.equal(members.result.state.marks, 'sssssfsssssf');
    assert.equal(members.mostOpen, 3);
    assert.deepEqual(
      members.started,
      Array.from({ length: 12 }, (_, index) => `exp-${index}`),
    );
  });

  it('leaves excluded places out', async () => {
    const members = await Members.of(() => succeeds(MINUTE));
    members.start(inputOf({ matrix: { i: '0..3' }, exclude: [{ i: 1 }] }));
    await members.until(5 * MINUTE);
    assert.equal(members.result.state.marks, 's-ss');
  });

  it('of 10,000 needs some hundred signals and calls, and no payload near a limit', async () => {
    const members = await Members.of((index) => succeeds(MINUTE + (index % 600) * 1_000));
    members.start(inputOf({ matrix: { i: '0..9999' } }));
    await members.until(60 * MINUTE);
    assert.deepEqual(members.counts(), { s: 10_000 });
    assert.equal(new Set(members.started).size, 10_000);
    assert.ok(members.signals > 50 && members.signals <= 1_300, `${members.signals} signals`);
    assert.ok(members.calls <= 110, `${members.calls} activities`);
    assert.ok(members.mostBytes < 64_000, `${members.mostBytes} bytes`);
    assert.ok(JSON.stringify(members.result).length < 64_000);
  });

  it('of 2,000 with few at a time continues as new, and forgets nothing', async () => {
    const members = await Members.of((index) => (index === 7 ? { ms: 1_000, result: 'failed' } : succeeds(1_000)));
    members.start(inputOf({ matrix: { i: '0..1999' }, max_parallel: 2 }));
    await members.until(60 * 60 * MINUTE);
    assert.deepEqual(members.counts(), { s: 1_999, f: 1 });
    assert.equal(members.mostOpen, 2);
    // Beside that every ten minutes, only a run without memory compares at its start.
    const most = 1 + Math.floor((members.end?.at ?? 0) / (10 * MINUTE));
    assert.ok(members.comparisons <= most, `${members.comparisons} comparisons, and ${most} are the most`);
  });

  it('finds within ten minutes a member that was terminated, or whose word was lost', async () => {
    const members = await Members.of((index) =>
      index === 0 ? { ms: MINUTE, result: 'terminated' } : { ms: 2 * MINUTE, result: 'failed', untold: true },
    );
    members.start(inputOf({ matrix: { i: '0..1' } }));
    await members.until(9 * MINUTE);
    assert.equal(members.end, undefined);
    await members.until(11 * MINUTE);
    assert.equal(members.result.state.marks, 'tf');
  });

  it('that is reset finds what it had started, and starts only the others', async () => {
    const members = await Members.of(() => succeeds(5 * MINUTE));
    const input = inputOf({ matrix: { i: '0..5' }, max_parallel: 3 });
    members.start(input);
    await members.until(MINUTE);
    assert.equal(members.started.length, 3);
    await members.reset(input);
    await members.until(60 * MINUTE);
    assert.equal(members.result.state.marks, 'ssssss');
    assert.deepEqual(
      members.started,
      [0, 1, 2, 3, 4, 5].map((index) => `exp-${index}`),
    );
    assert.equal(members.mostOpen, 3);
  });

  it('ends all its members when a person cancels it, and starts none after that', async () => {
    const members = await Members.of(() => ({ ms: Infinity, result: 'succeeded' }));
    members.start(inputOf({ matrix: { i: '0..999' }, max_parallel: 250 }));
    await members.until(MINUTE);
    assert.equal(members.started.length, 250);
    members.server.signal(ID, cancelNoteSignal.name, { v: 1, by: 'alice', verb: 'cancel' });
    members.server.cancel(ID);
    await members.until(5 * MINUTE);
    assert.deepEqual(members.counts(), { c: 1_000 });
    assert.equal(members.started.length, 250);
    assert.deepEqual(new Set(members.cancelled.map(({ by }) => by)), new Set(['alice']));
    assert.equal(new Set(members.cancelled.map(({ id }) => id)).size, 250);
  });

  it('that is reset while it is cancelled goes on to end, though a reset drops the request and keeps signals alone', async () => {
    const members = await Members.of((index) => (index < 2 ? { ms: Infinity, result: 'succeeded' } : succeeds(MINUTE)));
    const input = inputOf({ matrix: { i: '0..9' }, max_parallel: 2 });
    members.start(input);
    await members.until(MINUTE);
    members.server.signal(ID, cancelNoteSignal.name, { v: 1, by: 'alice', verb: 'cancel' });
    await members.reset(input);
    members.server.signal(ID, cancelNoteSignal.name, { v: 1, by: 'alice', verb: 'cancel' });
    await members.until(30 * MINUTE);
    assert.deepEqual(members.counts(), { c: 10 });
    assert.equal(members.started.length, 2);
    assert.deepEqual(new Set(members.cancelled.map(({ by }) => by)), new Set(['alice']));
  });

  it('with fail_fast ends the others once one has failed', async () => {
    const members = await Members.of((index) =>
      index === 1 ? { ms: MINUTE, result: 'failed' } : { ms: Infinity, result: 'succeeded' },
    );
    members.start(inputOf({ matrix: { i: '0..4' }, max_parallel: 3, fail_fast: true }));
    await members.until(5 * MINUTE);
    assert.equal(members.result.state.marks, 'kfkkk');
    assert.deepEqual(
      members.cancelled.map(({ id }) => id),
      ['exp-0', 'exp-2'],
    );
  });

  it('retries its failed members under ids of a new round, while others are open', async () => {
    const members = await Members.of((index, round) => {
      if (index === 0) return succeeds(30 * MINUTE);
      return round === 0 && index < 3 ? { ms: MINUTE, result: 'failed' } : succeeds(MINUTE);
    });
    members.start(inputOf({ matrix: { i: '0..3' } }));
    await members.until(5 * MINUTE);
    const told = await members.server.update(ID, retryUpdate.name, { round: 1 });
    assert.equal(told, '2 members of group exp run again, as exp-r1-N');
    await assert.rejects(members.server.update(ID, retryUpdate.name, { round: 2 }), /has no failed member/);
    await members.until(60 * MINUTE);
    assert.deepEqual(members.started.slice(4), ['exp-r1-1', 'exp-r1-2']);
    assert.deepEqual(members.result.state, { marks: 'ssss', rounds: '0110' });
  });

  it('refuses a retry that was meant for another state', async () => {
    const members = await Members.of((index) => (index === 0 ? succeeds(Infinity) : { ms: MINUTE, result: 'failed' }));
    members.start(inputOf({ matrix: { i: '0..1' } }));
    await members.until(5 * MINUTE);
    await assert.rejects(
      members.server.update(ID, retryUpdate.name, { round: 2 }),
      /retried by somebody else meanwhile/,
    );
    await assert.rejects(members.server.update(ID, retryUpdate.name, { round: 0 }), /does not have the form/);
  });

  it('starts the members of each round with the statement that a server has made for it', async () => {
    const members = await Members.of((index, round) =>
      round < 2 && index === 1 ? { ms: 1_000, result: 'failed' } : succeeds(MINUTE),
    );
    const of = (job: string) => ({ v: 1, job, sha256: 'f'.repeat(64) }) as unknown as JobAuthorization;
    const { submission } = inputOf({ matrix: { i: '0..1' } });
    members.start({
      ...{ v: 1, submission: { ...submission, authorization: of('exp') } },
      ...{ state: { marks: 'ww', rounds: '01' }, authorizations: { 1: of('exp-r1') } },
    });
    await members.until(30_000);
    await members.server.update(ID, retryUpdate.name, { round: 2, authorization: of('exp-r2') });
    await members.until(30 * MINUTE);
    assert.deepEqual(members.signed, ['exp', 'exp-r1', 'exp-r2']);
    assert.deepEqual(Object.keys(members.result.authorizations), ['1', '2']);
  });

  it('that had ended goes on from its result, and runs only what is retried', async () => {
    const members = await Members.of((_, round) => (round === 0 ? { ms: 1, result: 'failed' } : succeeds(MINUTE)));
    const input = inputOf({ matrix: { i: '0..2' } }, { state: { marks: 'sws', rounds: '010' } });
    members.start(input);
    await members.until(5 * MINUTE);
    assert.deepEqual(members.started, ['exp-r1-1']);
    assert.deepEqual(members.server.memoOf(ID)['counts'], { succeeded: 3 });
    assert.deepEqual(members.result.state, { marks: 'sss', rounds: '010' });
  });

  it('says how its members are', async () => {
    const members = await Members.of((index) => (index === 0 ? succeeds(MINUTE) : succeeds(Infinity)));
    members.start(inputOf({ matrix: { i: '0..2' }, max_parallel: 1 }));
    await members.until(3 * MINUTE);
    const view = await members.server.query<GroupView>(ID, describeGroupQuery.name);
    assert.equal(view.state.marks, 'sow');
    assert.deepEqual(members.server.memoOf(ID), { counts: { open: 1, waiting: 1, succeeded: 1 }, awaited: '' });
    assert.deepEqual(view.array.axes, [{ name: 'i', from: 0, to: 2 }]);
    const { currentDetails } = await members.server.query<{ readonly currentDetails: string }>(
      ID,
      '__temporal_workflow_metadata',
    );
    assert.match(currentDetails, /^Group `exp`: 1 open, 1 waiting, 1 succeeded\n/);
  });

  it('does not begin with an input that is wrong', async () => {
    for (const [input, why] of [
      [{ v: 1, submission: { v: 1, job: { name: 'x' } } }, /has no array/],
      [inputOf({ matrix: {} }), /is empty/],
      [
        inputOf({ matrix: { i: '0..2' } }, { state: { marks: 's', rounds: '0' } }),
        /is of 1 places, and the array has 3/,
      ],
      [{ v: 2 }, /version 2 is not known/],
      [{ v: 1 }, /submission/],
    ] as const) {
      const members = await Members.of(() => succeeds(1));
      members.start(input as unknown as GroupInput);
      await members.until(MINUTE);
      assert.equal(members.end?.kind, 'failed');
      assert.match(String(members.end?.error?.message), why);
    }
  });

  describe('that a person stops', () => {
    const stop = stopGroupUpdate.name;
    const resume = resumeGroupUpdate.name;
    const view = (members: Members) => members.server.query<GroupView>(ID, describeGroupQuery.name);

    it('asks the open members, and begins no other until it goes on', async () => {
      const members = await Members.of(() => succeeds(10 * MINUTE));
      members.start(inputOf({ matrix: { i: '0..5' }, max_parallel: 2 }));
      await members.until(MINUTE);
      const message = await members.update(stop, { from: 'wks' });
      assert.match(message, /^group exp is stopped: 2 open members are asked to stop, and no other begins until/);
      // The members end meanwhile.
      await members.until(60 * MINUTE);
      assert.deepEqual(members.asked, ['stop exp-0', 'stop exp-1']);
      assert.deepEqual(members.started, ['exp-0', 'exp-1']);
      const { stopped, stopRound, state } = await view(members);
      assert.equal(state.marks, 'sswwww');
      assert.deepEqual(stopped, { by: 'alice', from: 'wks', at: START + MINUTE });
      assert.deepEqual(
        { ...stopRound, asker: undefined },
        { verb: 'stop', asker: undefined, left: 0, done: 2, idle: 0, failed: [] },
      );
      assert.equal(members.end, undefined);
      await members.update(resume);
      await members.until(120 * MINUTE);
      assert.equal(members.result.state.marks, 'ssssss');
      assert.equal(members.asked.length, 2);
    });

    it('before its first member begins none, and a cancel ends it', async () => {
      const members = await Members.of(() => succeeds(MINUTE));
      members.start({ v: 1, submission: { v: 1, job: { ...fileOf({ matrix: { i: '0..2' } }), after: 'prep' } } });
      await members.until(MINUTE);
      await members.update(stop);
      members.other = 'succeeded';
      await members.until(24 * 60 * MINUTE);
      assert.deepEqual(members.started, []);
      members.server.cancel(ID);
      await members.until(25 * 60 * MINUTE);
      assert.deepEqual(members.counts(), { c: 3 });
    });

    it('asks members too that were being started at that moment', async () => {
      const members = await Members.of(() => succeeds(10 * MINUTE));
      let asked: Promise<unknown> | undefined;
      const onStart = members.started.push.bind(members.started);
      members.started.push = (...ids) => {
        asked ??= members.update(stop);
        return onStart(...ids);
      };
      members.start(inputOf({ matrix: { i: '0..149' } }));
      await members.until(5 * MINUTE);
      await asked;
      assert.equal(members.started.length, 100);
      assert.equal(members.asked.length, 100);
    });

    it('asks again those that do not answer, gives them up after a while, and says which', async () => {
      const members = await Members.of(() => succeeds(600 * MINUTE));
      members.start(inputOf({ matrix: { i: '0..249' } }));
      await members.until(MINUTE);
      for (const id of ['exp-7', 'exp-8']) members.silent.add(id);
      await members.update(stop);
      await members.until(2 * MINUTE);
      assert.equal(members.asked.length, 248);
      assert.equal((await view(members)).stopRound?.left, 2);
      members.silent.delete('exp-7');
      await members.until(60 * MINUTE);
      assert.ok(members.asked.includes('stop exp-7'));
      assert.deepEqual((await view(members)).stopRound?.failed, [[8, 'no answer']]);
      assert.ok(members.unansweredCalls <= 25, `${members.unansweredCalls} calls of which nobody answered`);
    });

    it('is still stopped, and still asks, after a continue-as-new', async () => {
      const members = await Members.of(() => succeeds(900 * MINUTE));
      members.start(inputOf({ matrix: { i: '0..4' }, max_parallel: 2 }));
      members.silent.add('exp-1');
      await members.until(MINUTE);
      await members.update(stop);
      const run = members.server.runOf(ID);
      // Each is an event of the history, and more.
      for (let sent = 0; sent < 4_500; sent++)
        members.server.at(START + 2 * MINUTE + sent * 10, () => members.server.signal(ID, memberNewsSignal.name, []));
      await members.until(4 * MINUTE);
      const { stopped, stopRound } = await view(members);
      assert.deepEqual([stopped?.by, stopRound?.left, stopRound?.done], ['alice', 1, 1]);
      assert.notEqual(members.server.runOf(ID), run);
      members.silent.clear();
      await members.until(10 * MINUTE);
      assert.deepEqual(members.asked, ['stop exp-0', 'stop exp-1']);
      assert.deepEqual(members.started, ['exp-0', 'exp-1']);
    });

    it('takes no call in another form, and none while it is cancelled', async () => {
      const members = await Members.of(() => succeeds(10 * MINUTE));
      members.start(inputOf({ matrix: { i: '0..1' } }));
      await members.until(MINUTE);
      await assert.rejects(members.update(stop, { release: 'yes' }), /form/);
      members.server.cancel(ID);
      await members.until(MINUTE + 500);
      await assert.rejects(members.update(resume), /is being cancelled/);
    });
  });
});

describe('a job that is a member', function () {
  this.timeout(300_000);

  async function run(input: object, id: string) {
    const server = await newServer(START);
    const told: { readonly group: string; readonly news: MemberNews }[] = [];
    const ran: AttemptInput[] = [];
    const ready = { kind: 'ready', uid: 'u', hosts: [{ reach: 'ssh', index: 0, internalIp: '10.0.0.1' }] } as const;
    const cloud: VirtualCloud = {
      create: async () => ({ kind: 'accepted' }),
      inspect: async () => ready,
      wait: async () => ready,
      remove: async () => undefined,
      run: async (attempt): Promise<AttemptEnd> => {
        ran.push(attempt);
        return { kind: 'exited', code: 3, at: { slice: 0, host: 0 }, startedAt: 0 };
      },
    };
    server.serve({
      ...virtualActivities(server, cloud, DEFAULT_TIMINGS),
      tellGroup: async (tale: (typeof told)[number]) => void told.push(tale),
    });
    const ended = server.start(WorkflowType.Job, id, input);
    await server.run(START + 60 * MINUTE);
    return { end: await ended, told, ran };
  }
  const member = (member: object, job: object = fileOf({ matrix: { i: '5..9' } })) => ({ v: 1, job, member });

  it('runs its own file, and tells its group how it ended', async () => {
    const { told, ran } = await run(member({ group: 'exp', index: 2 }), 'exp-2');
    assert.equal(ran[0]?.spec.command?.run, 'train 7');
    assert.equal(ran[0]?.spec.env['JOBCTL_ARRAY_INDEX'], '2');
    assert.deepEqual(told, [{ group: 'exp', news: { v: 1, index: 2, round: 0, result: 'failed' } }]);
  });

  it('of a later round has the id of that round', async () => {
    const { told } = await run(member({ group: 'exp', index: 2, round: 3 }), 'exp-r3-2');
    assert.deepEqual(told, [{ group: 'exp', news: { v: 1, index: 2, round: 3, result: 'failed' } }]);
  });

  const refused: Readonly<Record<string, readonly [object, string, RegExp]>> = {
    'an index that the array does not have': [member({ group: 'exp', index: 5 }), 'exp-5', /array: has no member 5/],
    'another id': [member({ group: 'exp', index: 2 }), 'exp-3', /'exp-3' is not 'exp-2', the id of member 2 of exp/],
    'the id of another round': [member({ group: 'exp', index: 2, round: 1 }), 'exp-2', /is not 'exp-r1-2'/],
    'a file without an array': [member({ group: 'exp', index: 0 }, { name: 'exp' }), 'exp-0', /array: is missing/],
    'an array without a place': [
      { v: 1, job: fileOf({ matrix: { i: '0..1' } }) },
      'exp',
      /array: is a file of many jobs/,
    ],
    'a place that is none': [member({ group: 'exp', index: -1 }), 'exp-1', /input\.member: is no place in an array/],
    'a place with more': [member({ group: 'exp', index: 1, x: 1 }), 'exp-1', /input\.member: is no place in an array/],
  };
  for (const [name, [input, id, why]] of Object.entries(refused))
    it(`is refused: ${name}`, async () => {
      const { end, ran } = await run(input, id);
      assert.equal(end.kind, 'failed');
      assert.match(String(end.error?.message), why);
      assert.equal(ran.length, 0);
    });
});

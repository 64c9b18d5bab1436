import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { deletionForm } from '../../contract/lease-forms.js';
import { deleteUntilGone } from '../../activities/giving-back.js';
import { awaitSlice, sliceActivities } from '../../activities/slice.js';
import { CloudRefused, CloudUnavailable, type Machines, type RemoveAnswer } from '../../cloud/machines/port.js';
import type { ActivityDependencies, Installation } from '../../activities/dependencies.js';
import { ensureStore, openStore } from '../../cloud/store/open-store.js';
import type { StuckDeletion } from '../../domain/lease.js';
import { goneMarkObject } from '../../domain/store-layout.js';
import type { Condition, Owner } from '../../domain/slice.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { ownership, slicePlan } from '../cloud/cloud-tpu-plan.js';

const { ref } = slicePlan('jc-train-g1', 'queued-resources');
const timings = { ...DEFAULT_TIMINGS, notFoundApartMs: 1 };

const MISSING: Condition = { kind: 'missing' };
const REQUEST_LEFT: Condition = { kind: 'missing', isRequestLeft: true };
const WAITING: Condition = { kind: 'waiting', detail: 'WAITING_FOR_RESOURCES' };
const READY: Condition = { kind: 'ready', uid: '1', hosts: [] };
const DELETING: Condition = { kind: 'deleting' };
const FOREIGN: Condition = { kind: 'foreign', message: "somebody else's" };
const AWAY = new CloudUnavailable('UNAVAILABLE');

const OPERATION = 'operation-1';
const BY_OPERATION: RemoveAnswer = { kind: 'accepted', operation: OPERATION };

type Answer = Condition | Error;
type RemovalWord = Awaited<ReturnType<Machines['removal']>>;

/**
 * A provider that gives these answers, one a look, whichever way it is asked. A look too many fails the test. A removal looks before
 * it deletes; what was observed right before it stands for that look.
 */
class Scripted implements Machines {
  readonly asked: (Owner & { readonly generation?: number })[] = [];
  /** Deletions, and by whom. */
  readonly removed: Owner[] = [];
  #isFresh = false;
  readonly #answers: Answer[];
  readonly #removals: RemoveAnswer[];
  readonly #words: (RemovalWord | Error)[];

  /** @param words about a removal's operation, one a question. Of them and of the removals the last one stands for ever. */
  constructor(
    answers: readonly Answer[],
    removals: readonly RemoveAnswer[] = [{ kind: 'accepted' }],
    words: readonly (RemovalWord | Error)[] = [],
  ) {
    this.#answers = [...answers];
    this.#removals = [...removals];
    this.#words = [...words];
  }
  get left(): number {
    return this.#answers.length;
  }
  protected get coming(): Answer | undefined {
    return this.#answers[0];
  }
  async observe({ ownership: of }: Parameters<Machines['observe']>[0]): Promise<Condition> {
    this.asked.push(of);
    const answer = this.#next();
    this.#isFresh = true;
    if (answer instanceof Error) throw answer;
    return answer;
  }
  #next(): Answer {
    return this.#answers.shift() ?? assert.fail('one look too many');
  }
  watch(claim: Parameters<Machines['watch']>[0]): Promise<Condition> {
    return this.observe(claim);
  }
  async remove(_ref: unknown, owner: Owner): Promise<RemoveAnswer> {
    const seen = this.#isFresh ? undefined : this.#next();
    this.#isFresh = false;
    if (seen instanceof Error) return { kind: 'unanswered', message: seen.message };
    if (seen?.kind === 'missing' && !seen.isRequestLeft) return { kind: 'gone' };
    if (seen?.kind === 'foreign') return { kind: 'refused', message: seen.message };
    if (seen?.kind === 'deleting') return { kind: 'accepted' };
    this.removed.push(owner);
    return next(this.#removals);
  }
  async removal(operation: string): Promise<RemovalWord> {
    assert.equal(operation, OPERATION);
    const word = next(this.#words);
    if (word instanceof Error) throw word;
    return word;
  }
  create = () => assert.fail('nothing is created here');
  listOwned = () => assert.fail('nothing is listed here');
  close = async (): Promise<void> => undefined;
}

/** A deletion asks by name for what a listing does not show as being deleted: both looks are one answer here. */
class ScriptedDeletion extends Scripted {
  override async watch(claim: Parameters<Machines['watch']>[0]): Promise<Condition> {
    const { coming } = this;
    if (coming instanceof Error) throw coming;
    return coming === undefined || coming.kind === 'deleting' ? this.observe(claim) : coming;
  }
}

const next = <T>(left: T[]): T => (left.length > 1 ? left.shift() : left[0]) ?? assert.fail('nothing is left to say');

const inActivity = <T>(work: () => Promise<T>): Promise<T> => new MockActivityEnvironment().run(work);

describe('waiting for a slice', function () {
  this.timeout(15_000);
  const waitWith = async (answers: readonly Answer[]): Promise<{ readonly end: Condition; readonly left: number }> => {
    const machines = new Scripted(answers);
    const end = await inActivity(() => awaitSlice(machines, { ref, ownership: ownership(), timings }));
    return { end, left: machines.left };
  };

  const cases: Record<string, { answers: readonly Answer[]; want: Condition }> = {
    'it ends when the slice is ready': { answers: [WAITING, WAITING, READY], want: READY },
    'it ends at once with what belongs to somebody else': { answers: [FOREIGN], want: FOREIGN },
    'it is missing after two direct looks, apart': { answers: [MISSING, MISSING, MISSING, MISSING], want: MISSING },
    'a listing that misses it is not evidence': { answers: [MISSING, WAITING, MISSING, WAITING, READY], want: READY },
    'one stray look in hours of waiting is not a loss': {
      answers: [MISSING, MISSING, WAITING, WAITING, MISSING, MISSING, READY],
      want: READY,
    },
    'an API that does not answer says nothing': { answers: [MISSING, MISSING, AWAY, MISSING, MISSING], want: MISSING },
  };
  for (const [name, { answers, want }] of Object.entries(cases)) {
    it(name, async () => assert.deepEqual(await waitWith(answers), { end: want, left: 0 }));
  }

  it('a slice that is ready but for some hosts is waited for, and lost when they do not come', async () => {
    const incomplete: Condition = { kind: 'waiting', detail: 'addresses of 3 of its 4 hosts', isIncomplete: true };
    assert.deepEqual(await waitWith([incomplete, incomplete, READY]), { end: READY, left: 0 });
    const machines = new Scripted([WAITING, incomplete, READY]);
    const end = await inActivity(() =>
      awaitSlice(machines, { ref, ownership: ownership(), timings: { ...timings, incompleteMs: 0 } }),
    );
    assert.deepEqual(end, { kind: 'lost', cause: 'failed', message: 'addresses of 3 of its 4 hosts, for 0 s' });
    assert.equal(machines.left, 1);
  });

  it('that it is ready but for some hosts is told, each count once, and not of a slice that is about to be whole', async () => {
    const only = (hosts: number): Condition => ({ kind: 'waiting', detail: `${hosts} of 4 hosts`, isIncomplete: true });
    const told: string[] = [];
    const waitFor = (answers: readonly Answer[]): Promise<Condition> =>
      inActivity(() =>
        awaitSlice(new Scripted(answers), { ref, ownership: ownership(), timings }, (detail) => void told.push(detail)),
      );
    await waitFor([only(1), only(2), READY]);
    assert.deepEqual(told, []);
    await waitFor([...Array<Condition>(6).fill(only(2)), only(3), only(3), READY]);
    assert.deepEqual(told, ['2 of 4 hosts', '3 of 4 hosts']);
  });

  it('why it waits is told, but not of one that is about to be there, nor each of many changes', async () => {
    const told: string[] = [];
    const because = (detail: string): Condition => ({ kind: 'waiting', detail, tellAfterMs: 1_000 });
    const waitFor = (answers: readonly Answer[]): Promise<Condition> =>
      inActivity(() =>
        awaitSlice(new Scripted(answers), { ref, ownership: ownership(), timings }, (detail) => void told.push(detail)),
      );
    await waitFor([because('no room'), because('no room'), READY]);
    assert.deepEqual(told, []);
    const pods = [1, 2, 3].map((count) => because(`${count} of 4 pods run`));
    await waitFor([...Array<Condition>(5).fill(because('no room')), ...pods, READY]);
    assert.deepEqual(told, ['no room']);
  });
});

describe('a request that goes from PROVISIONING back into the queue', function () {
  this.timeout(30_000);
  const queued: Condition = { kind: 'waiting', detail: 'queued', tellAfterMs: 0, place: 'queued' };
  const chosen: Condition = { kind: 'waiting', detail: 'chosen', tellAfterMs: 0, place: { granted: 'PROVISIONING' } };
  const other: Condition = { kind: 'waiting', detail: 'node CREATING', tellAfterMs: 0 };

  /** What was told last of these answers, and what the next worker goes on with. */
  async function after(answers: readonly Answer[], carry?: unknown): Promise<{ told: string; carry: unknown }> {
    const told: string[] = [];
    const beats: unknown[] = [];
    const environment = new MockActivityEnvironment({ heartbeatDetails: carry });
    environment.on('heartbeat', (beat: unknown) => beats.push(beat));
    const waits = { ref, ownership: ownership(), timings };
    await environment.run(() =>
      awaitSlice(new Scripted([...answers, READY]), waits, (detail) => void told.push(detail)),
    );
    return { told: told.at(-1) ?? '', carry: beats.at(-1) };
  }

  it('is told with how often it did, by the provider’s word; whoever goes on counts on', async () => {
    const first = await after([queued, chosen, other, queued]);
    assert.equal(first.told, 'queued');
    const next = await after([queued, chosen, chosen, queued], first.carry);
    assert.equal(next.told, 'queued; it has been PROVISIONING and gone back once');
    const last = await after([queued], next.carry);
    assert.equal(last.told, 'queued; it has been PROVISIONING and gone back twice');
  });

  it('is not one that was never PROVISIONING, nor one that is so now', async () => {
    const { told, carry } = await after([queued, queued, chosen]);
    assert.equal(told, 'queued');
    assert.equal((await after([chosen], carry)).told, 'chosen');
  });
});

describe('deleting a slice until it is gone', function () {
  this.timeout(15_000);
  const owner = { owner: 'own-1', job: 'train-x1', run: 'run-1' };
  const deleteWith = async (machines: Scripted, notBefore = 0): Promise<Scripted> => {
    await inActivity(() => deleteUntilGone(machines, { ref, owner, notBefore, timings }));
    return machines;
  };

  const cases: Record<string, { answers: readonly Answer[]; removals: number }> = {
    'missing twice, apart, is gone, and nothing is removed': { answers: [MISSING, MISSING], removals: 0 },
    'what is there is removed until it is missing twice': { answers: [READY, WAITING, MISSING, MISSING], removals: 2 },
    'a sign of life between two misses starts the count anew': {
      answers: [MISSING, READY, MISSING, MISSING],
      removals: 1,
    },
    'a failed look between two misses starts the count anew': {
      answers: [MISSING, AWAY, MISSING, MISSING],
      removals: 0,
    },
    'a request whose machines are gone is still removed': { answers: [REQUEST_LEFT, MISSING, MISSING], removals: 1 },
    'what is being deleted is not removed again': {
      answers: [READY, DELETING, DELETING, MISSING, MISSING],
      removals: 1,
    },
    'what belongs to somebody else is left alone': { answers: [FOREIGN, FOREIGN], removals: 0 },
    'what is being deleted from the first is not removed': {
      answers: [DELETING, DELETING, MISSING, MISSING],
      removals: 0,
    },
    'what turns out to be somebody else’s is left alone from then on': { answers: [READY, FOREIGN], removals: 1 },
  };
  for (const [name, { answers, removals }] of Object.entries(cases)) {
    it(name, async () => {
      const { left, removed, asked } = await deleteWith(new ScriptedDeletion(answers));
      assert.deepEqual([left, removed.length], [0, removals]);
      // The job alone counts: a slice of an earlier generation under this name is its own too.
      for (const asking of [...asked, ...removed]) assert.deepEqual(asking, owner);
    });
  }

  interface WordCase {
    readonly answers: readonly Answer[];
    readonly words: readonly (RemovalWord | Error)[];
    readonly removals?: readonly RemoveAnswer[];
  }
  const words: Record<string, WordCase> = {
    'missing once is gone when the provider says that the removal is done': {
      answers: [READY, MISSING],
      words: ['under way', AWAY, 'done'],
    },
    'a removal that is done says nothing of what is still seen': {
      answers: [READY, MISSING, READY, MISSING],
      words: ['unknown', 'done'],
    },
    'a removal of what was there before says nothing of what is there after it': {
      answers: [READY, READY, MISSING, MISSING],
      removals: [BY_OPERATION, { kind: 'accepted' }],
      words: ['done'],
    },
    'a removal that failed, or is forgotten, leaves two looks': {
      answers: [READY, MISSING, MISSING],
      words: ['unknown'],
    },
    'a removal that takes its time leaves two looks': { answers: [READY, MISSING, MISSING], words: ['under way'] },
    'an API that does not speak of a removal leaves two looks': { answers: [READY, MISSING, MISSING], words: [AWAY] },
  };
  for (const [name, { answers, words: said, removals = [BY_OPERATION] }] of Object.entries(words)) {
    it(name, async () => {
      const machines = new ScriptedDeletion(answers, removals, said);
      await inActivity(() =>
        deleteUntilGone(machines, { ref, owner, notBefore: 0, timings: { ...timings, notFoundApartMs: 400 } }),
      );
      assert.equal(machines.left, 0);
    });
  }

  it('missing counts only after the last create call can have taken effect', async () => {
    const looks: number[] = [];
    class Timed extends ScriptedDeletion {
      override observe(claim: Parameters<Machines['observe']>[0]): Promise<Condition> {
        looks.push(Date.now());
        return super.observe(claim);
      }
    }
    const notBefore = Date.now() + 20;
    const machines: Scripted = await deleteWith(new Timed(Array.from({ length: 500 }, () => MISSING)), notBefore);
    assert.ok(Date.now() >= notBefore);
    // The removal was the first look. On a machine that stood still meanwhile, the second is late enough.
    const [second = 0] = looks;
    assert.ok(second >= notBefore || machines.left < 498);
  });

  const NO_PLACE = new CloudRefused('zone us-centrl1-a does not exist, or this project may not use it');
  it('a provider that refuses to look has nothing of a slice that it never accepted', async () => {
    const machines = new ScriptedDeletion([NO_PLACE, NO_PLACE]);
    await inActivity(() => deleteUntilGone(machines, { ref, owner, notBefore: 0, timings, isNeverAccepted: true }));
    assert.deepEqual([machines.left, machines.removed], [0, []]);
  });
  it('an outage says nothing of one that was never accepted', async () => {
    const machines = new ScriptedDeletion([AWAY, AWAY, MISSING, MISSING]);
    await inActivity(() => deleteUntilGone(machines, { ref, owner, notBefore: 0, timings, isNeverAccepted: true }));
    assert.equal(machines.left, 0);
  });
  it('a provider that refuses to look says nothing of a slice that may exist', async () => {
    const { left } = await deleteWith(new ScriptedDeletion([NO_PLACE, NO_PLACE, NO_PLACE, MISSING, MISSING]));
    assert.equal(left, 0);
  });

  const TOLD_AT_ONCE = { ...timings, giveBackMs: 0 };
  const toldOf = async (machines: Scripted): Promise<readonly StuckDeletion[]> => {
    const told: StuckDeletion[] = [];
    const tell = async (deletion: StuckDeletion): Promise<void> => void told.push(deletion);
    // The workflow asked for it ten minutes ago, and another worker tried it before.
    const scheduledTimestampMs = Date.now() - 600_000;
    await new MockActivityEnvironment({ scheduledTimestampMs, attempt: 3 }).run(() =>
      deleteUntilGone(machines, { ref, owner, notBefore: 0, timings: TOLD_AT_ONCE }, tell),
    );
    return told;
  };
  it('its first heartbeat says what was answered', async () => {
    const environment = new MockActivityEnvironment();
    const beats: unknown[] = [];
    environment.on('heartbeat', (beat) => void beats.push(beat));
    const input = { ref, owner, notBefore: 0, timings };
    await environment.run(() => deleteUntilGone(new ScriptedDeletion([NO_PLACE, NO_PLACE, MISSING, MISSING]), input));
    const [first] = beats.map((beat) => deletionForm().parse(beat));
    assert.equal(first?.answer, NO_PLACE.message);
  });
  it('a deletion that lasts is told, and goes on; its time began when the workflow asked for it', async () => {
    const machines = new ScriptedDeletion([NO_PLACE, NO_PLACE, MISSING, MISSING]);
    const [first, ...others] = await toldOf(machines);
    assert.equal(machines.left, 0);
    assert.deepEqual(others, [], 'each word is an event of the history of its pool');
    assert.ok(first !== undefined && Date.now() - first.since >= 600_000);
  });
  it('a deletion that lasts less than its time is not told', async () => {
    const told: StuckDeletion[] = [];
    await new MockActivityEnvironment({ scheduledTimestampMs: Date.now() }).run(() =>
      deleteUntilGone(
        new ScriptedDeletion([NO_PLACE, MISSING, MISSING]),
        { ref, owner, notBefore: 0, timings: { ...timings, giveBackMs: 60_000 } },
        async (deletion) => void told.push(deletion),
      ),
    );
    assert.deepEqual(told, []);
  });
  it('a pool that cannot be told does not end the deletion', async () => {
    const machines = new ScriptedDeletion([NO_PLACE, MISSING, MISSING]);
    await new MockActivityEnvironment({ scheduledTimestampMs: 0 }).run(() =>
      deleteUntilGone(machines, { ref, owner, notBefore: 0, timings: TOLD_AT_ONCE }, () =>
        Promise.reject(new Error('away')),
      ),
    );
    assert.equal(machines.left, 0);
  });

  it('a refused or unanswered removal is asked again', async () => {
    for (const kind of ['refused', 'unanswered'] as const) {
      const { removed } = await deleteWith(
        new ScriptedDeletion([READY, READY, MISSING, MISSING], [{ kind, message: 'not now' }]),
      );
      assert.equal(removed.length, 2);
    }
  });
});

describe("an input that names another installation's owner", () => {
  const deletion = { ref, owner: { owner: 'own-2', job: 'train-x1', run: 'run-1' }, notBefore: 0, timings };
  const plan = slicePlan('jc-train-g1', 'queued-resources', { ownership: ownership({ owner: 'own-2' }) });
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-slice-'));
    await ensureStore({ bucket: `file://${folder}` });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  const store = () => openStore({ bucket: `file://${folder}` });
  const ofOwner = (owner: string, machines = new ScriptedDeletion([])) =>
    sliceActivities({ machinesOf: () => machines, installation: { owner } as Installation, store: store() });

  for (const owner of ['own-1', '']) {
    it(`deletes nothing and looks at nothing, on a worker of owner '${owner}'`, async () => {
      const machines = new ScriptedDeletion([READY]);
      await assert.rejects(
        inActivity(() => ofOwner(owner, machines).deleteUntilGone(deletion)),
        {
          type: 'InvalidInput',
          nonRetryable: true,
          message: /names owner 'own-2', and this installation is '(own-1)?'/,
        },
      );
      assert.deepEqual([machines.left, machines.removed], [1, []]);
    });
    it(`creates nothing, and ends no job: it waits for the right worker, on a worker of owner '${owner}'`, async () => {
      const answer = await inActivity(() => ofOwner(owner).createSlice(plan));
      assert.ok(answer.kind === 'refused' && answer.scope === 'installation', JSON.stringify(answer));
    });
  }

  it('deletes what is of its own owner', async () => {
    const machines = new ScriptedDeletion([READY, MISSING, MISSING]);
    await inActivity(() => ofOwner('own-2', machines).deleteUntilGone(deletion));
    assert.equal(machines.removed.length, 1);
    const mark = await store().read(goneMarkObject('train-x1', ref.name));
    assert.ok(Date.now() - (JSON.parse(String(mark)) as { gone: number }).gone < 60_000, String(mark));
  });

  it('frees the lease of a slice whose end the store does not take', async () => {
    const machines = new ScriptedDeletion([READY, MISSING, MISSING]);
    const activities = sliceActivities({
      ...{ machinesOf: () => machines, installation: { owner: 'own-2' } as Installation },
      store: { write: () => Promise.reject(new Error('503')) } as unknown as ActivityDependencies['store'],
    });
    await inActivity(() => activities.deleteUntilGone(deletion));
    assert.equal(machines.removed.length, 1);
  });

  // A worker whose store lost its owner id must not take every slice without labels for its own.
  it('without an owner of its own a worker deletes nothing, whatever the input names', async () => {
    const machines = new ScriptedDeletion([READY]);
    const nobodys = { ...deletion, owner: { ...deletion.owner, owner: '' } };
    await assert.rejects(
      inActivity(() => ofOwner('', machines).deleteUntilGone(nobodys)),
      { type: 'InvalidInput' },
    );
  });
});

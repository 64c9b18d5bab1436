import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import { SliceGuard } from '../../activities/attempt/slice-guard.js';
import type { ReadySlice } from '../../contract/job-activities.js';
import { CloudUnavailable, type Machines, type MachinesOf } from '../../cloud/machines/port.js';
import type { LostSlice } from '../../domain/recovery/facts.js';
import type { Condition, Ownership } from '../../domain/slice.js';

const OWNERSHIP: Ownership = { owner: 'o', job: 'train', run: 'r', generation: 1, spec: 's' };
const slice = {
  index: 0,
  ref: { kind: 'cloud-tpu', googleProject: 'p', zone: 'z', name: 'jc-train-g1' },
  ownership: OWNERSHIP,
} as ReadySlice;

const READY: Condition = { kind: 'ready', uid: '1', hosts: [] };
const TAKEN: Condition = { kind: 'lost', cause: 'preempted', message: 'taken' };
const MISSING: Condition = { kind: 'missing' };
const GONE: LostSlice = { index: 0, cause: 'preempted', message: 'the node is gone (NOT_FOUND, twice)' };
const APART_MS = 5_000;

/**
 * A cloud that shows these conditions, look by look, the last one for ever. Answers take a turn of the event loop, as real ones do.
 * What is put into `listed` is shown by one listing each.
 */
function cloudOf(...conditions: readonly Condition[]): {
  readonly machinesOf: MachinesOf;
  looks(): number;
  readonly listed: Condition[];
  /** Of each listing that was asked for. */
  readonly urgent: boolean[];
} {
  let looks = 0;
  const listed: Condition[] = [];
  const urgent: boolean[] = [];
  const observe = async (): Promise<Condition> => {
    const condition = conditions[Math.min(looks, conditions.length - 1)] as Condition;
    looks += 1;
    await turn();
    return condition;
  };
  const watch = async (_: unknown, { isUrgent }: { readonly isUrgent: boolean }): Promise<Condition> => {
    urgent.push(isUrgent);
    await turn();
    return listed.shift() ?? new Promise(() => undefined);
  };
  const machines = { observe, watch } as unknown as Machines;
  return { machinesOf: () => machines, looks: () => looks, listed, urgent };
}

/** One turn of the event loop. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turn();
}

it('a guard that is asked whether a slice is lost says so once it is, and asks no more', async () => {
  await new MockActivityEnvironment().run(async () => {
    const end = new AbortController();
    const { machinesOf, looks } = cloudOf(READY, TAKEN);
    const guard = new SliceGuard(machinesOf, [slice], 0, end.signal);
    assert.equal(await guard.lookAtAll(0), false);
    assert.equal(await guard.lookAtAll(60_000), true);
    assert.equal((await guard.lost)[0]?.cause, 'preempted');
    assert.equal(looks(), 2);
    end.abort();
  });
});

/** What makes a guard look at a slice directly. */
const OCCASIONS: Record<string, (guard: SliceGuard) => void> = {
  'a listing without it': () => undefined,
  'a host that is silent': (guard) => guard.suspect(slice.index),
  'a command that failed': (guard) => void guard.lookAtAll(60_000),
};

describe('a guard takes NOT_FOUND for a loss only when it sees it twice, apart', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'] }));
  afterEach(() => mock.timers.reset());
  for (const [occasion, begin] of Object.entries(OCCASIONS))
    for (const second of [READY, MISSING])
      it(`${occasion}; then it is ${second.kind}`, () =>
        new MockActivityEnvironment().run(async () => {
          const end = new AbortController();
          const cloud = cloudOf(MISSING, second);
          if (occasion === 'a listing without it') cloud.listed.push(MISSING);
          const guard = new SliceGuard(cloud.machinesOf, [slice], APART_MS, end.signal);
          let lost: readonly LostSlice[] = [];
          void guard.lost.then((slices) => (lost = slices));
          begin(guard);
          await settled();
          mock.timers.tick(APART_MS - 1);
          await settled();
          assert.deepEqual([cloud.looks(), lost], [1, []]);
          mock.timers.tick(1);
          await settled();
          assert.equal(cloud.looks(), 2);
          assert.deepEqual(lost, second === READY ? [] : [GONE]);
          end.abort();
        }));
});

it('a guard does not take a listing for evidence', () =>
  new MockActivityEnvironment().run(async () => {
    const end = new AbortController();
    const cloud = cloudOf(READY);
    cloud.listed.push(TAKEN, { kind: 'deleting' }, MISSING);
    const guard = new SliceGuard(cloud.machinesOf, [slice], 0, end.signal);
    await settled();
    assert.equal(cloud.looks(), 3);
    assert.equal(await guard.lookAtAll(0), false);
    end.abort();
  }));

it('a guard gives a slice up for a host key of another machine when it is seen twice and the slice is there', async () => {
  await new MockActivityEnvironment().run(async () => {
    const end = new AbortController();
    const guard = new SliceGuard(cloudOf(READY).machinesOf, [slice], 0, end.signal);
    let lost: unknown;
    void guard.lost.then((slices) => (lost = slices));
    await guard.wrongHostKey(0, 1, 'its host key is another');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(lost, undefined);
    await guard.wrongHostKey(0, 2, 'its host key is another');
    assert.deepEqual(await guard.lost, [{ index: 0, cause: 'failed', message: 'its host key is another' }]);
    const gone = new SliceGuard(cloudOf(TAKEN).machinesOf, [slice], 0, end.signal);
    await gone.wrongHostKey(0, 1, 'its host key is another');
    assert.equal((await gone.lost)[0]?.cause, 'preempted', 'what the API says comes first');
    end.abort();
  });
});

it('a guard keeps the facts by which a host counts as dead, and the look at its node', async () => {
  await new MockActivityEnvironment().run(async () => {
    const end = new AbortController();
    const guard = new SliceGuard(cloudOf(READY).machinesOf, [slice], 0, end.signal);
    assert.deepEqual(await guard.lookAt(0), READY);
    const facts = { sign: 'stale', others: 'answer, with fresh signs', silence: 'longer', node: 'ready' } as const;
    const dead = { at: 1, slice: 0, host: 3, ...facts, text: 'host 3 of slice 0 has not answered' };
    guard.reportDead(dead, 'failed');
    guard.reportDead({ ...dead, host: 2 }, 'failed');
    assert.deepEqual(await guard.lost, [{ index: 0, cause: 'failed', message: dead.text }]);
    assert.deepEqual(guard.evidence.dead, [dead]);
    assert.deepEqual(
      guard.evidence.looks.map(({ look, condition }) => [look, condition]),
      [['directly', 'ready']],
    );
    end.abort();
  });
});

it('a guard tells of each slice when it is lost, asks no more about it, and keeps what it was lost by', async () => {
  await new MockActivityEnvironment().run(async () => {
    const end = new AbortController();
    const cloud = cloudOf(TAKEN, MISSING);
    const lost: number[] = [];
    const loss = ({ index }: LostSlice): void => void lost.push(index);
    const guard = new SliceGuard(cloud.machinesOf, [slice, { ...slice, index: 1 }], 0, end.signal, { loss });
    const told: number[] = [];
    for (const index of [0, 1]) void guard.lossOf(index).then(() => told.push(index));
    guard.suspect(1);
    await settled();
    assert.deepEqual([told, lost], [[1], [1]]);
    guard.suspect(1);
    await settled();
    assert.equal(cloud.looks(), 1);
    await guard.lookAtAll(0);
    assert.equal(guard.evidence.looks.find((look) => look.slice === 1)?.condition, 'preempted');
    await guard.lossOf(0);
    assert.deepEqual(lost, [1, 0]);
    end.abort();
  });
});

it('a guard tells of each change of what the provider warns of, and asks urgently while it warns', () =>
  new MockActivityEnvironment().run(async () => {
    const end = new AbortController();
    const cloud = cloudOf(READY);
    const told: unknown[] = [];
    const warning = (index: number): void => void told.push([index, guard.warningOf(index)]);
    const guard: SliceGuard = new SliceGuard(cloud.machinesOf, [slice], 0, end.signal, { warning });
    assert.equal(guard.warningOf(0), 'not seen');
    const warned = { ...READY, warning: 'MAINTENANCE' } as Condition;
    cloud.listed.push(READY, READY, { kind: 'waiting', detail: 'REPAIRING' }, warned, warned, READY);
    await settled();
    await settled();
    assert.deepEqual(told, [
      [0, { reason: undefined }],
      [0, { reason: 'the provider says MAINTENANCE of this slice' }],
      [0, { reason: undefined }],
    ]);
    assert.deepEqual(cloud.urgent, [false, false, false, false, true, true, false]);
    assert.deepEqual(
      guard.evidence.looks.map(({ look, condition, text }) => [look, condition, text]),
      [['in the listing', 'ready', undefined]],
    );
    end.abort();
  }));

describe('a guard that waits', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 }));
  afterEach(() => mock.timers.reset());
  const pass = async (ms: number): Promise<void> => {
    mock.timers.tick(ms);
    await settled();
  };

  it('for a shutdown looks again every two seconds until its patience is over', () =>
    new MockActivityEnvironment().run(async () => {
      const end = new AbortController();
      const cloud = cloudOf(READY);
      const guard = new SliceGuard(cloud.machinesOf, [slice], 0, end.signal);
      let isLost: boolean | undefined;
      void guard.lookAtAll(5_000).then((answer) => (isLost = answer));
      await settled();
      const looks: unknown[] = [];
      for (const ms of [1_999, 1, 2_000, 1_999, 1]) {
        await pass(ms);
        looks.push([cloud.looks(), isLost]);
      }
      assert.deepEqual(looks, [
        [1, undefined],
        [2, undefined],
        [3, undefined],
        [3, undefined],
        [3, false],
      ]);
      end.abort();
    }));

  it('for an API that does not answer waits no longer than ten seconds for each look', () =>
    new MockActivityEnvironment().run(async () => {
      const end = new AbortController();
      const never = new Promise<never>(() => undefined);
      const machines = { observe: () => never, watch: () => never } as unknown as Machines;
      const guard = new SliceGuard(() => machines, [slice], 0, end.signal);
      let isLost: boolean | undefined;
      void guard.lookAtAll(0).then((answer) => (isLost = answer));
      await pass(9_999);
      assert.equal(isLost, undefined);
      await pass(1);
      assert.equal(isLost, false);
      end.abort();
    }));

  const failures: Readonly<Record<string, readonly [Error, number]>> = {
    'an API that is away': [new CloudUnavailable('away'), 2_000],
    'an API that refuses': [new Error('no right'), 15_000],
  };
  for (const [what, [error, ms]] of Object.entries(failures))
    it(`for ${what} asks again after ${ms / 1000} s, and takes it for no loss`, () => {
      const warnings: string[] = [];
      const none = (): void => undefined;
      const warn = (message: string): void => void warnings.push(message);
      const logger = { log: none, trace: none, debug: none, info: none, warn, error: none };
      return new MockActivityEnvironment({}, { logger }).run(async () => {
        const end = new AbortController();
        let asked = 0;
        const watch = async (): Promise<Condition> => {
          asked += 1;
          throw error;
        };
        const lost: unknown[] = [];
        const loss = (slice: LostSlice): void => void lost.push(slice);
        const guard = new SliceGuard(() => ({ watch }) as unknown as Machines, [slice], 0, end.signal, { loss });
        await settled();
        await pass(ms - 1);
        assert.equal(asked, 1);
        await pass(1);
        assert.deepEqual([asked, lost, guard.warningOf(0)], [2, [], 'not seen']);
        assert.equal(warnings[0], `slice jc-train-g1 cannot be looked at: ${error.message}`);
        end.abort();
        await settled();
        assert.equal(asked, 2);
      });
    });
});

it('a guard gives up for a host key a slice that waits too, and keeps what its host showed', () =>
  new MockActivityEnvironment().run(async () => {
    const end = new AbortController();
    const waits: Condition = { kind: 'waiting', detail: 'REPAIRING' };
    const guard = new SliceGuard(cloudOf(waits).machinesOf, [slice], 5_000, end.signal);
    assert.equal(guard.apartMs, 5_000);
    await guard.wrongHostKey(0, 1, 'another key');
    const kept = guard.evidence.looks.map(({ look, condition, text }) => [look, condition, text]);
    assert.deepEqual(kept, [['directly', 'wrong host key', 'another key']]);
    await guard.wrongHostKey(0, 2, 'another key');
    assert.equal((await guard.lost)[0]?.message, 'another key');
    assert.equal(await guard.lookAt(7), undefined, 'no slice of this attempt');
    end.abort();
  }));

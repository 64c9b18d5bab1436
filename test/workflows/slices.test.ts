import assert from 'node:assert/strict';
import type { SliceNews } from '../../contract/slice.js';
import type { SliceHost } from '../../domain/slice.js';
import { Slices } from '../../workflows/job/slices.js';
import { slicePlan } from '../cloud/cloud-tpu-plan.js';

const hosts = (net: number): readonly SliceHost[] =>
  [0, 1].map((index) => ({ reach: 'ssh', index, internalIp: `10.0.${net}.${index}` }));
const READY = {
  kind: 'ready',
  uid: 'u0',
  hosts: hosts(0),
  others: [1, 2].map((slice) => ({ uid: `u${slice}`, hosts: hosts(slice) })),
} as const;
const SPEC = { slices: 3, atomic: true } as const;

function plan(name: string, slices?: number) {
  const usual = slicePlan(name, 'queued-resources');
  return slices === undefined ? usual : { ...usual, ref: { ...usual.ref, slices } };
}

function readyGang(): Slices {
  const slices = new Slices(SPEC);
  slices.starting(0, 1, plan('x-g1', 3));
  slices.hear('x-g1', READY);
  return slices;
}

describe('the slices of an atomic job', () => {
  it('are one request, and no slice of it is there before the request is', () => {
    const slices = new Slices(SPEC);
    assert.deepEqual([slices.requests, slices.missingGeneration(0)], [1, 1]);
    slices.starting(0, 1, plan('x-g1', 3));
    assert.deepEqual(
      slices.views.map(({ index, ref, state, hosts: seen, uid }) => [index, ref.name, state, seen.length, uid]),
      [0, 1, 2].map((index) => [index, `x-g1-${index}`, 'starting', 0, undefined]),
    );
    assert.deepEqual([slices.isWhole, slices.ready, slices.missingGeneration(0)], [false, [], undefined]);
  });

  it('are ready together, each with its own machines and name', () => {
    const slices = readyGang();
    assert.ok(slices.isWhole);
    assert.deepEqual(
      slices.ready.map(({ index, ref, uid, hosts: seen }) => [index, ref.name, ref.request, uid, seen]),
      [0, 1, 2].map((index) => [index, `x-g1-${index}`, 'x-g1', `u${index}`, hosts(index)]),
    );
    assert.deepEqual(
      slices.present.map(({ name }) => name),
      ['x-g1'],
      'the lease counts one',
    );
  });

  it('end together, where they are sold for a time', () => {
    const slices = new Slices(SPEC);
    slices.starting(0, 1, plan('x-g1', 3));
    slices.hear('x-g1', { ...READY, endsAt: 7 });
    assert.deepEqual(
      slices.views.map(({ endsAt }) => endsAt),
      [7, 7, 7],
    );
  });

  it('go together, whichever of them is lost', () => {
    for (const index of [0, 1, 2]) {
      const slices = readyGang();
      assert.equal(slices.nameOf(index), 'x-g1');
      assert.deepEqual(
        slices.presentFor([index]).map(({ name }) => name),
        ['x-g1'],
      );
      slices.hear('x-g1', { kind: 'lost', cause: 'preempted', message: 'node 1 is PREEMPTED' });
      assert.deepEqual([slices.isWhole, slices.ready.length, slices.missingGeneration(0)], [false, 0, undefined]);
      assert.equal(slices.requestedWith(index), 3);
      slices.hear('x-g1', { kind: 'gone' });
      assert.deepEqual([slices.present, slices.missingGeneration(0)], [[], 2]);
    }
    assert.deepEqual(readyGang().presentFor([3]), []);
  });

  it('are lost where a worker of an older version asked for one of them alone', () => {
    const slices = new Slices(SPEC);
    slices.starting(0, 1, plan('x-g1', 3));
    slices.hear('x-g1', { kind: 'ready', uid: 'u0', hosts: hosts(0) });
    assert.deepEqual([slices.isWhole, slices.ready, slices.views[2]?.state], [false, [], 'lost']);
    assert.match(slices.loss?.message ?? '', /update all workers/);
  });

  it('of another generation have machines of their own', () => {
    const slices = readyGang();
    slices.hear('x-g1', { kind: 'gone' });
    slices.starting(0, 2, plan('x-g2', 3));
    slices.hear('x-g1', READY);
    assert.deepEqual(
      slices.views.map(({ ref, generation, hosts: seen }) => [ref.name, generation, seen.length]),
      [0, 1, 2].map((index) => [`x-g2-${index}`, 2, 0]),
    );
  });

  it('are renumbered one by one, and the same in the next run of their job', () => {
    const slices = readyGang();
    const turned = hosts(1).toReversed();
    slices.renumber([{ index: 1, hosts: turned }]);
    const carried = new Slices(SPEC, JSON.parse(JSON.stringify(slices.carry())) as ReturnType<Slices['carry']>);
    for (const each of [slices, carried])
      assert.deepEqual(
        each.ready.map(({ hosts: seen }) => seen),
        [hosts(0), turned, hosts(2)],
      );
    carried.renumber([{ index: 0, hosts: turned }]);
    assert.deepEqual(carried.ready[0]?.hosts, turned);
  });
});

describe('the slices of a job that asks for each alone', () => {
  it('are replaced one by one', () => {
    const slices = new Slices({ slices: 2 });
    for (const index of [0, 1]) {
      slices.starting(index, 1, plan(`x-s${index}-g1`));
      slices.hear(`x-s${index}-g1`, { kind: 'ready', uid: `u${index}`, hosts: hosts(index) });
    }
    assert.deepEqual([slices.requests, slices.isWhole, slices.ready.length], [2, true, 2]);
    slices.hear('x-s1-g1', { kind: 'gone' });
    assert.deepEqual([slices.missingGeneration(0), slices.missingGeneration(1)], [undefined, 2]);
    assert.deepEqual(
      slices.presentFor([0, 1]).map(({ name }) => name),
      ['x-s0-g1'],
    );
    assert.equal(slices.requestedWith(1), undefined);
  });
});

describe('slices that are asked for in another zone too', () => {
  const one = { kind: 'ready', uid: 'u', hosts: hosts(0) } as const;
  const names = (refs: readonly { readonly name: string }[]): readonly string[] => refs.map(({ name }) => name);

  /** Two slices, each asked for alone: generation 1 in the first zone, 2 beside it. */
  function race(): Slices {
    const slices = new Slices({ slices: 2 });
    for (const index of [0, 1]) slices.starting(index, slices.nextGeneration(index), plan(`x-s${index}-g1`));
    for (const index of [0, 1]) slices.starting(index, slices.nextGeneration(index), plan(`x-s${index}-g2`), 1);
    return slices;
  }
  const again = (slices: Slices): Slices =>
    new Slices({ slices: 2 }, JSON.parse(JSON.stringify(slices.carry())) as ReturnType<Slices['carry']>);

  it('are not the job’s own, and are counted until they are seen gone', () => {
    const slices = race();
    assert.deepEqual(names(slices.views.map(({ ref }) => ref)), ['x-s0-g1', 'x-s1-g1']);
    assert.deepEqual(slices.rivals.views, [], 'their pool has not allowed them');
    slices.hear('x-s0-g2', { kind: 'allowed' });
    assert.deepEqual(names(slices.rivals.views.map(({ ref }) => ref)), ['x-s0-g2']);
    slices.rivals.show(1);
    assert.deepEqual(names(slices.present), ['x-s0-g1', 'x-s1-g1', 'x-s0-g2', 'x-s1-g2']);
    assert.deepEqual(names(slices.presentFor([0])), ['x-s0-g1']);
    assert.deepEqual([slices.rivals.tries, slices.isNews], [[1], false]);
  });

  it('win when all of them are ready and not before; those of the former zone leave, whatever they say then', () => {
    const slices = race();
    slices.hear('x-s0-g2', one);
    slices.rivals.show(1);
    slices.hear('x-s0-g1', one);
    assert.deepEqual([slices.rivals.ready, slices.isNews], [undefined, false]);
    slices.hear('x-s1-g2', one);
    assert.deepEqual([slices.rivals.ready, slices.isNews, slices.isWhole], [1, true, false]);
    const former = again(slices).follow(1, 0);
    assert.deepEqual(names(former), ['x-s0-g1', 'x-s1-g1']);
    slices.follow(1, 0);
    slices.hear('x-s1-g1', one);
    assert.deepEqual([slices.isWhole, slices.rivals.tries, slices.rivals.ready], [true, [], undefined]);
    assert.deepEqual(names(slices.ready.map(({ ref }) => ref)), ['x-s0-g2', 'x-s1-g2']);
    assert.deepEqual(
      slices.rivals.views.map(({ state, detail }) => `${state}: ${detail}`),
      ['lost: told to go', 'lost: told to go'],
    );
    for (const name of ['x-s0-g1', 'x-s1-g1']) slices.hear(name, { kind: 'gone' });
    assert.deepEqual([names(slices.present), slices.rivals.views], [['x-s0-g2', 'x-s1-g2'], []]);
  });

  it('are lost alone, and no generation is used twice, in the next run neither', () => {
    const slices = race();
    slices.hear('x-s1-g2', { kind: 'lost', cause: 'refused', scope: 'zone', message: 'no capacity' });
    assert.deepEqual([slices.rivals.lost?.zoneTry, slices.rivals.lost?.index, slices.loss], [1, 1, undefined]);
    assert.deepEqual(names(slices.rivals.drop(1)), ['x-s0-g2', 'x-s1-g2']);
    assert.deepEqual([slices.rivals.drop(1), slices.rivals.lost, slices.rivals.tries], [[], undefined, []]);
    for (const name of ['x-s0-g2', 'x-s1-g2', 'x-s1-g1']) slices.hear(name, { kind: 'gone' });
    const next = again(slices);
    assert.deepEqual(names(next.present), ['x-s0-g1']);
    assert.deepEqual([next.missingGeneration(0), next.missingGeneration(1)], [undefined, 3]);
    assert.throws(() => next.follow(1, 0), /no rival of try 1/);
  });

  it('are told of once their pool has allowed them, or an answer shows that it has', () => {
    const told = (news: SliceNews): readonly unknown[] => {
      const slices = race();
      const before = [slices.rivals.unshown, slices.isNews];
      slices.hear('x-s1-g2', news);
      const next = again(slices);
      assert.equal(next.rivals.unshown, slices.rivals.unshown);
      const { unshown } = slices.rivals;
      slices.rivals.show(1);
      assert.deepEqual([slices.rivals.unshown, again(slices).rivals.unshown], [undefined, undefined]);
      assert.deepEqual([again(slices).rivals.shown, next.rivals.shown], [[1], []]);
      return [...before, unshown, next.isNews];
    };
    assert.deepEqual(told({ kind: 'allowed' }), [undefined, false, 1, true]);
    assert.deepEqual(told({ kind: 'ready', uid: 'u', hosts: hosts(1) }), [undefined, false, 1, true]);
    assert.deepEqual(told({ kind: 'lost', cause: 'refused', scope: 'zone', message: 'full' }), [
      undefined,
      false,
      1,
      true,
    ]);
    // Its pool has no room for it: that is news, and no zone was asked.
    assert.deepEqual(told({ kind: 'lost', cause: 'lease', message: 'no room' }), [undefined, false, undefined, true]);
    assert.deepEqual(told({ kind: 'progress', detail: 'x' }), [undefined, false, undefined, false]);
    const slices = race();
    const detail = () => slices.rivals.views.find(({ ref }) => ref.name === 'x-s1-g2')?.detail;
    assert.equal(detail(), undefined, 'nobody was asked for it');
    slices.hear('x-s1-g2', { kind: 'allowed' });
    assert.match(detail() ?? '', /^asking us-/);
  });

  it('that became the job’s own before their pool had answered are asked for once more: the lease stands', () => {
    const slices = race();
    slices.follow(1, 0);
    assert.ok(slices.rivals.isLeaving);
    slices.hear('x-s1-g2', { kind: 'lost', cause: 'lease', message: 'its pool has no room for it' });
    assert.deepEqual(slices.loss, {
      index: 1,
      cause: 'refused',
      scope: 'moment',
      isByPool: true,
      message: 'its pool has no room for it',
    });
    assert.deepEqual([slices.refused, again(slices).loss], [[1], slices.loss]);
    const own = race();
    own.hear('x-s0-g1', { kind: 'lost', cause: 'lease', message: 'lease does not stand' });
    assert.equal(own.loss?.cause, 'lease');
  });

  it('say since when they say what they say', () => {
    const slices = race();
    const since = slices.views[0]?.since ?? 0;
    assert.ok(Math.abs(Date.now() - since) < 60_000);
    slices.hear('x-s0-g1', { kind: 'progress', detail: 'asking us-central1-a' });
    assert.equal(slices.views[0]?.detail, 'asking us-central1-a');
  });
});

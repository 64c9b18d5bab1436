import assert from 'node:assert/strict';
import fc from 'fast-check';
import { budgetLeft, NO_RETRIES, type Retries } from '../../domain/recovery/budgets.js';
import { decide } from '../../domain/recovery/decide.js';
import { REFUSAL_SCOPES, type RefusalScope } from '../../domain/slice.js';
import { REFUSALS } from '../../domain/recovery/facts.js';
import { Refusals } from '../../workflows/job/refusals.js';
import { GOOGLE_REFUSALS } from '../cloud/google-refusals.js';

const TIMINGS = { zoneBackoffMs: 15_000, zoneBackoffMaxMs: 600_000 };
const ZONES = ['a', 'b', 'c'];

/** A job that asks for slices, and gets these answers one after the other, wherever it asks. */
interface Story {
  readonly answers: readonly RefusalScope[];
  readonly zones: number;
  readonly allowed: number;
  readonly command: 'never ran' | 'ran before';
}

interface End {
  readonly at: number;
  /** By each zone, last. */
  readonly said: readonly (RefusalScope | undefined)[];
}

/** As `Recovery.afterLoss` carries decisions out. Undefined: it goes on after the last answer. */
function play({ answers, zones: count, allowed, command }: Story): End | undefined {
  const zones = ZONES.slice(0, count);
  const refusals = new Refusals(TIMINGS);
  const all: Retries = { preemption: 0, infrastructure: allowed, task: 0, requested: 0 };
  const said = new Map<string, RefusalScope>();
  let at = 0;
  for (const [index, scope] of answers.entries()) {
    refusals.note(zones[at % count] as string, scope);
    // The others say nothing of the request.
    if (scope !== 'moment' && scope !== 'installation') said.set(zones[at % count] as string, scope);
    const because = REFUSALS[scope];
    const decision = decide('not ready', {
      because,
      zones: refusals.standing({ zones, otherTiers: [] }, because),
      refusals: refusals.areMany ? 'many' : 'few',
      command,
      ...budgetLeft(NO_RETRIES, all),
    });
    if (decision.do === 'fail') return { at: index, said: zones.map((zone) => said.get(zone)) };
    assert.notEqual(decision.do, 'retry', `${scope} costs a retry`);
    if (decision.do !== 'ask again') {
      at += 1;
      refusals.leftZone();
    }
  }
  return undefined;
}

const story = (scopes: readonly RefusalScope[]): fc.Arbitrary<Story> =>
  fc.record({
    answers: fc.array(fc.constantFrom(...scopes), { minLength: 1, maxLength: 60 }),
    zones: fc.integer({ min: 1, max: ZONES.length }),
    allowed: fc.nat(3),
    command: fc.constantFrom('never ran', 'ran before'),
  });

describe('a job that is refused its slices', () => {
  it('whatever it is answered, it pays no retry, and only a request that is wrong everywhere ends one that never ran', () => {
    let ends = 0;
    fc.assert(
      fc.property(story(REFUSAL_SCOPES), (told) => {
        const end = play(told);
        if (end === undefined) return;
        ends += 1;
        assert.deepEqual([told.command, new Set(end.said)], ['never ran', new Set(['request'])]);
      }),
      { numRuns: 2_000 },
    );
    assert.ok(ends > 100, `${ends} ended: the property must be able to fail`);
  });

  it('no text of Google’s that is on record ends one, however long it lasts: it is asked again', () => {
    const scopes = [...new Set(Object.values(GOOGLE_REFUSALS).map(({ scope }) => scope))];
    assert.ok(scopes.includes('zone-lasting') && scopes.includes('unknown') && scopes.includes('permission'));
    fc.assert(
      fc.property(story(scopes), (told) => assert.equal(play(told), undefined)),
      { numRuns: 500 },
    );
  });

  it('a zone that lacks chips has taken the request, whatever it said before', () => {
    const refusals = new Refusals(TIMINGS);
    for (const scope of ['unknown', 'moment'] as const) refusals.note('a', scope);
    assert.equal(refusals.isLeft(['a']), false);
    refusals.note('a', 'zone');
    assert.equal(refusals.isLeft(['a']), true);
  });

  it('a right that may be missing in one zone alone leaves no zone unasked, in whatever order, and is waited out in turn', () => {
    const refusals = new Refusals(TIMINGS);
    const after = (zone: string) => {
      refusals.note(zone, 'permission');
      const isLeft = refusals.isLeft(['a', 'b']);
      refusals.leftZone();
      const facts = { refusals: 'few', command: 'never ran', preemption: 'spent', infrastructure: 'spent' } as const;
      const because = REFUSALS.permission;
      return [decide('not ready', { because, zones: isLeft ? 'left' : 'none', ...facts }).do, refusals.pauseMs(2)];
    };
    assert.deepEqual(after('a'), ['next zone', 0]);
    assert.deepEqual(after('b'), ['next zone', 15_000]);
    assert.deepEqual(after('a'), ['next zone', 0]);
    assert.deepEqual(after('b'), ['next zone', 30_000]);
  });

  it('a request that every zone calls wrong ends it only once they did so in each tier in which it could be', () => {
    const refusals = new Refusals(TIMINGS);
    const standing = () => refusals.standing({ zones: ['a', 'b'], otherTiers: [1, 2] }, 'request refused');
    const refuse = (...zones: string[]) => zones.forEach((zone) => refusals.note(zone, 'request'));
    refuse('a', 'b');
    assert.equal(standing(), 'left');
    refusals.leftTier(0, ['a', 'b']);
    const inTier1 = { zones: ['a', 'b'], otherTiers: [0, 2] };
    refuse('a', 'b');
    assert.equal(refusals.standing(inTier1, 'request refused'), 'left');
    refusals.leftTier(1, ['a', 'b']);
    const again = new Refusals(TIMINGS, refusals.carry());
    again.note('a', 'request');
    const inTier2 = { zones: ['a', 'b'], otherTiers: [0, 1] };
    assert.equal(again.standing(inTier2, 'request refused'), 'left');
    again.note('b', 'request');
    assert.equal(again.standing(inTier2, 'request refused'), 'none');
    // One that a tier had not called wrong stays open.
    refusals.leftTier(2, ['a', 'b']);
    assert.equal(refusals.standing({ zones: ['a'], otherTiers: [2, 3] }, 'request refused'), 'left');
  });

  it('a request that every zone refuses ends it at once, if it never ran', () => {
    const answers = Array.from({ length: 9 }, () => 'request' as const);
    assert.deepEqual(play({ answers, zones: 3, allowed: 3, command: 'never ran' })?.at, 2);
    assert.equal(play({ answers, zones: 3, allowed: 3, command: 'ran before' }), undefined);
  });

  it('one that a zone refuses for anything else goes on, whatever the others say of it', () => {
    for (const other of ['zone', 'zone-lasting', 'permission', 'unknown'] as const) {
      const answers = [other, 'request', other, 'request', other] as const;
      assert.equal(play({ answers, zones: 2, allowed: 0, command: 'never ran' }), undefined, other);
    }
    const answers = ['permission', 'request', 'request'] as const;
    assert.equal(play({ answers, zones: 2, allowed: 0, command: 'never ran' })?.at, 2);
  });

  it('is asked again at growing distances: after each round of zones, and in one zone', () => {
    const refusals = new Refusals(TIMINGS);
    const rounds = Array.from({ length: 9 }, () => {
      refusals.note('a', 'zone');
      refusals.leftZone();
      return refusals.pauseMs(2) / 1000;
    });
    assert.deepEqual(rounds, [0, 15, 0, 30, 0, 60, 0, 120, 0]);
    const here = new Refusals(TIMINGS, { count: 20, here: 0, zones: {} });
    const pauses = Array.from({ length: 8 }, () => {
      here.note('a', 'installation');
      return here.pauseHereMs / 1000;
    });
    assert.deepEqual(pauses, [15, 30, 60, 120, 240, 480, 600, 600]);
    here.note('a', 'unknown');
    here.clear();
    assert.equal(here.isLeft(['a']), true);
    here.note('a', 'zone');
    assert.equal(here.pauseHereMs / 1000, 15, 'slices that were ready end the row');
  });

  it('goes on as it was after a continue-as-new', () => {
    const before = new Refusals(TIMINGS);
    before.note('a', 'unknown');
    before.note('b', 'zone');
    const after = new Refusals(TIMINGS, before.carry());
    assert.deepEqual(after.carry(), { count: 2, here: 2, zones: { a: 'lasting' } });
    assert.deepEqual([after.isLeft(['a']), after.isLeft(['a', 'b'])], [false, true]);
  });
});

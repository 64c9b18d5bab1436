import assert from 'node:assert/strict';
import { leaseKey, type LeaseMessageBody } from '../../domain/lease.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { poolAccounts } from '../../quota/pool-accounts.js';
import { chipHolders } from '../../quota/chip-holders.js';
import { packState, unpackState } from '../../quota/published-state.js';
import { emptyCarry, PoolRecords } from '../../workflows/quota/pool-records.js';
import { DEMAND, JOB, ref, register, request, speaker } from './lease-messages.js';

const KEY = leaseKey(JOB);
const CONFIG = { kind: 'limited', tiers: [DEMAND.units], projects: [] } as const;

/** A pool with room for one gang of its only job, whose first gang is asked for. */
function fullPool(tiers: readonly Readonly<Record<string, number>>[] = CONFIG.tiers) {
  const { book: carry, ...rest } = emptyCarry(1);
  const records = new PoolRecords('p', { ...rest, book: { ...carry, isRebuilding: false } }, 0);
  records.takeFiles({ mark: 'm', config: { ...CONFIG, tiers }, timings: DEFAULT_TIMINGS }, 0);
  const say = speaker(records.book);
  say('job', request);
  records.book.grant({ id: KEY, tier: 0 }, 1);
  records.takeDeliveries(99, 1);
  say('jc-x-g1', register('jc-x-g1'));
  return { records, say };
}
const beside = (name: string) => ({ ...register(name), isBeside: true }) as const;

/** As `quota show` and `quota show --jobs` read it. */
function shown(records: PoolRecords): readonly unknown[] {
  const { view } = unpackState(packState(records.snapshot()));
  const { tiers } = poolAccounts(view);
  return [...tiers.map(({ free, draining }) => [free, draining]), chipHolders(view).map(({ state }) => state)];
}
const [[type, units] = ['', 0]] = Object.entries(DEMAND.units);

/** In a zone that its job names. */
const inZone = (name: string): LeaseMessageBody => ({
  ...{ kind: 'slice', ref: { ...ref(name), zone: 'us-central2-b' } },
  ...{ isBeside: true, asks: { accelerator: 'v4-8', pricing: 'spot' } },
});

describe('a gang that is asked for beside the first, as the pool is shown', () => {
  it('takes nothing before its pool has allowed it, and nothing if it has no room, until it is gone', () => {
    const { records, say } = fullPool();
    say('jc-x-g2', beside('jc-x-g2'));
    assert.deepEqual(shown(records), [[0, 0], ['asking']], 'not answered');
    records.decide(2);
    const answers = records.takeDeliveries(99, 2)?.answers;
    assert.deepEqual(
      answers?.find(({ slice }) => slice === 'jc-x-g2'),
      { slice: 'jc-x-g2', isHeld: false },
    );
    assert.deepEqual(shown(records), [[0, 0], ['asking']], 'no room');
    // Asked once more, since the answer was lost.
    say('jc-x-g2', beside('jc-x-g2'));
    assert.deepEqual(shown(records), [[0, 0], ['asking']]);
    assert.equal(records.view(CONFIG, 3).leases.length, 2, 'a decision counts it until it is seen gone');
    say('jc-x-g2', { kind: 'gone' });
    assert.equal(records.book.get(KEY)?.unallowed, undefined);
    assert.equal(records.view(CONFIG, 3).leases.length, 1);
  });

  it('has asked no zone before its pool has allowed it', () => {
    for (const [room, isAsked] of [
      [1, false],
      [2, true],
    ] as const) {
      const { records, say } = fullPool([{ [type]: room * units }]);
      say('job', { kind: 'request', demand: { ...DEMAND, zones: ['us-central2-b'] }, slices: [] });
      say('jc-x-g2', inZone('jc-x-g2'), 7);
      const row = records.book.get(KEY);
      assert.deepEqual([row?.asks, row?.askedIn], [undefined, undefined]);
      records.decide(8);
      records.takeDeliveries(99, 8);
      assert.deepEqual(
        [row?.asks?.map(({ zone, since }) => [zone, since]), row?.askedIn],
        isAsked ? [[['us-central2-b', 7]], { 'us-central2-b': 'asked' }] : [undefined, undefined],
      );
    }
  });

  it('drains once it is allowed, and from the first if the book knew of it before it asked', () => {
    const { records, say } = fullPool([{ [type]: 3 * units }]);
    say('jc-x-g2', beside('jc-x-g2'));
    assert.deepEqual(shown(records), [[2 * units, 0], ['asking']]);
    records.decide(2);
    records.takeDeliveries(99, 2);
    assert.deepEqual(shown(records), [
      [units, units],
      ['asking', 'draining'],
    ]);
    const known = fullPool();
    known.say('job', { kind: 'request', demand: DEMAND, slices: ['jc-x-g1', 'jc-x-g2'].map(ref) });
    known.say('jc-x-g2', beside('jc-x-g2'));
    assert.deepEqual(
      shown(known.records),
      [
        [-units, units],
        ['asking', 'draining'],
      ],
      'its provider may have been asked',
    );
  });
});

import assert from 'node:assert/strict';
import { tierSentences } from '../../cli/terminal/render/elsewhere.js';
import { clockTime } from '../../cli/terminal/render/quantities.js';
import { tierTurns } from '../../quota/explanation/tier-turns.js';
import type { PoolSnapshot } from '../../quota/published-state.js';
import { DEFAULT_RULES, NO_MEMORY, type QuotaLease } from '../../quota/quota-config.js';
import type { CapacityRow } from '../../quota/seen-capacity.js';
import { lease, pool } from './builders.js';

const MINUTE = 60_000;
const NOW = 1_000 * MINUTE;
const ago = (minutes: number): number => NOW - minutes * MINUTE;
const ZONES = ['us-central1-a', 'us-west4-a'];
const KEY = 'train/0192f3c4-1111-7aaa-8bbb-0123456789ab/1';

function state(
  of: Partial<QuotaLease>,
  more: Partial<PoolSnapshot> & { readonly coolsUntil?: number } = {},
): PoolSnapshot {
  const { coolsUntil, ...rest } = more;
  const tiers = pool([{ v5litepod: 8 }, { v5litepod: 8 }]);
  const rules = { ...DEFAULT_RULES, tiers: [{ pricing: 'ondemand' }, { pricing: 'spot' }] as const };
  const coolDowns = ZONES.flatMap((zone) =>
    coolsUntil === undefined ? [] : [{ type: 'v5litepod', tier: 0, zone, failures: 1, until: coolsUntil }],
  );
  const own = lease(KEY, { v5litepod: 8 }, { state: 'asking', askingSince: ago(5), zones: ZONES, ...of });
  return {
    ...{ pool: 'default', at: NOW, epoch: 1, admission: 'open', ...rest },
    view: {
      config: { ...tiers, rules } as PoolSnapshot['view']['config'],
      requests: [],
      leases: [own],
      memory: { ...NO_MEMORY, coolDowns },
    },
  };
}

const seen = (zone: string, more: Partial<CapacityRow>): CapacityRow => ({
  ...{ zone, accelerator: 'v5litepod-8', pricing: 'ondemand', asked: 2, got: 0 },
  ...{ waiting: 0, sliceHours: 0, preempted: 0, seenAt: NOW, ...more },
});
const told = (of: PoolSnapshot): readonly string[] => tierSentences(tierTurns(of, 'train', 'v5litepod-8'), NOW);

describe('which tier a job asks in, and when the others have their turn', () => {
  it('before any has given nothing: the asked one since when, and when the next is asked at the earliest', () => {
    assert.deepEqual(told(state({})), [
      'It asks in tier 1 (ondemand) of the pool, for 5m 00s.',
      `Tier 2 (spot) is asked from ${clockTime(NOW + 10 * MINUTE)} on, or once each zone has refused, if this one gives nothing before and it has room then.`,
    ]);
  });

  it('what zones of the job said of the first as it is bought, unless they gave chips since, and when it is asked again', () => {
    const capacity = [
      seen('us-central1-a', { refusal: { at: ago(8), text: 'no more capacity' } }),
      seen('us-west4-a', { refusal: { at: ago(7), text: 'none here' }, lastGot: { at: ago(6), waitedMs: 1 } }),
      seen('us-east5-a', { refusal: { at: ago(1), text: 'a zone of others' } }),
      seen('us-west4-a', { pricing: 'spot', refusal: { at: ago(1), text: 'of spot' } }),
      seen('us-west4-a', { accelerator: 'v5litepod-4', refusal: { at: ago(1), text: 'of another type' } }),
    ];
    assert.deepEqual(told(state({ tier: 1 }, { capacity, coolsUntil: NOW + 20 * MINUTE })), [
      'It asks in tier 2 (spot) of the pool, for 5m 00s.',
      'Tier 1 (ondemand) gave nothing (us-central1-a said 8m 00s ago: no more capacity), and is asked again from ' +
        `${clockTime(NOW + 20 * MINUTE)} on, if this one gives nothing before and it has room then.`,
    ]);
  });

  it('the asking timeout counts where the cool-down is over before, and not where each zone has refused', () => {
    const soon = { coolsUntil: NOW + MINUTE };
    const turn = (of: Partial<QuotaLease>) => {
      const { at, orOnceRefused } = tierTurns(state({ tier: 1, ...of }, soon), 'train', 'v5litepod-8')?.others[0] ?? {};
      return [at, orOnceRefused];
    };
    assert.deepEqual(turn({}), [NOW + 10 * MINUTE, true]);
    assert.deepEqual(turn({ everywhere: 'refused' }), [NOW + MINUTE, undefined]);
  });

  const NONE: Record<string, PoolSnapshot> = {
    'has its chips': state({ state: 'held' }),
    'wants one pricing alone': state({ pricing: 'spot', tier: 1 }),
    'waits in a frozen pool': state({}, { admission: 'frozen' }),
    'is another': state({}),
  };
  for (const [name, of] of Object.entries(NONE))
    it(`nothing of a job that ${name}`, () => {
      const job = name === 'is another' ? 'eval' : 'train';
      assert.deepEqual(tierTurns(of, job, 'v5litepod-8'), undefined);
    });
});

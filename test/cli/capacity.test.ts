import assert from 'node:assert/strict';
import { renderCapacity } from '../../cli/commands/verbs/pool.js';
import type { CapacityRow } from '../../quota/seen-capacity.js';

const NOW = 1_790_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const row = (more: Partial<CapacityRow>): CapacityRow => ({
  ...{ zone: 'us-east1-d', accelerator: 'v6e-8', pricing: 'spot', asked: 1, got: 0, waiting: 0 },
  ...{ sliceHours: 0, preempted: 0, seenAt: NOW - MINUTE },
  ...more,
});

describe('jobctl capacity', () => {
  it('is a table by zone, type and pricing, with what was refused last, and what was not seen', () => {
    const rows = [
      row({ asked: 12, got: 9, medianWaitMs: 6 * MINUTE, sliceHours: 40, preempted: 10 }),
      row({
        ...{ zone: 'us-east5-a', asked: 3, waiting: 2, waitingSince: NOW - 72 * MINUTE, sliceHours: 3 },
        refusal: { at: NOW - 2 * HOUR, text: 'There is no more capacity in the zone "us-east5-a"' },
      }),
    ];
    const zones = ['us-east1-d', 'us-east5-a', 'europe-west4-a'];
    assert.deepEqual(renderCapacity({ pool: 'default', at: NOW - 2_000, poolZones: zones, capacity: rows }, NOW), [
      'pool default: seen by its jobs, as of 2s ago; no promise',
      '',
      '  ZONE        TYPE   PRICING  ASKED  GOT  WAIT    WAITING NOW    PREEMPTED  SEEN',
      '  us-east1-d  v6e-8  spot     12     9    6m 00s  -              0.25/h     1m 00s ago',
      '  us-east5-a  v6e-8  spot     3      0    -       2, for 1h 12m  0 in 3 h   1m 00s ago',
      '',
      '  REFUSED LAST',
      '  us-east5-a v6e-8 spot: There is no more capacity in the zone "us-east5-a" (2h 00m ago)',
      '',
      '  nothing seen in: europe-west4-a',
    ]);
  });

  it('counts preemptions of slices that lived too shortly for a rate, and says nothing of zones where none ran', () => {
    const shown = ([sliceHours, preempted]: readonly [number, number]): string =>
      renderCapacity({ pool: 'p', at: NOW, capacity: [row({ sliceHours, preempted })] }, NOW)[3] ?? '';
    for (const [lived, want] of [
      [[0.02, 1], / 1 in under 0\.1 h /],
      [[0, 0.4], / 1 in under 0\.1 h /],
      [[0.09, 2.7], / 3 in under 0\.1 h /],
      [[0, 0], / - +- +- +1m/],
    ] as const)
      assert.match(shown(lived), want);
  });

  it('of a pool that has seen nothing says so', () => {
    const lines = renderCapacity({ pool: 'default', at: NOW }, NOW);
    assert.match(lines.join('\n'), /nothing yet: a row comes with the first request/);
  });

  it('shows no character that a terminal would obey, whoever wrote the state', () => {
    const hostile = '\u001b]0;x\u0007\u202e';
    const rows = [row({ zone: hostile, refusal: { at: NOW, text: hostile } })];
    const text = renderCapacity({ pool: 'p', at: NOW, poolZones: [hostile], capacity: rows }, NOW).join('\n');
    assert.doesNotMatch(text.replaceAll('\n', ''), /\p{Cc}|\u202e/u);
  });
});

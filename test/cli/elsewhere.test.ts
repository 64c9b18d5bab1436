import assert from 'node:assert/strict';
import { renderElsewhere } from '../../cli/terminal/render/elsewhere.js';
import { askingOf } from '../../cli/terminal/render/why.js';
import type { JobView } from '../../contract/job.js';
import type { CapacityRow } from '../../quota/seen-capacity.js';
import { T0 } from './rows.js';

const MINUTE = 60_000;

describe('jobctl why of a job that waits for chips, and what its pool has seen', () => {
  const HOUR = 60 * MINUTE;
  const zones = ['us-east1-d', 'us-east5-a'];
  const spec = { tpu: { accelerator: 'v6e-8', zones, pricing: 'spot' }, slices: 1 };
  const starting = { state: 'starting', ref: { name: 'jc-train-g1', zone: 'us-east5-a' } };
  const view = (more: object = {}) =>
    ({ phase: 'provisioning', phaseSince: T0 - MINUTE, spec, slices: [starting], ...more }) as unknown as JobView;
  const gave = (zone: string, agoMs: number, more: object = {}): CapacityRow => ({
    ...{ zone, accelerator: 'v6e-8', pricing: 'spot', asked: 3, got: 2, waiting: 0, sliceHours: 1, preempted: 0 },
    ...{ lastGot: { at: T0 - agoMs, waitedMs: 6 * MINUTE }, seenAt: T0, ...more },
  });
  const said = (rows: readonly CapacityRow[], more: object = {}) => renderElsewhere(view(more), rows, T0);

  it('says where one of its type was given lately, as what was seen', () =>
    assert.deepEqual(said([gave('us-east1-d', 20 * MINUTE)]), [
      "Seen by this pool's jobs: us-east1-d gave a v6e-8 (spot) within 6m 00s, 20m ago.",
    ]));

  it('says what else is true of that zone: that it refused since, that the job does not name it', () => {
    const refusal = { at: T0 - MINUTE, text: 'no more capacity' };
    assert.match(said([gave('us-east1-d', HOUR, { refusal })])[0] ?? '', /1h 00m ago, and has refused one since\.$/);
    assert.match(said([gave('us-central1-b', HOUR)])[0] ?? '', /; it is none of this job's zones\.$/);
  });

  it('says nothing of what is long ago, another type, a zone that is asked now, or a job that does not wait', () => {
    assert.deepEqual(said([gave('us-east1-d', 7 * HOUR), gave('us-east5-a', MINUTE)]), []);
    assert.deepEqual(said([gave('us-east1-d', MINUTE, { accelerator: 'v6e-256' })]), []);
    assert.deepEqual(said([gave('us-east1-d', MINUTE)], { phase: 'running' }), []);
    assert.deepEqual(renderElsewhere(undefined, [gave('us-east1-d', MINUTE)], T0), []);
  });

  it('is told to programs with all that is asked, and of no other job', () => {
    const refusal = { at: T0 - MINUTE, text: 'no more capacity' };
    const nextZone = { zone: 'us-east1-d', at: T0 + MINUTE };
    const told = askingOf(view({ nextZone }), [gave('us-east1-d', HOUR, { refusal })], T0) as {
      asks: readonly { zone: string }[];
      seen: readonly object[];
    };
    assert.deepEqual(
      told.asks.map(({ zone }) => zone),
      ['us-east5-a'],
    );
    assert.deepEqual(told, {
      asks: told.asks,
      nextZone,
      seen: [
        {
          zone: 'us-east1-d',
          accelerator: 'v6e-8',
          pricing: 'spot',
          lastGot: { at: T0 - HOUR, waitedMs: 6 * MINUTE },
          refusal,
        },
      ],
      onDemand: { zone: 'us-east1-d', usdPerHour: 21.6, spotUsdPerHour: 4.3536 },
    });
    assert.equal(askingOf(view({ phase: 'running' }), [gave('us-east1-d', HOUR)], T0), undefined);
  });

  describe('says what else would help', () => {
    const ofType = (accelerator: string, agoMs: number, more: object = {}): CapacityRow =>
      gave('us-east5-a', agoMs, { accelerator, ...more });
    const long = { phaseSince: T0 - HOUR };

    it('the largest smaller type of its generation that a job got lately', () => {
      const refusal = { at: T0, text: 'no more capacity' };
      const rows = [
        ...[
          ofType('v6e-1', MINUTE),
          ofType('v6e-4', 2 * HOUR),
          ofType('v6e-16', MINUTE),
          ofType('v5litepod-4', MINUTE),
        ],
        ofType('v6e-4', MINUTE, { zone: 'us-east1-d', refusal }),
      ];
      assert.deepEqual(said(rows), [
        "Smaller than its v6e-8, seen by this pool's jobs: us-east5-a gave a v6e-4 (spot) within 6m 00s, 2h 00m ago.",
      ]);
      assert.deepEqual(said([ofType('v6e-4', 7 * HOUR)]), []);
      const told = askingOf(view(), rows, T0) as { smaller: { accelerator: string } };
      assert.equal(told.smaller.accelerator, 'v6e-4');
    });

    it('the price on demand where it is least, once it has waited long', () => {
      assert.deepEqual(said([], long), [
        'On demand it would cost about $21.60 an hour in us-east1-d, spot about $4.35; whether there are chips is not known. That takes another job, with tpu.pricing: ondemand.',
      ]);
      assert.deepEqual(said([], {}), []);
      for (const tpu of [{ pricing: 'ondemand' }, { pricing: 'any' }, { zones: ['xx-nowhere1-a'] }])
        assert.deepEqual(said([], { ...long, spec: { ...spec, tpu: { ...spec.tpu, ...tpu } } }), []);
    });
  });

  it('shows two at most, the latest first, and nothing that a terminal would obey', () => {
    const lines = said([gave('a', HOUR), gave('b', MINUTE), gave('c\u001b[31m', 2 * MINUTE)]);
    assert.deepEqual(
      lines.map((line) => /jobs: (\S+) gave/.exec(line)?.[1]),
      ['b', 'c\\u001b[31m'],
    );
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { JobFile } from '../../workflows/job/job-file.js';
import { Zones, type ZonesCarry } from '../../workflows/job/zones.js';

const ZONES = ['us-east1-d', 'us-east5-a', 'us-central1-b', 'europe-west4-a'];
const [A = '', B = '', C = '', D = ''] = ZONES;

function zonesOf(zones: readonly string[] | 'any', carry?: ZonesCarry, current = 0): Zones {
  const job = { tpu: { accelerator: 'v6e-8', zones }, command: { run: 'true' } };
  const pool = { pool: 'default', listedZones: ZONES };
  const resolved = resolveJob(job, { pool });
  assert.ok(resolved.ok, JSON.stringify(resolved));
  return new Zones(new JobFile(resolved.spec, { v: 1, job, user: 'u' } as never), current, carry);
}
const left = (zones: Zones, times: number): readonly string[] =>
  Array.from({ length: times }, () => {
    zones.leave();
    return zones.zone;
  });
const names = (zones: Zones): readonly string[] => zones.others.map((each) => zones.of(each));

describe('the zones of a job that lists them', () => {
  it('are asked as they are listed, whatever its pool says and whatever happened', () => {
    const zones = zonesOf(ZONES);
    zones.advise([D, C, B, A]);
    zones.choose();
    zones.preempted(Date.now());
    assert.equal(zones.zone, A);
    assert.deepEqual(names(zones), [B, C, D]);
    assert.deepEqual(left(zones, 8), [B, C, D, A, B, C, D, A]);
    assert.equal(zones.current, 8);
    assert.equal(zones.carry(), undefined);
  });
});

describe('the zones of a job that takes any', () => {
  it('are asked as its pool orders them, from the first on', () => {
    const zones = zonesOf('any');
    zones.advise([C, A, D, B]);
    zones.choose();
    assert.equal(zones.zone, C);
    assert.deepEqual(names(zones), [A, D, B]);
    assert.deepEqual(left(zones, 3), [A, D, B]);
  });

  it('are those of the pool file in its order while the pool has said nothing', () => {
    const zones = zonesOf('any');
    zones.choose();
    assert.equal(zones.zone, A);
    assert.deepEqual(left(zones, 3), [B, C, D]);
  });

  it('each have their turn in a round, however the pool orders them meanwhile', () => {
    const order = fc.shuffledSubarray(ZONES, { minLength: 1 });
    fc.assert(
      fc.property(fc.array(fc.option(order), { minLength: 8, maxLength: 8 }), (orders) => {
        const zones = zonesOf('any');
        const rounds: string[] = [];
        for (const next of orders) {
          if (next) zones.advise(next);
          rounds.push(zones.zone);
          zones.leave();
        }
        for (const round of [rounds.slice(0, 4), rounds.slice(4)])
          assert.deepEqual(round.toSorted(), ZONES.toSorted(), rounds.join(' '));
      }),
    );
  });

  it('come last where the provider took the job’s slices within the hour, and not for longer', () => {
    for (const [agoMs, want] of [
      [10 * 60_000, [B, D, C]],
      [61 * 60_000, [C, B, D]],
    ] as const) {
      const preemptedAt = { [C]: Date.now() - agoMs };
      assert.deepEqual(names(zonesOf('any', { order: [A, C, B, D], preemptedAt })), want);
    }
  });

  it('begin anew when all slices were ready: the one that gave them is as good as it is said', () => {
    const zones = zonesOf('any');
    zones.advise([A, B, C, D]);
    left(zones, 2);
    zones.settle();
    assert.deepEqual([zones.zone, names(zones)], [C, [A, B, D]]);
  });

  it('begin where a person wants it, whatever the pool says with the next grant', () => {
    const zones = zonesOf('any');
    zones.begin(D);
    const next = zonesOf('any', zones.carry(), zones.current);
    next.advise([A, B, C, D]);
    next.choose();
    assert.equal(next.zone, D);
  });

  it('stay where they are while the pool has nothing new to say', () => {
    const zones = zonesOf('any', { order: [C, A, B, D] });
    zones.choose();
    assert.equal(zones.zone, A);
  });

  it('do not heed zones that the pool has got since', () => {
    const zones = zonesOf('any');
    zones.advise(['us-east6-a', D]);
    zones.choose();
    assert.deepEqual([zones.zone, names(zones)], [D, [A, B, C]]);
  });

  it('are carried over as they stand', () => {
    const zones = zonesOf('any');
    zones.advise([C, A, D, B]);
    zones.choose();
    zones.preempted(Date.now());
    zones.leave();
    zones.turn(zones.others[0] ?? 0);
    const next = zonesOf('any', JSON.parse(JSON.stringify(zones.carry())) as ZonesCarry, zones.current);
    assert.deepEqual([next.zone, names(next), next.carry()], [zones.zone, names(zones), zones.carry()]);
  });
});

import assert from 'node:assert/strict';
import type { QuotaConfig } from '../../quota/quota-config.js';
import { gangsBeside, type LeaseRow, newRow, toLeases, unitsInUse } from '../../workflows/quota/lease-row.js';
import { withoutRoomBeside } from '../../workflows/quota/without-room.js';
import { slicePlan } from '../cloud/cloud-tpu-plan.js';

const config = (...tiers: readonly number[]): QuotaConfig => ({
  kind: 'limited',
  tiers: tiers.map((v4) => ({ v4 })),
  projects: [],
});

/** A lease of 8 units of v4 that has these requests. */
function row(job: string, names: readonly string[], more: Partial<LeaseRow> = {}, type = 'v4'): LeaseRow {
  const lease = { pool: 'p', job, run: 'r', number: 1 };
  const demand = { project: 'a', user: 'u', priority: 3, submittedAt: 1, units: { [type]: 8 } };
  const slices = names.map((name) => slicePlan(name, 'queued-resources').ref);
  return newRow(lease, demand, { state: 'asking', startedAt: 1, slices, ...more });
}
const jobs = (rows: readonly LeaseRow[]): readonly string[] => rows.map(({ lease }) => lease.job);

describe('gangs that a lease asks for beside the first', () => {
  it('are counted by the generations of each place in the gang', () => {
    const counted: readonly (readonly [readonly string[], number])[] = [
      [[], 0],
      [['jc-a-g1'], 0],
      [['jc-a-g1', 'jc-a-g2'], 1],
      [['jc-a-g1', 'jc-a-g2', 'jc-a-g13'], 2],
      [['jc-a-s0-g1', 'jc-a-s1-g1'], 0],
      [['jc-a-s0-g1', 'jc-a-s1-g1', 'jc-a-s0-g2'], 1],
      [['jc-a-s0-g1', 'jc-a-s1-g1', 'jc-a-s0-g2', 'jc-a-s1-g2'], 1],
    ];
    for (const [names, gangs] of counted) {
      assert.equal(gangsBeside(row('a', names)), gangs, names.join(' '));
      assert.deepEqual(unitsInUse(row('a', names)), { v4: 8 * (1 + gangs) });
    }
  });

  it('are leases that drain, to a decision', () => {
    const leases = toLeases(row('a', ['jc-a-g1', 'jc-a-g2', 'jc-a-g3'], { askingSince: 2 }), 5);
    assert.deepEqual(
      leases.map(({ id, state, units, askingSince }) => [id, state, units['v4'], askingSince]),
      [
        ['a/r/1', 'asking', 8, 2],
        ['a/r/1/beside-1', 'draining', 8, undefined],
        ['a/r/1/beside-2', 'draining', 8, undefined],
      ],
    );
  });

  it('have room in what the tier has and nobody waits for; who was granted first has it first', () => {
    const late = row('late', ['jc-l-g1', 'jc-l-g2'], { startedAt: 9 });
    const early = row('early', ['jc-e-g1', 'jc-e-g2'], { startedAt: 3 });
    const alone = row('alone', ['jc-o-g1']);
    const all = [late, early, alone];
    assert.deepEqual(jobs(withoutRoomBeside(all, [], config(40))), []);
    assert.deepEqual(jobs(withoutRoomBeside(all, [], config(39))), ['late']);
    assert.deepEqual(jobs(withoutRoomBeside(all, [], config(31))), ['early', 'late']);
    assert.deepEqual(withoutRoomBeside(all, [], { kind: 'unlimited' }), []);
    const waits = (type: string): readonly LeaseRow[] => [row('w', [], { state: 'waiting' }, type)];
    assert.deepEqual(jobs(withoutRoomBeside(all, waits('v4'), config(400))), ['early', 'late']);
    assert.deepEqual(withoutRoomBeside(all, waits('v6e'), config(400)), []);
  });

  it('count in their own tier, the last for one that the pool has no more; in no tier there is no room', () => {
    const first = row('first', ['jc-a-g1', 'jc-a-g2'], { tier: 0 });
    const second = row('second', ['jc-b-g1', 'jc-b-g2'], { tier: 5 });
    assert.deepEqual(jobs(withoutRoomBeside([first, second], [], config(16, 15))), ['second']);
    assert.deepEqual(jobs(withoutRoomBeside([first, second], [], config(15, 16))), ['first']);
    assert.deepEqual(jobs(withoutRoomBeside([first], [], config())), ['first']);
  });

  it('are counted before they are known, where one asks before the first gang does', () => {
    const row1 = row('early', ['jc-e-g2']);
    const asked = new Map([['early/r/1', ['jc-e-g2']]]);
    assert.deepEqual(jobs(withoutRoomBeside([row1], [], config(15), asked)), ['early']);
    assert.deepEqual(jobs(withoutRoomBeside([row1], [], config(16), asked)), []);
  });

  it('that are there come before those that are asked for, and count until they are seen gone', () => {
    const asks = row('asks', ['jc-a-g1', 'jc-a-g2'], { startedAt: 1 });
    const has = row('has', ['jc-h-g1', 'jc-h-g2'], { startedAt: 9 });
    const more = row('more', ['jc-m-g1', 'jc-m-g2', 'jc-m-g3'], { startedAt: 9 });
    const asked = new Map([
      ['asks/r/1', ['jc-a-g2']],
      ['more/r/1', ['jc-m-g3']],
    ]);
    assert.deepEqual(jobs(withoutRoomBeside([asks, has], [], config(31), asked)), ['asks']);
    assert.deepEqual(jobs(withoutRoomBeside([asks, has], [], config(32), asked)), []);
    assert.deepEqual(jobs(withoutRoomBeside([asks, more], [], config(32), asked)), ['more']);
    assert.deepEqual(jobs(withoutRoomBeside([asks, more], [], config(31), asked)), ['asks', 'more']);
  });

  it('that are on their way out make no room and are nobody’s to give up', () => {
    const held = row('held', ['jc-h-g1', 'jc-h-g2'], { state: 'held' });
    const drains = row('drains', ['jc-d-g1', 'jc-d-g2'], { state: 'draining' });
    const asks = row('asks', ['jc-a-g1', 'jc-a-g2']);
    assert.deepEqual(jobs(withoutRoomBeside([held, drains, asks], [], config(48))), []);
    assert.deepEqual(jobs(withoutRoomBeside([held, drains, asks], [], config(47))), ['asks']);
  });
});

import assert from 'node:assert/strict';
import { deadHostText, nodeFact, SignRecord, signSeen } from '../../../domain/recovery/evidence.js';

const STALE_MS = 600_000;
const MINUTE = 60_000;

/** @param looks what was seen in each minute from the first look on */
function after(...looks: readonly Parameters<SignRecord['look']>[0][]): SignRecord {
  const record = new SignRecord();
  looks.forEach((seen, minute) => record.look(seen, minute * MINUTE));
  return record;
}
const BESIDE = ['x{"v":1,"run":"x","signs":3}', '{"v":1,"run":"x","signs":3}x'];
const same = (signs: number, minutes: number): readonly { signs: number }[] =>
  Array.from({ length: minutes }, () => ({ signs }));

describe('a sign of life', () => {
  it('goes stale when it was not renewed for as long as it was looked at, and not before', () => {
    const record = after(...same(5, 3));
    assert.equal(record.fact(STALE_MS - 1, STALE_MS), 'fresh');
    assert.equal(record.fact(STALE_MS, STALE_MS), 'stale');
  });

  it('that was never looked for is one of a store that said nothing', () =>
    assert.equal(new SignRecord().fact(0, STALE_MS), 'store silent'));

  it('that was renewed once, before the first look, counts', () =>
    assert.equal(after({ signs: 2 }).fact(0, STALE_MS), 'fresh'));

  it('that is renewed is fresh from then on', () => {
    const record = after(...same(5, 3), { signs: 6 });
    assert.equal(record.fact(3 * MINUTE + STALE_MS - 1, STALE_MS), 'fresh');
    assert.equal(record.fact(3 * MINUTE + STALE_MS, STALE_MS), 'stale');
  });

  it('that was written once proves no right to write it again: its age says nothing', () => {
    assert.equal(after({ signs: 1 }).fact(10 * STALE_MS, STALE_MS), 'never');
    assert.equal(after('none').fact(10 * STALE_MS, STALE_MS), 'never');
  });

  it('of which the store says nothing now is unknown, and what was known counts again later', () => {
    const record = after({ signs: 5 }, 'unknown');
    assert.equal(record.fact(2 * STALE_MS, STALE_MS), 'store silent');
    record.look({ signs: 5 }, 2 * STALE_MS);
    assert.equal(record.fact(2 * STALE_MS, STALE_MS), 'stale');
  });

  it('of another host is a control only once it was seen to be renewed, and not long ago', () => {
    assert.equal(after({ signs: 5 }).isRenewed(MINUTE, STALE_MS), false);
    const record = after({ signs: 5 }, { signs: 6 });
    assert.equal(record.isRenewed(MINUTE, STALE_MS), true);
    assert.equal(record.isRenewed(MINUTE + STALE_MS, STALE_MS), false);
    record.look('none', 3 * MINUTE);
    assert.equal(record.isRenewed(3 * MINUTE, STALE_MS), false);
  });

  it('is a count in an object of our form, and nothing else', () => {
    assert.deepEqual(signSeen('{"v":1,"run":"train-a1","signs":12}'), { signs: 12 });
    for (const text of [
      undefined,
      '',
      '{"v":1,"run":"train-a1","signs":0}',
      '{"v":2,"run":"x","signs":3}',
      '<html>',
      ...BESIDE,
    ])
      assert.equal(signSeen(text), 'none');
  });
});

describe('what is said of a dead host', () => {
  it('names the host, since when, and each piece of evidence', () => {
    const times = { since: Date.UTC(2026, 10, 23, 2), limitMs: 6 * 3_600_000, staleMs: STALE_MS };
    const facts = {
      sign: 'stale',
      others: 'answer, with fresh signs',
      silence: 'within timeouts.unreachable',
      node: 'ready',
    } as const;
    const since = 'host 3 of slice 0 has not answered since 2026-11-23T02:00:00.000Z';
    assert.equal(
      deadHostText({ slice: 0, host: 3 }, facts, times),
      `${since}; another host on its route does; its sign of life in the store was not renewed for 10 min`,
    );
    assert.equal(
      deadHostText({ slice: 0, host: 3 }, { ...facts, sign: 'never', others: 'silent', silence: 'longer' }, times),
      `${since}; timeouts.unreachable is 360 min`,
    );
    for (const [staleMs, text] of [
      [119_000, '119 s'],
      [120_000, '2 min'],
    ] as const)
      assert.match(
        deadHostText({ slice: 0, host: 3 }, facts, { ...times, staleMs }),
        new RegExp(`renewed for ${text}$`),
      );
  });

  it('is the word of an API that calls the node READY; any other word is judged elsewhere', () => {
    assert.equal(nodeFact({ kind: 'ready', uid: '1', hosts: [] }), 'ready');
    assert.equal(nodeFact({ kind: 'ready', uid: '1', hosts: [], warning: 'UNHEALTHY_MAINTENANCE' }), 'warned');
    for (const seen of [undefined, { kind: 'missing' }, { kind: 'waiting', detail: 'REPAIRING' }] as const)
      assert.equal(nodeFact(seen), 'no word');
  });
});

import assert from 'node:assert/strict';
import { type SliceHost, numberingOf } from '../../domain/slice.js';

const host = (index: number, address: number): SliceHost => ({ reach: 'ssh', index, internalIp: `10.0.0.${address}` });
const LISTED = [host(0, 5), host(1, 6), host(2, 7)];

describe('hosts of a slice', () => {
  it('keep their places where they say the same, or nothing', () => {
    assert.deepEqual(numberingOf(LISTED, [0, 1, 2]), { kind: 'as-listed' });
    assert.deepEqual(numberingOf(LISTED, [undefined, 1, undefined]), { kind: 'as-listed' });
  });

  it('are numbered by what they say, and stand in that order', () => {
    assert.deepEqual(numberingOf(LISTED, [2, 0, 1]), {
      kind: 'renumbered',
      hosts: [host(0, 6), host(1, 7), host(2, 5)],
    });
  });

  for (const [what, said] of Object.entries({
    'one number twice': [1, 1, 2],
    'a number of another slice': [0, 1, 7],
    'one that cannot say, beside one that says another': [1, undefined, 2],
  }))
    it(`are not the workers of one slice where there is ${what}`, () => {
      const numbering = numberingOf(LISTED, said);
      assert.equal(numbering.kind, 'contradictory');
      assert.match(JSON.stringify(numbering), /host 1 \(10\.0\.0\.6\) says (1|nothing)/);
    });
});

import assert from 'node:assert/strict';
import {
  type Column,
  distance,
  formOf,
  nameOf,
  packColumn,
  packRun,
  packWords,
  timeAt,
  unpackColumn,
  unpackRun,
  unpackWords,
} from '../../workflows/quota/columns.js';

describe('columns of a packed lease book', () => {
  it('count a value that comes four times or more in a row, and name the others', () => {
    const cases: readonly (readonly [values: readonly (number | null)[], column: Column])[] = [
      [[], []],
      [[7], [7]],
      [
        [0, 0, 0],
        [0, 0, 0],
      ],
      [[0, 0, 0, 0], [[0, 4]]],
      [
        [1, null, null, null, null, null, 2, 2, 3],
        [1, [null, 5], 2, 2, 3],
      ],
    ];
    for (const [values, column] of cases) {
      assert.deepEqual(packColumn(values), column);
      assert.deepEqual(unpackColumn(column), values);
    }
  });

  it('hold words of any letters, and say so if some are missing', () => {
    const words = ['a b', '', 'c%20', 'é'];
    assert.equal(packWords(words), 'a%20b  c%2520 %C3%A9');
    assert.deepEqual(unpackWords(packWords(words), 4), words);
    assert.deepEqual([unpackWords('', 0), unpackWords('', 1)], [[], ['']]);
    assert.throws(() => unpackWords('a b', 3), new RangeError('packed lease book: 2 words where 3 belong'));
  });

  it('hold run ids in 22 characters, and other texts as they are', () => {
    const uuid = '01a1fe4e-0000-7000-8000-000000000001';
    assert.equal(packRun(uuid).length, 22);
    for (const run of [uuid, 'r', '', '!r', uuid.toUpperCase()]) assert.equal(unpackRun(packRun(run)), run);
    assert.equal(packRun('r'), '!r');
  });

  it('hold the name of a slice without the name of its job, if that is unambiguous', () => {
    const cases: readonly (readonly [name: string, job: string, form: string])[] = [
      ['jc-train-g1', 'train', 'jc-*-g1'],
      ['train', 'train', '*'],
      ['train-train', 'train', '*-train'],
      ['jc-other-g1', 'train', '=jc-other-g1'],
      ['jc-train-*', 'train', '=jc-train-*'],
      ['train=1', 'train', '=train=1'],
      ['jc', '', '=jc'],
      ['jc-$&-g1', '$&', 'jc-*-g1'],
    ];
    for (const [name, job, form] of cases) {
      assert.equal(formOf(name, job), form);
      assert.equal(nameOf(form, job), name);
    }
  });

  it('hold a time as its distance, also one that is not there', () => {
    assert.deepEqual([distance(12, 10), distance(10, 12), distance(undefined, 10)], [2, -2, null]);
    assert.deepEqual(
      [timeAt(2, 10), timeAt(0, 10), timeAt(null, 10), timeAt(undefined, 10)],
      [12, 10, undefined, undefined],
    );
  });
});

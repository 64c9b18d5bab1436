import assert from 'node:assert/strict';
import { editDistance, nearestWord } from '../../domain/nearest-word.js';
import { formatPath, formatProblem, showValue } from '../../domain/problem.js';
import type { Problem } from '../../domain/problem.js';

describe('nearest word', () => {
  const distances: Record<string, number> = {
    'abc abc': 0,
    'abc abd': 1,
    'abc acb': 1,
    'abc ab': 1,
    'ab abc': 1,
    ' abc': 3,
    'ca abc': 3,
    'kitten sitting': 3,
  };
  for (const [pair, want] of Object.entries(distances)) {
    const [a = '', b = ''] = pair.split(' ');
    it(`'${a}' and '${b}' are ${want} apart`, () =>
      assert.deepEqual([editDistance(a, b), editDistance(b, a)], [want, want]));
  }

  const known = [
    'accelerator',
    'allocation_mode',
    'zone',
    'zones',
    'queued-resources',
    'run',
    'name',
    'retries',
    'entry',
  ];
  const cases: Record<string, string | undefined> = {
    acelerator: 'accelerator',
    Zone: 'zone',
    zoens: 'zones',
    allocationmode: 'allocation_mode',
    'allocation-mode': 'allocation_mode',
    queued: 'queued-resources',
    alloc: 'allocation_mode',
    zebra: undefined,
    x: undefined,
    nmae: 'name',
    retry: 'retries',
    Retrys: 'retries',
    entries: 'entry',
  };
  for (const [word, want] of Object.entries(cases)) {
    it(`to '${word}' is ${want ?? 'none'}`, () => assert.equal(nearestWord(word, known), want));
  }
});

describe('problems', () => {
  const problem: Problem = { path: ['tpu', 'zones', 1], value: 'x', message: "'x' is no zone", hint: 'a\nb' };
  const cases: Record<string, { problem: Problem; want: string }> = {
    'with a place show the last key': {
      problem: { ...problem, file: 'a.yaml', line: 3, column: 9 },
      want: "a.yaml:3:9: zones[1]: 'x' is no zone\n  a\n  b",
    },
    'without a place show the whole key': { problem, want: "tpu.zones[1]: 'x' is no zone\n  a\n  b" },
    'of a flag show flag and whole key': {
      problem: { ...problem, file: '--set a=b' },
      want: "--set a=b: tpu.zones[1]: 'x' is no zone\n  a\n  b",
    },
    'of a missing key show the whole key': {
      problem: { path: ['tpu', 'zone'], message: 'is missing', file: 'a.yaml', line: 1, column: 1 },
      want: 'a.yaml:1:1: tpu.zone: is missing',
    },
    'of the whole file show no key': {
      problem: { path: [], message: 'empty', file: 'a.yaml', line: 1, column: 1 },
      want: 'a.yaml:1:1: empty',
    },
  };
  for (const [name, { problem: shown, want }] of Object.entries(cases))
    it(name, () => assert.equal(formatProblem(shown), want));

  it('show long values cut, on one line', () => {
    assert.equal(showValue('a\nb'), "'a\\nb'");
    assert.equal(showValue('x'.repeat(100)).length, 60);
    assert.deepEqual([showValue(NaN), showValue(null), showValue([1]), formatPath([])], ['NaN', 'null', '[1]', '']);
  });
});

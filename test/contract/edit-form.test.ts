import assert from 'node:assert/strict';
import { JOB_CALL_FORMS } from '../../contract/job-forms.js';
import { MOST_INPUT_BYTES, MOST_KEY_CHARACTERS, MOST_SET } from '../../domain/bounds.js';

/** By whoever may send an update: a path of 100,000 keys took all memory of the worker that held the job, and of every other job. */
describe('the form of an edit', () => {
  const kindOf = (edit: object): string => JOB_CALL_FORMS.resume({ v: 1, by: 'alice', ...edit }).kind;
  const path = (keys: number, key = 'a') => ({ set: [{ path: Array.from({ length: keys }, () => key), value: 1 }] });
  const nested = (levels: number): unknown => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 1);
  const words = (most: number): string => 'x'.repeat(most - 20);
  const set = (length: number) => ({ set: Array.from({ length }, () => ({ path: ['a'], value: 1 })) });

  const CASES: Record<string, [most: object, more: object]> = {
    'a path longer than any of a job file': [path(50), path(51)],
    'a key on that path': [path(1, 'a'.repeat(MOST_KEY_CHARACTERS)), path(1, 'a'.repeat(MOST_KEY_CHARACTERS + 1))],
    'values that it sets': [set(MOST_SET), set(MOST_SET + 1)],
    'a text': [{ source: words(MOST_INPUT_BYTES) }, { source: words(MOST_INPUT_BYTES + 20) }],
    'a key of the job': [{ job: { [words(MOST_INPUT_BYTES)]: 1 } }, { job: { [words(MOST_INPUT_BYTES + 20)]: 1 } }],
    'levels of a value': [{ job: nested(49) }, { job: nested(50) }],
    'values of a job': [{ job: Array(14_000).fill(0) }, { job: Array(15_001).fill(0) }],
  };
  for (const [what, [most, more]] of Object.entries(CASES)) {
    it(`takes ${what}`, () => assert.equal(kindOf(most), 'valid'));
    it(`refuses more: ${what}`, () => assert.equal(kindOf(more), 'malformed'));
  }
});

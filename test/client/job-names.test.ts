import assert from 'node:assert/strict';
import { matches } from '../../client/job-query.js';
import { jobIdFor, SUFFIX_BYTES, suffixFrom } from '../../domain/identity.js';

const suffixed = (bytes: number): string => jobIdFor({ name: 'lr' }, suffixFrom(Buffer.alloc(bytes, 255)));

describe('a filter by a name', () => {
  const found: Record<string, [id: string, isFound: boolean]> = {
    'the id': ['lr', true],
    'the name and a random suffix': [suffixed(SUFFIX_BYTES.random), true],
    'the name and the suffix of an idempotency key': [suffixed(SUFFIX_BYTES.ofKey), true],
    'a longer name, as long as a suffix': ['lr-overnight', false],
    'a longer name and a suffix': [`lr-big-${'a'.repeat(SUFFIX_BYTES.ofKey)}`, false],
    'a suffix of neither length': ['lr-abcde', false],
  };
  for (const [what, [id, isFound]] of Object.entries(found))
    it(`${isFound ? 'finds' : 'does not find'} ${what}`, () =>
      assert.equal(matches({ name: 'lr' }, { id, phase: 'running' }), isFound));
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { matches, matchesGlob } from '../../client/job-query.js';
import { jobFilterSchema, MOST_STARS } from '../../contract/api/jobs.js';
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

describe('a pattern of ids', () => {
  const stepsOf = (pattern: string, text: string): number => {
    let steps = 0;
    matchesGlob(pattern, text, () => void (steps += 1));
    return steps;
  };

  it('matches what the regular expression of the same meaning matches', () => {
    const text = (letters: string) => fc.string({ unit: fc.constantFrom(...letters), maxLength: 8 });
    let found = 0;
    fc.assert(
      fc.property(text('ab*?-'), text('ab-'), (pattern, id) => {
        const source = pattern.replaceAll('*', '.*').replaceAll('?', '.');
        const isFound = new RegExp(`^${source}$`).test(id);
        if (isFound) found += 1;
        assert.equal(matchesGlob(pattern, id), isFound);
      }),
      { numRuns: 5_000 },
    );
    assert.ok(found > 200, `${found} of 5,000 matched`);
  });

  const WORST: Record<string, string> = {
    'stars alone, and a letter that is not there': `${'*'.repeat(99)}~`,
    'stars with letters between them': `${'a*'.repeat(49)}~`,
    'stars with question marks between them': `${'*?'.repeat(49)}~`,
  };
  for (const [what, pattern] of Object.entries(WORST))
    it(`takes at most the product of both lengths: ${what}`, () => {
      const id = 'a'.repeat(63);
      assert.ok(stepsOf(pattern, id) <= (pattern.length + 1) * (id.length + 1), String(stepsOf(pattern, id)));
    });

  it(`has ${MOST_STARS} stars at most over HTTP`, () => {
    const isTaken = (stars: number): boolean => jobFilterSchema.safeParse({ name: 'a*'.repeat(stars) }).success;
    assert.deepEqual([isTaken(MOST_STARS), isTaken(MOST_STARS + 1)], [true, false]);
  });
});

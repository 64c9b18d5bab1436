import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Pseudonyms, PLAIN_WORDS } from '../../client/export/pseudonyms.js';
import { redactValue } from '../../client/export/redact-value.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { FACTS } from '../../domain/recovery/facts.js';
import { privateJobFiles } from './private-job-files.js';

const RUNS = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 40);

/** What would be kept if the place did not count: words of jobctl, of its data and of Google's paths. */
const OURS: readonly string[] = [
  ...PLAIN_WORDS,
  ...Object.values<Readonly<Record<string, readonly string[]>>>(FACTS).flatMap((facts) => Object.values(facts).flat()),
  ...['spot', 'slice', 'projects', 'zones', 'global', 'cloud', 'train', 'base', 'command', 'never', 'docker'],
].filter((text) => /^[a-z]{4,12}$/.test(text));
const word = fc.oneof(fc.constantFrom(...OURS), fc.stringMatching(/^[a-z]{4,12}$/));
const words = fc.uniqueArray(word, { minLength: 6, maxLength: 6 });
const NEUTRAL = ['qxzvuw', 'wvuqzx', 'zuxqvw', 'vqwxuz', 'uzqwxv', 'xwqvzu'];

/** How often each word is in the text. */
function countsOf(value: unknown): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [found] of JSON.stringify(value)
    .toLowerCase()
    .matchAll(/[a-z]+/g))
    counts.set(found, (counts.get(found) ?? 0) + 1);
  return counts;
}

describe('an export of a job file', () => {
  for (const kind of Object.keys(privateJobFiles(NEUTRAL))) {
    const fileOf = (of: readonly string[]): unknown => privateJobFiles(of)[kind];
    const redacted = (file: unknown): unknown => (redactValue({ job: file }, new Pseudonyms()) as { job: unknown }).job;

    it(`${kind}: is right`, () => {
      const resolved = resolveJob(fileOf(NEUTRAL));
      assert.ok(resolved.ok, JSON.stringify(resolved));
    });

    it(`${kind}: holds no word of the user, whatever else it means`, () => {
      const ours = countsOf(redacted(fileOf(NEUTRAL)));
      fc.assert(
        fc.property(words, (drawn) => {
          const left = countsOf(redacted(fileOf(drawn)));
          for (const one of drawn) assert.equal(left.get(one) ?? 0, ours.get(one) ?? 0, one);
        }),
        { numRuns: RUNS },
      );
    });

    it(`${kind}: means what it meant`, () => {
      fc.assert(
        fc.property(words, (drawn) => {
          const before = resolveJob(fileOf(drawn));
          const file = redacted(fileOf(drawn));
          const after = resolveJob(file);
          // A word that jobctl keeps for itself is refused, and its pseudonym is not: such a job never ran.
          if (!before.ok) return;
          assert.ok(after.ok, JSON.stringify({ file, after }));
          assert.deepEqual(withoutTexts(after.spec), withoutTexts(before.spec));
        }),
        { numRuns: RUNS },
      );
    });
  }

  it('and its words are masked in sentences', () => {
    fc.assert(
      fc.property(words, fc.subarray([...OURS], { maxLength: 10 }), (drawn, others) => {
        const names = new Pseudonyms();
        redactValue({ job: privateJobFiles(drawn)['Cloud TPU'] }, names);
        const said = countsOf(names.said([...others, ...drawn].join(' ')));
        for (const one of drawn) assert.equal(said.get(one), undefined, one);
      }),
      { numRuns: RUNS },
    );
  });
});

/** Kinds and numbers of values, without the texts. */
function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (typeof value === 'object' && value !== null) return Object.values(value).map(withoutTexts);
  return typeof value === 'string' ? 'text' : value;
}

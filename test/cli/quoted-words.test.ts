import assert from 'node:assert/strict';
import { refuseQuotedWords } from '../../cli/jobs/submitting/read-job.js';

describe('words of a command in single quotes', () => {
  const words: Record<string, readonly string[]> = {
    'a shell line of two quoted words': ["'./my prog' 'an argument'"],
    'an expression of two strings': ['python3', '-c', "'a' + 'b'"],
    'an apostrophe': ['echo', "it's"],
    'one quote': ['echo', "'"],
    'no text in quotes': ['grep', '-c', "''"],
    'double quotes': ['echo', '"hello"'],
    'no words': [],
  };
  for (const [name, of] of Object.entries(words))
    it(`${name}: passes`, () => assert.doesNotThrow(() => refuseQuotedWords('job.yaml', of)));

  it('text of two lines in quotes is refused', () =>
    assert.throws(() => refuseQuotedWords('job.yaml', ['python3', '-c', "'import jax\nprint(1)'"]), /single quotes/));
});

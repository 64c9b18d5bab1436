import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { shellPath, shellQuote, shellWords } from '../../domain/shell-quote.js';

describe('quoting for a shell', () => {
  it('gives a real sh each word byte for byte', () => {
    const unit = fc.constantFrom("'", '"', '$', '`', '\\', '\n', '*', '~', '!', ' ', 'a', 'é', '-', ';', '\t');
    const word = fc.string({ unit, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 40 }), (words) => {
        const output = execFileSync('sh', ['-c', `printf '%s\\0' ${shellWords(words)}`], { encoding: 'utf8' });
        assert.deepEqual(output.split('\0').slice(0, -1), words);
      }),
      { numRuns: 60 },
    );
  });

  const paths = { '~': '/h', '~/a b': '/h/a b', a$b: '/h/a$b', '/x/~': '/x/~', '~/': '/h' };
  for (const [path, want] of Object.entries(paths)) {
    it(`finds ${path} at ${want}`, () => {
      const output = execFileSync('sh', ['-c', `printf %s ${shellPath(path)}`], {
        encoding: 'utf8',
        env: { HOME: '/h' },
      });
      assert.equal(output, want);
    });
  }

  it('refuses a NUL byte', () => assert.throws(() => shellQuote('a\0b'), /holds a NUL byte/));
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { splitShellWords } from '../../domain/shell-quote.js';

/** The words as bash has them; undefined where it finds a quote that is not closed. */
function wordsOfBash(texts: readonly string[]): (string[] | undefined)[] {
  const script =
    'for text; do (eval "set -- $text" 2> /dev/null || exit; [ $# = 0 ] || printf "%s\\0" "$@"); printf "\\1\\0"; done';
  const output = execFileSync('bash', ['-c', script, 'bash', ...texts]).toString();
  const answers = output.split('\u0001\0').slice(0, -1);
  return answers.map((answer) => answer.split('\0').slice(0, -1));
}

describe('shell words', () => {
  const cases: Record<string, string[] | undefined> = {
    '': [],
    '  --env HOME=/home/me ': ['--env', 'HOME=/home/me'],
    '--env "A=b c" \'$HOME\'x': ['--env', 'A=b c', '$HOMEx'],
    '"a\\"b" a\\ b "\\n" \'\\\'': ['a"b', 'a b', '\\n', '\\'],
    '"" \'\'': ['', ''],
    'a\n\tb': ['a', 'b'],
    "it's": undefined,
    '"open': undefined,
    'end\\': undefined,
  };
  for (const [text, want] of Object.entries(cases))
    it(`of ${JSON.stringify(text)} are ${JSON.stringify(want) ?? 'not closed'}`, () =>
      assert.deepEqual(splitShellWords(text), want));

  it("are bash's own, for anything that bash does not expand", () => {
    const character = fc.constantFrom('a', '=', ' ', '\t', "'", '"', '\\', 'é', '-');
    const texts = fc.sample(
      fc.array(character, { maxLength: 12 }).map((parts) => parts.join('')),
      { numRuns: 400, seed: 7 },
    );
    const closed = texts.filter((text) => splitShellWords(text) !== undefined);
    assert.ok(closed.length > 100, `only ${closed.length} texts have closed quotes`);
    assert.deepEqual(closed.map(splitShellWords), wordsOfBash(closed));
  });
});

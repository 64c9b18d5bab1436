import assert from 'node:assert/strict';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { formatProblems } from '../../domain/problem.js';

/**
 * F18: deeply nested YAML was refused as `not YAML: maximum call stack size exceeded`, and what the parser could still read as
 * `the job file has more than 30 levels` at line 1. At 19b9c1e none of these names depth and place.
 */
const nested = (levels: number): string => `env: {X: ${'['.repeat(levels)}${']'.repeat(levels)}}\n`;
const messagesOf = (text: string, set: readonly string[] = []): string => {
  const parsed = parseJobFile(text, { file: 'job.yaml', env: {}, set });
  assert.ok(!parsed.ok);
  return formatProblems(parsed.problems);
};

describe('F18: files that are nested too deeply', () => {
  it('of some levels too many: the place of the first that is too deep', () =>
    assert.match(
      messagesOf(`tpu: {accelerator: v5litepod-1, zone: us-central1-a}\n${nested(29)}`),
      /^job\.yaml:2:38: .*: sections and lists below env\.X\[0\] lie more than 30 levels deep in one another\n {2}30 levels are the most$/,
    ));
  for (const [name, text] of Object.entries({
    brackets: nested(20_000),
    'lists in one line': '- '.repeat(20_000),
    sections: Array.from({ length: 3_000 }, (_, level) => `${' '.repeat(level)}a:`).join('\n'),
  }))
    it(`of more ${name} than the parser can follow: depth and place, and nothing of a stack`, () => {
      const said = messagesOf(text);
      assert.match(
        said,
        /^job\.yaml:\d+:\d+: not YAML: sections and lists lie more than 30 levels deep in one another here$/,
      );
    });
  it('by a value of --set', () => {
    for (const value of ['['.repeat(20_000), nested(20_000).slice('env: {X: '.length, -2), '- '.repeat(20_000)]) {
      const said = messagesOf('tpu: {accelerator: v5litepod-1, zone: us-central1-a}', [`env.X=${value}`]);
      assert.match(
        said,
        /^--set env\.X=[^:]+: env\.X: not YAML: sections and lists lie more than 30 levels deep in one another here$/,
      );
    }
  });
  it('the place of the 31st level, also on a line of its own', () => {
    const said = messagesOf(Array.from({ length: 400 }, (_, level) => `${' '.repeat(level)}a:`).join('\n'));
    assert.match(said, /^job\.yaml:31:31: not YAML/);
  });
  it('by a key of --set: the flag, cut, and how many parts it has', () => {
    const said = messagesOf('tpu: {accelerator: v5litepod-1, zone: us-central1-a}', [`env${'.a'.repeat(20_000)}=1`]);
    assert.match(said, /^--set env\.a\.a[.a]{150,}\.\.: the key has 20001 parts, and 30 levels are the most$/);
  });
});

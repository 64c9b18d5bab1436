import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { committedSources } from './committed-sources.js';

const PRODUCT = [
  'domain',
  'quota',
  'contract',
  'workflows',
  'activities',
  'cloud',
  'worker',
  'server',
  'client',
  'cli',
  'ui',
];
/** Words with which a fragment opens: a sentence that a reader has to turn around. */
const FRAGMENT = /^(?:What|Of|By|Whom|Whose|Whoever|How|Where|As)\b/u;

/** A tag behind other words, where neither a reader nor an editor looks for it. */
const BURIED_TAG = /^\s*\* [^@].* @(?:param|returns|throws|property)\b/u;

/** Comments that fill their lines, each as its first words: a doc comment, one of its paragraphs, or lines of `//`. */
function openings(text: string): readonly { readonly line: number; readonly words: string }[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.flatMap((line, index) => {
    const before = lines[index - 1] ?? '';
    const opens =
      /^\/\*\* *(?<words>\S.*)/u.exec(line) ??
      (/^\/\*\*$|^\*$/u.test(before) ? /^\* (?<words>[^@\s].*)/u.exec(line) : null) ??
      (before.startsWith('//') ? null : /^\/\/ (?<words>.*)/u.exec(line));
    const words = opens?.groups?.['words'];
    return words === undefined ? [] : [{ line: index + 1, words }];
  });
}

const fragments = (text: string) => openings(text).filter(({ words }) => FRAGMENT.test(words));

describe('comments', () => {
  it('open with a noun or a verb', () => {
    const files = [...committedSources(PRODUCT), ...committedSources(['rehearsal'])].filter(
      (file) => !file.startsWith('rehearsal/test/'),
    );
    assert.ok(files.length > 900, `${files.length}`);
    const found = files.flatMap((file) =>
      fragments(readFileSync(file, 'utf8')).map(({ line, words }) => `${file}:${line}: ${words}`),
    );
    assert.deepEqual(found, []);
  });

  it('that fill several lines begin a line with each tag', () => {
    const files = [...committedSources(PRODUCT), ...committedSources(['rehearsal'])];
    const found = files.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line, index) => (BURIED_TAG.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
    );
    assert.deepEqual(found, []);
    assert.ok(BURIED_TAG.test('   * Once. @param a word'));
  });

  it('that do not are seen, at their beginning, in a paragraph and behind //', () => {
    const text = [
      '/** Of each host. */',
      '/**',
      ' * What it is.',
      ' *',
      ' * How it is.',
      ' */',
      '// Where it is,',
      '// As such.',
    ];
    assert.deepEqual(
      fragments(text.join('\n')).map(({ line }) => line),
      [1, 3, 5, 7],
    );
    assert.deepEqual(fragments('/** Offsets of a host. Of each host one. */\n// Ascending.\nconst As = 1;'), []);
  });
});

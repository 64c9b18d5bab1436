import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { commandsOf, docPages } from './commands.js';
import { LEFT_OUT, RUN_ELSEWHERE, without } from './left-out.js';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = docPages(ROOT);
const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8');
const linksOf = (page: string): string[] =>
  // What stands in code is no link.
  [
    ...textOf(page)
      .replaceAll(/```[\s\S]*?```|`[^`\n]*`/gu, '')
      .matchAll(/\]\((?!https?:)([^)\s]+)\)/gu),
  ].map(([, target]) => target ?? '');

/** As GitHub makes it of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/gu, '-');
const anchorsOf = (page: string): Set<string> =>
  new Set(
    [
      ...textOf(page)
        .replaceAll(/```[\s\S]*?```/gu, '')
        .matchAll(/^#+ (.+)$/gmu),
    ].map(([, heading]) => anchorOf(heading ?? '')),
  );

describe('pages of the documentation', () => {
  it('are each in the index, docs/README.md', () => {
    const indexed = new Set(linksOf('docs/README.md').map((link) => normalize(join('docs', link))));
    const missing = PAGES.filter((page) => /^docs\/(?!README)/u.test(page) && !indexed.has(page));
    assert.deepEqual(missing, []);
  });

  for (const page of PAGES) {
    it(`${page} leads to files and headings that exist`, () => {
      const broken = linksOf(page).filter((link) => {
        const [file = '', anchor] = link.split('#');
        const target = file === '' ? page : normalize(join(dirname(page), file));
        if (!existsSync(join(ROOT, target))) return true;
        return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
      });
      assert.deepEqual(broken, []);
    });
  }

  const commands = PAGES.flatMap((page) => commandsOf(ROOT, page));
  it('hold commands that a shell can read', () => assert.ok(commands.length > 200, `${commands.length}`));

  it('hold every command that test/long/docs-commands.test.ts leaves out', () => {
    assert.deepEqual([...without(LEFT_OUT, commands), ...without(RUN_ELSEWHERE, commands)], []);
    assert.deepEqual(
      RUN_ELSEWHERE.map(({ by }) => by).filter((by) => !existsSync(join(ROOT, by))),
      [],
    );
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
export const pageText = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

/**
 * The rows of a page's table, as their cells.
 * @param header the first cells of the table's first row, such as `| verb | does |`
 */
export function tableRows(page: string, header: string): readonly (readonly [first: string, ...more: string[]])[] {
  const [, table = ''] = pageText(page).split(`\n${header}`);
  const rows = /^.*\n\|[ |-]+\|\n((?:\|.*\n)+)/.exec(table)?.[1] ?? assert.fail(`${page} has no table ${header}`);
  return rows
    .trimEnd()
    .split('\n')
    .map((row) => {
      const [first = '', ...more] = row.slice(1, -1).split(/(?<!\\)\|/);
      return [first.trim(), ...more.map((cell) => cell.trim())] as const;
    });
}

/** The words of a text that stand in backquotes. */
export const quotedWords = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);

import { padToWidth, textWidth, wrapToWidth } from './width.js';

const GAP = '  ';
/** A last column narrower than this is not wrapped: one word a line helps nobody. */
const LEAST_WRAPPED_WIDTH = 20;

/**
 * Columns as wide as what is in them. The last one wraps under itself.
 * @param terminalWidth columns; absent (a pipe): one line a row, however long
 */
export function renderTable(rows: readonly (readonly string[])[], terminalWidth?: number): readonly string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns - 1 }, (_, column) =>
    Math.max(0, ...rows.map((row) => textWidth(row[column] ?? ''))),
  );
  const indent = widths.reduce((sum, width) => sum + width + GAP.length, 0);
  const lastWidth = terminalWidth === undefined ? undefined : terminalWidth - indent;
  const isWrapped = lastWidth !== undefined && lastWidth >= LEAST_WRAPPED_WIDTH;
  return rows.flatMap((row) => {
    const head = widths.map((width, column) => padToWidth(row[column] ?? '', width) + GAP).join('');
    const last = row[columns - 1] ?? '';
    const [first = '', ...more] = isWrapped ? wrapToWidth(last, lastWidth) : [last];
    return [head + first, ...more.map((line) => ' '.repeat(indent) + line)].map((line) => line.trimEnd());
  });
}

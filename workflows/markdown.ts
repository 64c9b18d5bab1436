/**
 * The form of a workflow's Current Details in the Temporal Web UI. The UI hands the Markdown to its server in the query of a URL
 * and shows tables without any gap between columns (UI 2.42, looked at 2026-11). So the whole is kept short and columns stand in
 * a code block.
 */

/**
 * Limit of the details' bytes when they are written as part of a URL: a reverse proxy in front of the UI takes 8 KB for the whole
 * request line (nginx's default).
 */
export const MOST_ENCODED_BYTES = 7_000;

/** Limit for a text from elsewhere (an error of the cloud, a user's name) in one place, in characters. */
const MOST_TEXT = 240;

const SPECIAL = /[\\`*_{}[\]<>#|~&$!]/g;

/** Turns any text into one line without Markdown or HTML meaning, shortened to `most` characters. */
export function plain(text: string, most = MOST_TEXT): string {
  const line = text
    .replace(/\p{Surrogate}/gu, '\u{fffd}')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = Array.from(line);
  const short = characters.length <= most ? line : `${characters.slice(0, most - 2).join('')} ..`;
  return short.replace(SPECIAL, (character) => `\\${character}`);
}

/** Rows of equal length as a code block with aligned columns; a cell is kept as it is, except line ends and backticks. */
export function codeTable(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replace(/[\s`]+/g, ' ')));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return ['```', ...lines, '```'].join('\n');
}

/** A blank line (a no-break space): the UI's frame is too low by the margin of its first and last line, and hides this one. */
const LAST_LINE = '\u00a0';

/**
 * Blocks, the most important first, as one text of `MOST_ENCODED_BYTES` at most. A block that no longer fits is left out, and
 * `rest` says at the end where to find it.
 */
export function joinBlocks(blocks: readonly string[], rest: string): string {
  let left = MOST_ENCODED_BYTES - encodedBytes(`\n\n${rest}\n\n${LAST_LINE}`);
  const kept = blocks.filter((block) => {
    const size = encodedBytes(`\n\n${block}`);
    if (block === '' || size > left) return false;
    left -= size;
    return true;
  });
  const isCut = kept.length < blocks.filter((block) => block !== '').length;
  return [...kept, ...(isCut ? [rest] : []), LAST_LINE].join('\n\n');
}

/** Half a surrogate pair, in a name that was cut, is not valid Unicode: `encodeURIComponent` throws at it. */
const encodedBytes = (text: string): number => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\u{fffd}')).length;

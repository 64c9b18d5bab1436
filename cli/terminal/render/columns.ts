import { stripVTControlCharacters } from 'node:util';
import { visibleText } from '../../../domain/outside-text.js';
import { largest } from '../../../domain/extremes.js';

/** Ranges of East Asian wide characters and emoji that terminals show in two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
// The selectors are meant literally here, not combined with other characters.
// oxlint-disable-next-line no-misleading-character-class
const COMBINING = /[\p{Mn}\p{Me}\u200b-\u200f\ufe00-\ufe0f]/u;

/** A stream that output goes to. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Width in columns; undefined: not a terminal. A terminal of unknown size (`docker exec -t`, `script`) reports 0. */
export function terminalWidth({ isTTY, columns }: Terminal): number | undefined {
  if (isTTY !== true) return undefined;
  return columns === undefined || columns === 0 ? DEFAULT_WIDTH : columns;
}

const DEFAULT_WIDTH = 80;

/** Number of columns that `text`, which has no escape sequences, takes on a terminal. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

function characterWidth(character: string): number {
  if (character < '\u0300') return 1;
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

export function padToWidth(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)));
}

/** Cuts `text` to `width` columns at most and replaces the end of a longer text by dots. */
export function cutToWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let cut = '';
  let used = 0;
  for (const character of text) {
    used += characterWidth(character);
    if (used > width - 2) break;
    cut += character;
  }
  return `${cut}..`.slice(0, Math.max(0, width));
}

/** Wraps to lines of `width` columns at most, between words; a longer word has a line to itself and is not cut. */
export function wrapToWidth(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && textWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return line === '' && lines.length > 0 ? lines : [...lines, line];
}

/** Columns between the parts of a header. */
const WIDE_GAP = 3;

/**
 * Breaks a line that is wider than `width` columns between words, and a header between its parts. Each further line is indented
 * two columns more than the first. Words longer than a line are not cut, and colours take no columns.
 * @param width absent (a pipe): the line stays whole
 */
export function foldLine(text: string, width: number | undefined): readonly string[] {
  const shownWidth = (part: string): number => textWidth(stripVTControlCharacters(part));
  if (width === undefined || shownWidth(text) <= width) return [text];
  const indent = `${/^ */.exec(text)?.[0] ?? ''}  `;
  const lines: string[] = [];
  for (let rest = text; rest !== '';) {
    const gaps = [...rest.matchAll(/(?<=\S) +(?=\S)/g)];
    const fits = gaps.filter(({ index }) => shownWidth(rest.slice(0, index)) <= width);
    const gap = fits.findLast(([spaces]) => spaces.length >= WIDE_GAP) ?? fits.at(-1) ?? gaps[0];
    if (gap === undefined || shownWidth(rest) <= width) return [...lines, rest];
    lines.push(rest.slice(0, gap.index));
    rest = indent + rest.slice(gap.index + gap[0].length);
  }
  return lines;
}

/** Puts outside text on one line and makes control characters visible. An indented line is the remedy for the line before. */
export function oneLine(text: string): string {
  const joined = text.trimEnd().replace(/(?<=[^\s.;:,])\n {2,}(?=\S)/g, '; ');
  return visibleText(joined.replace(/(?<!\s)\s+/g, (blank) => (/[\r\n]/.test(blank) ? ' ' : blank)));
}

const GAP = '  ';
/** Width from which a last column is wrapped. In a narrower one, each line would hold a single word. */
const LEAST_WRAPPED_WIDTH = 20;

/**
 * Renders columns as wide as their content, each cell by `oneLine`. The last column wraps within itself.
 * @param terminalWidth columns; absent (a pipe): one line per row, of any length
 */
export function renderTable(cells: readonly (readonly string[])[], terminalWidth?: number): readonly string[] {
  const rows = cells.map((row) => row.map(oneLine));
  const columns = largest(
    rows.map((row) => row.length),
    0,
  );
  const widths = Array.from({ length: columns - 1 }, (_, column) =>
    largest(
      rows.map((row) => textWidth(row[column] ?? '')),
      0,
    ),
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

/** A text in indented lines of this width. Without a width it is one line. Control characters are made visible. */
export function wrapped(text: string, width: number | undefined, indent: string): readonly string[] {
  if (text === '') return [];
  const line = oneLine(text);
  const lines = width === undefined ? [line] : wrapToWidth(line, Math.max(20, width - indent.length));
  return lines.map((line) => `${indent}${line}`);
}

import type { Environment } from '../home.js';
import { type Terminal, terminalWidth, cutToWidth, oneLine, padToWidth, textWidth } from './columns.js';
import { largest } from '../../../domain/extremes.js';

interface Symbols {
  readonly done: string;
  readonly now: string;
  readonly failed: string;
  readonly note: string;
  /** Separator between a host's number and its line. */
  readonly bar: string;
  /** Parts of a gauge: own, borrowed, unused. */
  readonly own: string;
  readonly borrowed: string;
  readonly unused: string;
  /** Mark in place of cut text. */
  readonly more: string;
}

const UNICODE: Symbols = {
  done: '✔',
  now: '●',
  failed: '✖',
  note: '!',
  bar: '│',
  own: '█',
  borrowed: '▒',
  unused: '░',
  more: '…',
};
const ASCII: Symbols = {
  done: '+',
  now: '*',
  failed: 'x',
  note: '!',
  bar: '|',
  own: '#',
  borrowed: '+',
  unused: '.',
  more: '..',
};

export type Colour = 'green' | 'red' | 'yellow' | 'cyan' | 'dim' | 'bold';

/** The appearance of output at its destination. */
export interface Look {
  readonly symbols: Symbols;
  /** Columns; absent: not a terminal, so lines have any length. */
  readonly width?: number;
  /** True if lines can be redrawn (a terminal that obeys cursor codes). */
  readonly isLive: boolean;
  paint(colour: Colour, text: string): string;
}

const CODES: Readonly<Record<Colour, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };

/** Matches every code that `paint` writes; a text split by it has them at odd positions. */
// oxlint-disable-next-line no-control-regex
export const OWN_COLOURS = /(\u001b\[(?:0|1|2|3[1236])m)/;

/** The look for a stream: colour only on a terminal with NO_COLOR unset (no-color.org), symbols by the locale's character set. */
export function lookOf(stream: Terminal, env: Environment): Look {
  const width = terminalWidth(stream);
  const isTerminal = width !== undefined;
  const isDumb = env['TERM'] === 'dumb';
  const isColoured = isTerminal && !isDumb && (env['NO_COLOR'] ?? '') === '';
  return {
    symbols: isUtf8(env) ? UNICODE : ASCII,
    ...(width === undefined ? {} : { width }),
    isLive: isTerminal && !isDumb,
    paint: (colour, text) => (isColoured ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text),
  };
}

/** Whether the locale uses UTF-8: the first of these variables that is set decides (POSIX). */
function isUtf8(env: Environment): boolean {
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((value) => value !== undefined && value !== '');
  return /utf-?8/i.test(locale ?? '');
}

/** A column of a table with one screen line per row. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  /** Paints the text of a cell without changing its width. */
  readonly paint?: (row: Row, text: string) => string;
  /** The column is dropped before the last column gets narrower than this. Absent: never dropped. */
  readonly droppedBelow?: number;
}

interface OneLineTable<Row> {
  /** The last column gets the rest of the line, and is cut between words. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
}

const GAP = '  ';
/** Width below which a last column is useless, and is dropped. */
const LEAST_LAST = 10;

/**
 * Renders a title and one line per row, at most `look.width` wide; in a pipe each row is complete. If the width is too small,
 * parts are shortened in this order: the end of the last column, other columns (`droppedBelow`), the whole last column. Only then
 * the middle of the first column's texts is cut: they are names that people copy.
 */
export function renderOneLineTable<Row>({ columns, rows }: OneLineTable<Row>, look: Look): readonly string[] {
  const texts = columns.map(({ title, cell }) => [title, ...rows.map((row) => oneLine(cell(row)))]);
  const widths = texts.map((column) => largest(column.map(textWidth)));
  const shown = shownColumns(columns, widths, look.width);
  const last = columns.length - 1;
  const hasLast = shown.includes(last);
  const fixed = shown.filter((index) => index !== last);
  const first =
    look.width === undefined ? (widths[0] ?? 0) : Math.min(widths[0] ?? 0, roomOfFirst(widths, fixed, look.width));
  const widthOf = (index: number): number => (index === 0 ? first : (widths[index] ?? 0));
  const indent = fixed.reduce((sum, index) => sum + widthOf(index) + GAP.length, 0);
  return [undefined, ...rows].map((row, line) => {
    const cells = fixed.map((index) => {
      const text = padToWidth(cutInMiddle(texts[index]?.[line] ?? '', widthOf(index), look), widthOf(index));
      const paint = columns[index]?.paint;
      return row === undefined || paint === undefined ? text : paint(row, text);
    });
    const end = texts[last]?.[line] ?? '';
    const rest = look.width === undefined ? end : cutAtWord(end, look.width - indent, look);
    return [...cells, ...(hasLast ? [rest] : [])].join(GAP).trimEnd();
  });
}

/** Indices of the shown columns. */
function shownColumns<Row>(
  columns: readonly Column<Row>[],
  widths: readonly number[],
  width: number | undefined,
): readonly number[] {
  let shown = columns.map((_, index) => index);
  if (width === undefined) return shown;
  const last = columns.length - 1;
  const room = (): number =>
    width - shown.filter((index) => index !== last).reduce((sum, index) => sum + (widths[index] ?? 0) + GAP.length, 0);
  const wanted = widths[last] ?? 0;
  const droppable = columns
    .map(({ droppedBelow = 0 }, index) => ({ index, droppedBelow }))
    .filter(({ index, droppedBelow }) => index !== last && droppedBelow > 0)
    .toSorted((a, b) => b.droppedBelow - a.droppedBelow);
  for (const { index, droppedBelow } of droppable)
    if (room() < Math.min(droppedBelow, wanted)) shown = shown.filter((each) => each !== index);
  return room() < Math.min(LEAST_LAST, wanted) ? shown.filter((index) => index !== last) : shown;
}

const roomOfFirst = (widths: readonly number[], fixed: readonly number[], width: number): number =>
  Math.max(
    LEAST_NAME,
    fixed.filter((index) => index !== 0).reduce((left, index) => left - (widths[index] ?? 0) - GAP.length, width),
  );
const LEAST_NAME = 8;

/** Cuts `text` between words to `width` columns at most, with a mark for missing words. */
export function cutAtWord(text: string, width: number, { symbols }: Pick<Look, 'symbols'>): string {
  if (textWidth(text) <= width) return text;
  const { more } = symbols;
  let cut = '';
  for (const word of text.split(' ')) {
    const longer = cut === '' ? word : `${cut} ${word}`;
    if (textWidth(`${longer} ${more}`) > width) break;
    cut = longer;
  }
  return cutToWidth(cut === '' ? more : `${cut.replace(/[,;:]$/, '')} ${more}`, width);
}

/** Cuts the middle of a text, because names differ at their ends. */
function cutInMiddle(text: string, width: number, { symbols: { more } }: Pick<Look, 'symbols'>): string {
  if (textWidth(text) <= width) return text;
  const characters = Array.from(text);
  const room = width - textWidth(more);
  const end = Math.floor(room / 2);
  return `${characters.slice(0, room - end).join('')}${more}${end === 0 ? '' : characters.slice(-end).join('')}`;
}

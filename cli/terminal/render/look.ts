import type { Environment } from '../home.js';
import { type Terminal, terminalWidth } from './columns.js';

export interface Symbols {
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

/** The first of these variables that is set decides (POSIX). */
function isUtf8(env: Environment): boolean {
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find((value) => value !== undefined && value !== '');
  return /utf-?8/i.test(locale ?? '');
}

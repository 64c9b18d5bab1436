import { largest, smallest } from '../../../domain/extremes.js';
import { cutToWidth, padToWidth, textWidth } from './columns.js';
import type { Colour, Look } from './look.js';
import { formatDuration } from './quantities.js';

/** One line of a chart. */
export interface Curve {
  /** One line of visible text. */
  readonly label: string;
  /** Ascending. */
  readonly x: readonly number[];
  /** Null: a gap. */
  readonly y: readonly (number | null)[];
}

export interface Chart {
  readonly title: string;
  readonly axis: 'step' | 'time';
  readonly curves: readonly Curve[];
}

interface Range {
  readonly least: number;
  readonly most: number;
}

/** A number as people read it: six digits. */
export const numberText = (value: number | null): string =>
  value === null ? 'not finite' : String(Number(value.toPrecision(6)));

/** A place on the x axis: a step, or the time since the first value. */
export const placeText = (axis: Chart['axis'], x: number): string =>
  axis === 'step' ? numberText(x) : formatDuration(x);

/** Places of labels on the x axis. */
export const placesOf = (axis: Chart['axis'], range: Range, wanted: number): readonly number[] =>
  axis === 'step'
    ? ticksOf(range, wanted).filter((tick) => Number.isInteger(tick))
    : [0, 1, 2, 3, 4].map((part) => range.least + (part / 4) * (range.most - range.least));

/** The ranges of all finite values. A range without extent is widened. Undefined: there is nothing to draw. */
export function rangesOf(curves: readonly Curve[]): { readonly x: Range; readonly y: Range } | undefined {
  const points = curves.flatMap(({ x, y }) => x.filter((_, index) => y[index] !== null && y[index] !== undefined));
  const values = curves.flatMap(({ y }) => y.filter((value) => value !== null));
  if (points.length === 0) return undefined;
  return { x: widened(smallest(points), largest(points), 1), y: widened(smallest(values), largest(values)) };
}

function widened(least: number, most: number, by = Math.abs(least) / 10 || 1): Range {
  if (least < most) return { least, most };
  return { least: Math.max(least - by, -Number.MAX_VALUE), most: Math.min(most + by, Number.MAX_VALUE) };
}

/** Round numbers within a range: about `wanted`, at distances of 1, 2 or 5 times a power of ten. */
export function ticksOf({ least, most }: Range, wanted: number): readonly number[] {
  const rough = (most - least) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const distance = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= rough * 0.999) ?? rough;
  const first = Math.ceil(least / distance - 1e-9);
  const count = Math.floor(most / distance + 1e-9) - first + 1;
  // A range of neighbouring numbers has no round ones.
  if (!(distance > 0 && distance < Infinity && count > 0 && count <= 100)) return [least, most];
  return Array.from({ length: count }, (_, index) => Number(((first + index) * distance).toPrecision(12)));
}

/** Part of the range at which a value lies, from 0 to 1. Halved, because a range may be as wide as numbers go. */
export const partOf = (value: number, { least, most }: Range): number =>
  (value / 2 - least / 2) / Math.max(Number.MIN_VALUE, most / 2 - least / 2);

/** The points of a curve in a field of this width and height, as stretches without gaps. y grows upwards. */
export function stretchesOf(
  { x, y }: Curve,
  ranges: { readonly x: Range; readonly y: Range },
  [width, height]: readonly [number, number],
): readonly (readonly (readonly [x: number, y: number])[])[] {
  const stretches: (readonly [number, number])[][] = [[]];
  for (const [index, value] of y.entries()) {
    if (value === null) stretches.push([]);
    else stretches.at(-1)?.push([partOf(x[index] ?? 0, ranges.x) * width, partOf(value, ranges.y) * height]);
  }
  return stretches.filter(({ length }) => length > 0);
}

/** Characters of curves where dots cannot be told apart: in a pipe, without colours, or where the locale is not UTF-8. */
const MARKS = ['*', 'o', '+', 'x', '#', '@', '%', '&'];
const COLOURS: readonly (Colour | undefined)[] = ['cyan', 'yellow', 'green', 'red', undefined];
/** The most curves of a chart on a terminal. */
export const MOST_DRAWN = MARKS.length;
const LEAST_WIDTH = 40;
const PIPE_WIDTH = 80;

/** Draws a chart in lines of text: by braille dots on a terminal, else by a character for each curve. @param height rows of the field */
export function drawChart({ title, axis, curves }: Chart, look: Look, height: number): readonly string[] {
  const ranges = rangesOf(curves);
  if (ranges === undefined) return [title, '  no value to draw'];
  const width = Math.max(LEAST_WIDTH, look.width ?? PIPE_WIDTH);
  const isColoured = look.paint('cyan', 'x') !== 'x';
  const isDotted =
    look.isLive && look.symbols.bar !== '|' && (curves.length === 1 || (isColoured && curves.length <= COLOURS.length));
  const rows = tickRows(ranges.y, height);
  const labelWidth = largest([...rows.values()].map(textWidth), 1);
  const field = new Field(width - labelWidth - 2, height, isDotted);
  for (const [index, curve] of curves.entries()) field.draw(curve, ranges, index);
  const paint = (index: number, text: string): string => {
    const colour = isColoured && curves.length > 1 ? COLOURS[index % COLOURS.length] : undefined;
    return colour === undefined ? text : look.paint(colour, text);
  };
  const bar = look.symbols.bar;
  const legend = (label: string, index: number): string =>
    `  ${paint(index, isDotted ? '⠤⠤' : (MARKS[index] ?? '*'))} ${cutToWidth(label, width - 6)}`;
  return [
    cutToWidth(title, width),
    ...field.lines(paint).map((line, row) => `${(rows.get(row) ?? '').padStart(labelWidth)} ${bar}${line}`.trimEnd()),
    `${' '.repeat(labelWidth + 2)}${placeLine(axis, ranges.x, width - labelWidth - 2)}`.trimEnd(),
    ...(curves.length === 1 ? [] : curves.map(({ label }, index) => legend(label, index))),
  ];
}

/** Labels of the y axis, by rows from the top. */
function tickRows(range: Range, height: number): ReadonlyMap<number, string> {
  const rows = new Map<number, string>();
  for (const tick of ticksOf(range, Math.max(2, Math.floor(height / 4))))
    rows.set(Math.round((1 - partOf(tick, range)) * (height - 1)), numberText(tick));
  return rows;
}

/** Labels below the x axis: as many as do not touch. */
function placeLine(axis: Chart['axis'], range: Range, width: number): string {
  let line = '';
  for (const place of placesOf(axis, range, 5)) {
    const text = placeText(axis, place);
    const at = Math.min(
      width - text.length,
      Math.max(0, Math.round(partOf(place, range) * (width - 1) - text.length / 2)),
    );
    if (at > line.length || line === '') line = padToWidth(line, at) + text;
  }
  const whole = `${padToWidth(line, width - axis.length - 1)} ${axis}`;
  return whole.length > width ? line : whole;
}

/** Cells of a chart. A cell of braille has two by four dots, and belongs to the curve that was drawn last. */
class Field {
  readonly #width: number;
  readonly #height: number;
  readonly #dots: readonly [number, number];
  readonly #cells: Uint8Array;
  readonly #owners: Int16Array;

  constructor(width: number, height: number, isDotted: boolean) {
    [this.#width, this.#height, this.#dots] = [width, height, isDotted ? [2, 4] : [1, 1]];
    this.#cells = new Uint8Array(width * height);
    this.#owners = new Int16Array(width * height).fill(-1);
  }

  draw(curve: Curve, ranges: { readonly x: Range; readonly y: Range }, owner: number): void {
    const [dotsX, dotsY] = this.#dots;
    const size = [this.#width * dotsX - 1, this.#height * dotsY - 1] as const;
    for (const stretch of stretchesOf(curve, ranges, size)) {
      let from = stretch[0] ?? [0, 0];
      for (const to of stretch) {
        const steps = Math.max(1, Math.ceil(Math.max(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1]))));
        for (let step = 0; step <= steps; step++)
          this.#set(from[0] + ((to[0] - from[0]) * step) / steps, from[1] + ((to[1] - from[1]) * step) / steps, owner);
        from = to;
      }
    }
  }

  #set(x: number, y: number, owner: number): void {
    const [dotsX, dotsY] = this.#dots;
    const [column, row] = [Math.round(x), this.#height * dotsY - 1 - Math.round(y)];
    const cell = Math.floor(row / dotsY) * this.#width + Math.floor(column / dotsX);
    const dot = dotsX === 1 ? 1 : (BRAILLE_DOTS[(row % dotsY) * 2 + (column % dotsX)] ?? 0);
    this.#cells[cell] = (this.#cells[cell] ?? 0) | dot;
    this.#owners[cell] = owner;
  }

  lines(paint: (owner: number, text: string) => string): readonly string[] {
    return Array.from({ length: this.#height }, (_, row) => {
      let line = '';
      for (let at = row * this.#width, end = at + this.#width; at < end;) {
        const owner = this.#owners[at] ?? -1;
        let text = '';
        for (; at < end && this.#owners[at] === owner; at++) text += this.#character(at, owner);
        line += owner < 0 ? text : paint(owner, text);
      }
      return line;
    });
  }

  #character(cell: number, owner: number): string {
    if (owner < 0) return ' ';
    if (this.#dots[0] === 1) return MARKS[owner % MARKS.length] ?? '*';
    return String.fromCodePoint(0x28_00 + (this.#cells[cell] ?? 0));
  }
}

/** Bits of U+2800 by row and column. */
const BRAILLE_DOTS = [0x01, 0x08, 0x02, 0x10, 0x04, 0x20, 0x40, 0x80];

/**
 * Colours of a terminal in a line of a log (ECMA-48, SGR). Only colour, weight and underline are read; every other sequence is
 * dropped, so that a log can neither move the cursor nor set a title or a link. Time is linear in the line.
 */
export interface Span {
  readonly text: string;
  /** 0 to 15, of the terminal's palette. */
  readonly colour?: number;
  readonly background?: number;
  readonly isBold?: true;
  readonly isDim?: true;
  readonly isUnderlined?: true;
}

type Style = Omit<Span, 'text'>;

const ESC = '\u001b';

/** Spans of one line. A carriage return shows what stands behind it, as a progress bar draws over itself. */
export function spansOf(line: string): readonly Span[] {
  const text = afterReturn(line);
  if (!text.includes(ESC)) return text === '' ? [] : [{ text: visible(text) }];
  const spans: Span[] = [];
  let style: Style = {};
  let from = 0;
  for (let at = text.indexOf(ESC); at !== -1; at = text.indexOf(ESC, from)) {
    add(spans, text.slice(from, at), style);
    const { end, sgr } = sequenceAt(text, at);
    if (sgr !== undefined) style = styled(style, sgr);
    from = end;
  }
  add(spans, text.slice(from), style);
  return spans;
}

/** The line without escape sequences, for searches. */
export const plainText = (line: string): string =>
  line.includes(ESC) || line.includes('\r')
    ? spansOf(line)
        .map(({ text }) => text)
        .join('')
    : line;

function afterReturn(line: string): string {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  const last = text.lastIndexOf('\r');
  return last === -1 ? text : text.slice(last + 1);
}

function add(spans: Span[], text: string, style: Style): void {
  if (text !== '') spans.push({ text: visible(text), ...style });
}

/** Control characters, and those that turn the direction of text, are shown as a box: they could hide what a line says. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const visible = (text: string): string => text.replaceAll(HIDDEN, '\u25af');

/** Longest recognized sequence. Of a longer one only the ESC is dropped. */
const MOST_OF_SEQUENCE = 256;

/** The end of the sequence that begins at `at`, and its parameters if it sets colours. */
function sequenceAt(text: string, at: number): { readonly end: number; readonly sgr?: readonly number[] } {
  const kind = text[at + 1];
  const last = Math.min(text.length, at + MOST_OF_SEQUENCE);
  if (kind === '[') {
    for (let end = at + 2; end < last; end++) {
      const code = text.charCodeAt(end);
      if (code >= 0x40 && code <= 0x7e)
        return text[end] === 'm' ? { end: end + 1, sgr: numbersOf(text.slice(at + 2, end)) } : { end: end + 1 };
      if (code < 0x20 || code > 0x3f) break;
    }
    return { end: at + 1 };
  }
  if (kind !== undefined && ']PX^_'.includes(kind)) {
    for (let end = at + 2; end < last; end++) {
      if (text[end] === '\u0007') return { end: end + 1 };
      if (text[end] === ESC && text[end + 1] === '\\') return { end: end + 2 };
    }
    return { end: at + 1 };
  }
  return { end: Math.min(text.length, at + (kind === undefined ? 1 : 2)) };
}

const numbersOf = (text: string): readonly number[] =>
  /^[\d;:]*$/.test(text) ? text.split(/[;:]/).map((part) => (part === '' ? 0 : Number(part))) : [];

function styled(before: Style, codes: readonly number[]): Style {
  let style: { -readonly [Key in keyof Style]: Style[Key] } = { ...before };
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 0) style = {};
    else if (code === 1) style.isBold = true;
    else if (code === 2) style.isDim = true;
    else if (code === 4) style.isUnderlined = true;
    else if (code === 22) style = without(without(style, 'isBold'), 'isDim');
    else if (code === 24) style = without(style, 'isUnderlined');
    else if (code === 39) style = without(style, 'colour');
    else if (code === 49) style = without(style, 'background');
    else if (code === 38 || code === 48) {
      const { colour, length } = extended(codes, at + 1);
      if (colour !== undefined) style = { ...style, [code === 38 ? 'colour' : 'background']: colour };
      at += length;
    } else if (inRange(code, 30, 37)) style.colour = code - 30;
    else if (inRange(code, 90, 97)) style.colour = code - 90 + 8;
    else if (inRange(code, 40, 47)) style.background = code - 40;
    else if (inRange(code, 100, 107)) style.background = code - 100 + 8;
  }
  return style;
}

const inRange = (code: number, from: number, to: number): boolean => code >= from && code <= to;

function without<Key extends keyof Style>(style: Style, key: Key): Style {
  const { [key]: _, ...rest } = style;
  return rest;
}

/** `38;5;N` and `38;2;R;G;B` as the nearest of the 16 colours, which the page has in a light and a dark form. */
function extended(codes: readonly number[], at: number): { readonly colour?: number; readonly length: number } {
  if (codes[at] === 5) {
    const index = codes[at + 1] ?? 0;
    if (index < 16) return { colour: index, length: 2 };
    if (index >= 232) return { colour: grey((index - 232) * 10 + 8), length: 2 };
    const cube = index - 16;
    const level = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
    return {
      colour: nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)),
      length: 2,
    };
  }
  if (codes[at] === 2)
    return { colour: nearest(codes[at + 1] ?? 0, codes[at + 2] ?? 0, codes[at + 3] ?? 0), length: 4 };
  return { length: 0 };
}

const grey = (level: number): number => (level < 64 ? 0 : level < 140 ? 8 : level < 210 ? 7 : 15);

function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  if (most - Math.min(red, green, blue) < 32) return grey(most);
  const half = most / 2;
  const hue = (red > half ? 1 : 0) + (green > half ? 2 : 0) + (blue > half ? 4 : 0);
  return most > 190 ? hue + 8 : hue;
}

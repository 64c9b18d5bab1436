import { COLOURS, type Span, spansOf } from './screen.js';
import type { Frame } from './terminal.js';

const CELL = { width: 8.4, height: 19 };
const EDGE = 14;
const LAST_FRAME_MS = 4000;

/**
 * An SVG that plays the frames in a loop by CSS alone, as GitHub and npm show it in a README. Each line is drawn once and used by
 * every frame that shows it. A reader who asked for less motion sees the last frame.
 * @param longestMs longer pauses are shortened to this
 */
export function svgOf(frames: readonly Frame[], columns: number, longestMs: number): string {
  const rows = frames[0]?.lines.length ?? 0;
  const width = columns * CELL.width + 2 * EDGE;
  const height = rows * CELL.height + 2 * EDGE;
  const lines = new Map<string, string>();
  const drawn = frames.map(({ lines: shown }, index) => drawnFrame(shown, index * height, lines));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">`,
    `<style>text{white-space:pre;fill:#dcdfe4}.b{font-weight:700}.d{opacity:.65}${Object.entries(COLOURS)
      .map(([name, value]) => `.${name}{fill:${value}}`)
      .join('')}${animation(frames, height, longestMs)}</style>`,
    `<defs>${[...lines.values()].join('')}</defs>`,
    `<rect width="100%" height="100%" rx="8" fill="#1e2127"/>`,
    `<svg x="${EDGE}" y="${EDGE}" width="${width - 2 * EDGE}" height="${rows * CELL.height}"><g id="film">${drawn.join('')}</g></svg>`,
    '</svg>\n',
  ].join('\n');
}

function drawnFrame(shown: readonly string[], top: number, lines: Map<string, string>): string {
  const used = shown.flatMap((line, row) => {
    if (line.trim() === '') return [];
    const id = `l${lines.size}`;
    if (!lines.has(line)) lines.set(line, `<text id="${id}">${spansOf(line).map(tspan).join('')}</text>`);
    const [, known] = /id="(l\d+)"/u.exec(lines.get(line) ?? '') ?? [];
    return [`<use href="#${known}" y="${top + (row + 0.75) * CELL.height}"/>`];
  });
  return used.join('');
}

function tspan({ text, colour, bold, dim }: Span): string {
  const classes = [colour, bold && 'b', dim && 'd'].filter(Boolean).join(' ');
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<tspan${classes === '' ? '' : ` class="${classes}"`}>${escaped}</tspan>`;
}

function animation(frames: readonly Frame[], height: number, longestMs: number): string {
  const durations = frames.map(({ at }, index) =>
    Math.min(longestMs, (frames[index + 1]?.at ?? at + LAST_FRAME_MS) - at),
  );
  durations[durations.length - 1] = LAST_FRAME_MS;
  const total = durations.reduce((sum, duration) => sum + duration, 0);
  let begun = 0;
  const steps = durations.map((duration, index) => {
    const step = `${((100 * begun) / total).toFixed(3)}%{transform:translateY(-${index * height}px)}`;
    begun += duration;
    return step;
  });
  const last = `translateY(-${(frames.length - 1) * height}px)`;
  return `#film{animation:film ${(total / 1000).toFixed(1)}s step-end infinite}@keyframes film{${steps.join('')}}@media (prefers-reduced-motion:reduce){#film{animation:none;transform:${last}}}`;
}

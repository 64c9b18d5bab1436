import { largest } from '../../../domain/extremes.js';
import {
  type Chart,
  type Curve,
  numberText,
  partOf,
  placesOf,
  placeText,
  rangesOf,
  stretchesOf,
  ticksOf,
} from './chart.js';
import { textWidth } from './columns.js';

/** Colours that people with any colour vision tell apart (Okabe and Ito), then the same with dashes. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#000000', '#8c6d1f'];
const DASHES = ['', '6 3', '2 2'];
/** The most curves that can be told apart. */
export const MOST_SVG_CURVES = COLOURS.length * DASHES.length;

const WIDTH = 860;
const FIELD = { left: 80, top: 36, width: 740, height: 300 };
const LEGEND_ROW = 18;
/** Width of a character of the font, about. */
const CHARACTER = 7;

/** Charts below one another as an SVG image, without scripts, links or fonts of its own. */
export function svgOf(charts: readonly Chart[]): string {
  let height = 0;
  const panels = charts.map((chart) => {
    const top = height;
    const legend = legendOf(chart.curves);
    height += FIELD.top + FIELD.height + 44 + legend.height;
    return `<g transform="translate(0 ${top})">\n${panel(chart)}\n${legend.text}</g>`;
  });
  const title = charts.map((chart) => chart.title).join('; ');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" font-family="sans-serif" font-size="12">
<title>${escaped(title)}</title>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${panels.join('\n')}
</svg>
`;
}

function panel({ title, axis, curves }: Chart): string {
  const { left, top, width, height } = FIELD;
  const head = `<text x="${left}" y="22" font-size="14" font-weight="bold">${escaped(title)}</text>`;
  const ranges = rangesOf(curves);
  if (ranges === undefined) return `${head}\n<text x="${left}" y="${top + 20}">no value to draw</text>`;
  const across = (part: number): number => round(left + part * width);
  const up = (part: number): number => round(top + height - part * height);
  const rows = ticksOf(ranges.y, 6).map((tick) => {
    const y = up(partOf(tick, ranges.y));
    return `<path d="M${left} ${y}h${width}" stroke="#ddd"/><text x="${left - 8}" y="${y + 4}" text-anchor="end">${numberText(tick)}</text>`;
  });
  const columns = placesOf(axis, ranges.x, 7).map((tick) => {
    const x = across(partOf(tick, ranges.x));
    return `<path d="M${x} ${top + height}v5" stroke="#888"/><text x="${x}" y="${top + height + 18}" text-anchor="middle">${placeText(axis, tick)}</text>`;
  });
  const lines = curves.map((curve, index) => {
    const stretches = stretchesOf(curve, ranges, [1, 1]);
    const d = stretches.map(
      // A single point is drawn by the round end of a line without length.
      (stretch) => `M${stretch.map(([x, y]) => `${across(x)} ${up(y)}`).join('L')}${stretch.length === 1 ? 'h0' : ''}`,
    );
    return `<path d="${d.join('')}" fill="none" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" ${strokeOf(index)}><title>${escaped(curve.label)}</title></path>`;
  });
  return [
    head,
    ...rows,
    ...columns,
    `<path d="M${left} ${top}v${height}h${width}" fill="none" stroke="#888"/>`,
    `<text x="${left + width}" y="${top + height + 34}" text-anchor="end">${axis === 'step' ? 'step' : 'time since the first value'}</text>`,
    ...lines,
  ].join('\n');
}

function legendOf(curves: readonly Curve[]): { readonly text: string; readonly height: number } {
  if (curves.length < 2) return { text: '', height: 0 };
  const cell = Math.min(FIELD.width, 48 + CHARACTER * largest(curves.map(({ label }) => textWidth(label))));
  const perRow = Math.max(1, Math.floor(FIELD.width / cell));
  const cells = curves.map(({ label }, index) => {
    const x = FIELD.left + (index % perRow) * cell;
    const y = FIELD.top + FIELD.height + 52 + Math.floor(index / perRow) * LEGEND_ROW;
    return `<path d="M${x} ${y - 4}h24" fill="none" stroke-width="2" ${strokeOf(index)}/><text x="${x + 30}" y="${y}">${escaped(label)}</text>\n`;
  });
  return { text: cells.join(''), height: 16 + LEGEND_ROW * Math.ceil(curves.length / perRow) };
}

function strokeOf(index: number): string {
  const dash = DASHES[Math.floor(index / COLOURS.length) % DASHES.length] ?? '';
  return `stroke="${COLOURS[index % COLOURS.length]}"${dash === '' ? '' : ` stroke-dasharray="${dash}"`}`;
}

const round = (value: number): number => Math.round(value * 10) / 10;

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '');

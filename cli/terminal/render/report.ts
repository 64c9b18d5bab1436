import { usdText } from '../../../domain/units.js';
import { PARTS, type Part, type Parts, sumOf } from '../../../domain/counted/usage.js';
import { goodputOf, meanWaitOf, type ReportRow, totals } from '../../../domain/counted/report.js';
import { renderTable, oneLine } from './columns.js';
import { formatDuration } from './quantities.js';

/** The subjects of reports. */
export const REPORTS = ['usage', 'cost', 'goodput', 'availability'] as const;
export type ReportName = (typeof REPORTS)[number];

/** Parts in words, for tables and legends. */
export const PART_WORDS: Readonly<Record<Part, string>> = {
  waiting: 'waiting for chips',
  setUp: 'set-up',
  useful: 'useful work',
  lost: 'work lost',
  restart: 'restart',
  idle: 'idle',
  draining: 'draining',
};

const HEADS: Readonly<Record<ReportName, readonly string[]>> = {
  usage: ['JOBS', 'OPEN', 'CHIP-HOURS', 'WAITED', 'PREEMPTIONS'],
  cost: ['JOBS', 'CHIP-HOURS', 'USD', 'WITHOUT A PRICE'],
  goodput: ['JOBS', 'LEASED', 'WAITING', 'SET-UP', 'USEFUL', 'LOST', 'RESTART', 'IDLE', 'DRAINING', 'GOODPUT'],
  availability: ['JOBS', 'NEVER STARTED', 'MEAN WAIT', 'CHIP-HOURS', 'PREEMPTIONS', 'PER PREEMPTION'],
};

/** The lines of a table: groups, then totals. */
export function reportTable(
  rows: readonly ReportRow[],
  name: ReportName,
  by: string,
  width?: number,
): readonly string[] {
  const hasHosts = rows.some(({ unit }) => unit === 'host');
  const cells = (row: ReportRow): readonly string[] => [
    oneLine(row.key),
    ...(hasHosts ? [row.unit] : []),
    ...CELLS[name](row),
  ];
  const head = [by.toUpperCase(), ...(hasHosts ? ['UNIT'] : []), ...HEADS[name]];
  return renderTable([head, ...rows.map(cells), ...(rows.length > 1 ? totals(rows).map(cells) : [])], width);
}

const CELLS: Readonly<Record<ReportName, (row: ReportRow) => readonly string[]>> = {
  usage: ({ jobs, open, charged, parts, preemptions }) => [
    ...[String(jobs), String(open), hours(charged), hours(parts.waiting), String(preemptions)],
  ],
  cost: ({ jobs, charged, usd, unpriced }) => [
    ...[String(jobs), hours(charged), usd === undefined ? 'unknown' : usdText(usd).slice(1)],
    unpriced > 0 ? hours(unpriced) : '-',
  ],
  goodput: (row) => {
    const all = sumOf(row.parts);
    const goodput = goodputOf(row);
    return [
      ...[String(row.jobs), hours(all)],
      ...PARTS.map((part) => (all > 0 ? percent(row.parts[part] / all) : '-')),
      goodput === undefined ? '-' : `${percent(goodput)}${row.lostUnknown > 0 ? ' at most' : ''}`,
    ];
  },
  availability: (row) => {
    const { jobs, unstarted, charged, preemptions } = row;
    const wait = meanWaitOf(row);
    return [
      ...[String(jobs), String(unstarted), wait === undefined ? '-' : formatDuration(1000 * wait), hours(charged)],
      ...[String(preemptions), preemptions > 0 ? hours(charged / preemptions) : '-'],
    ];
  },
};

/** Chip-hours with about three significant digits. @param seconds chip-seconds */
export function hours(seconds: number): string {
  const value = seconds / 3600;
  return value.toFixed(value >= 100 ? 0 : value >= 1 ? 1 : 3);
}
export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

// CSV ----------------------------------------------------------------------------------------------------------------

/** The rows as CSV (RFC 4180) for spreadsheets, with all sums. Times are in chip-hours. */
export function reportCsv(rows: readonly ReportRow[], by: string): string {
  const head = [
    ...[by, 'unit', 'jobs', 'open', 'preemptions', 'asked', 'never_started', 'charged_hours'],
    ...PARTS.map((part) => `${part === 'setUp' ? 'set_up' : part}_hours`),
    ...['usd', 'unpriced_hours', 'lost_unknown_hours'],
  ];
  const lines = rows.map((row) => [
    ...[row.key, row.unit, row.jobs, row.open, row.preemptions, row.asked, row.unstarted, inHours(row.charged)],
    ...PARTS.map((part) => inHours(row.parts[part])),
    ...[row.usd ?? '', inHours(row.unpriced), inHours(row.lostUnknown)],
  ]);
  return csvLines(head, lines);
}

/** Lines as RFC 4180 has them. A text that a spreadsheet would take for a formula gets an apostrophe before it. */
export const csvLines = (head: readonly string[], lines: readonly (readonly (string | number)[])[]): string =>
  [head, ...lines]
    .map((line) => `${line.map((value) => (typeof value === 'string' ? csvText(value) : value)).join(',')}\n`)
    .join('');

const inHours = (seconds: number): number => Math.round((seconds / 3600) * 1e6) / 1e6;

function csvText(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// SVG ----------------------------------------------------------------------------------------------------------------

const COLOURS: Readonly<Record<Part, string>> = {
  waiting: '#c9c9c9',
  setUp: '#e6b54a',
  useful: '#3b8f4f',
  lost: '#c0392b',
  restart: '#e07b39',
  idle: '#8aa1b4',
  draining: '#6d6d6d',
};
const [BAR, GAP, LEFT, WIDE, RIGHT, TOP] = [18, 8, 190, 560, 110, 48] as const;
/** Limit of bars: more cannot be told apart. */
const MOST_BARS = 60;

/** A bar for each group: of its chip-hours by part, of its chip-hours, or of its dollars. */
export function reportSvg(rows: readonly ReportRow[], name: ReportName, title: string): string {
  const shown = rows.slice(0, MOST_BARS);
  const most = shown.reduce((max, row) => Math.max(max, lengthOf(row, name)), 0);
  const scale = most > 0 ? WIDE / most : 0;
  const height = TOP + shown.length * (BAR + GAP) + (name === 'goodput' ? 34 : 10);
  const bars = shown.map((row, index) => barOf(row, name, TOP + index * (BAR + GAP), scale));
  const hidden = rows.length - shown.length;
  const heading = `${title}${hidden > 0 ? `; ${hidden} more groups are not drawn` : ''}`;
  const legend = name === 'goodput' ? legendAt(height - 14) : '';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${LEFT + WIDE + RIGHT}" height="${height}" font-family="sans-serif" font-size="12">`,
    '<rect width="100%" height="100%" fill="#ffffff"/>',
    `<text x="10" y="24" font-size="14">${xml(heading)}</text>`,
    ...bars,
    legend,
    '</svg>\n',
  ]
    .filter((line) => line !== '')
    .join('\n');
}

function lengthOf(row: ReportRow, name: ReportName): number {
  if (name === 'goodput') return sumOf(row.parts);
  if (name === 'availability') return meanWaitOf(row) ?? 0;
  return name === 'cost' ? (row.usd ?? 0) : row.charged;
}

function barOf(row: ReportRow, name: ReportName, y: number, scale: number): string {
  const stretches =
    name === 'goodput' ? partStretches(row.parts) : [{ colour: COLOURS.useful, length: lengthOf(row, name) }];
  let x: number = LEFT;
  const rects = stretches.map(({ colour, length }) => {
    const width = length * scale;
    const rect = `<rect x="${round(x)}" y="${y}" width="${round(width)}" height="${BAR}" fill="${colour}"/>`;
    x += width;
    return rect;
  });
  const key = row.unit === 'host' ? `${row.key} (hosts)` : row.key;
  const label = `<text x="${LEFT - 8}" y="${y + 13}" text-anchor="end">${xml(shortened(key))}</text>`;
  return [label, ...rects, `<text x="${round(x + 6)}" y="${y + 13}">${xml(endText(row, name))}</text>`].join('');
}

const partStretches = (parts: Parts) => PARTS.map((part) => ({ colour: COLOURS[part], length: parts[part] }));

function endText(row: ReportRow, name: ReportName): string {
  if (name === 'cost') return row.usd === undefined ? 'price unknown' : usdText(row.usd);
  if (name === 'availability') return formatDuration(1000 * (meanWaitOf(row) ?? 0));
  const goodput = goodputOf(row);
  return name === 'usage' || goodput === undefined ? `${hours(row.charged)} h` : percent(goodput);
}

function legendAt(y: number): string {
  return PARTS.map((part, index) => {
    const x = 10 + index * 118;
    return `<rect x="${x}" y="${y - 10}" width="10" height="10" fill="${COLOURS[part]}"/><text x="${x + 14}" y="${y}">${xml(PART_WORDS[part])}</text>`;
  }).join('');
}

const round = (value: number): number => Math.round(value * 100) / 100;
const MOST_LABEL = 28;
const shortened = (text: string): string => {
  const characters = Array.from(oneLine(text));
  return characters.length <= MOST_LABEL ? characters.join('') : `${characters.slice(0, MOST_LABEL - 2).join('')}..`;
};

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** Names are the users' own: nothing in them may be markup, or a character that XML does not have. */
const xml = (text: string): string =>
  oneLine(text)
    .replaceAll(/[\ufffe\uffff]/g, ' ')
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);

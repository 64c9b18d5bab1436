import { median } from '../start/statistics.js';

/** Times of one way in ms, one per round. Round n of all ways of a measure ran one after the other. */
export interface Timed {
  readonly name: string;
  readonly ms: readonly number[];
}

/** A tool that is not on this computer, and how to get it. */
export interface Absent {
  readonly name: string;
  readonly absent: string;
}

/** A way that is here and failed. */
export interface Broken {
  readonly name: string;
  readonly broken: string;
}

export type Peer = Timed | Absent | Broken;

export interface Measured {
  readonly what: string;
  /** jobctl's own times. */
  readonly ms: readonly number[];
  readonly peers: readonly Peer[];
  /** The least that any tool needs for this on the same computer. */
  readonly floor?: Timed;
}

export interface Failed {
  readonly part: string;
  readonly why: string;
}

export type PageRow = Measured | Failed;

/** Circumstances of a run, printed above its table. */
export interface Circumstances {
  readonly date: string;
  readonly commit: string;
  readonly node: string;
  readonly cores: number;
  readonly loadBefore: number;
  readonly loadAfter: number;
  readonly seconds: number;
}

const HEADINGS = ['what', 'jobctl', 'beside', '', 'ratio', 'spread', 'floor'];
const RIGHT = new Set([1, 3, 4]);
const MOST_REASON = 110;
const LEGEND = [
  "Figures are medians of rounds in which all of a row ran in turn. ratio: jobctl's time divided by the peer's in the same",
  'round, median and range; below 1, jobctl is quicker. Rows, floors, and what is not measured: docs/performance.md',
];

/** The lines of the page: circumstances, an aligned table, and how to read it. */
export function pageOf(rows: readonly PageRow[], at: Circumstances): readonly string[] {
  const lines = [{ cells: HEADINGS }, ...rows.flatMap(linesOf)];
  const widths = HEADINGS.map((_, column) =>
    lines.reduce((most, { cells }) => (cells.length === 1 ? most : Math.max(most, (cells[column] ?? '').length)), 0),
  );
  return [
    `jobctl ${at.commit}, ${at.date}`,
    `node ${at.node}, ${at.cores} cores, load ${at.loadBefore.toFixed(1)} before, ${at.loadAfter.toFixed(1)} after, ${at.seconds.toFixed(0)} s`,
    '',
    ...lines.map((line) => printed(line, widths)),
    '',
    ...LEGEND,
  ];
}

/** A row of the table. `tail` stands in the third column and runs over all that follow. A single cell runs over the whole line. */
interface Line {
  readonly cells: readonly string[];
  readonly tail?: string;
}

function linesOf(row: PageRow): readonly Line[] {
  if ('why' in row) return [{ cells: [`${row.part}: FAILED: ${cut(row.why)}`] }];
  const present = row.peers.flatMap((peer) => ('ms' in peer ? [peer] : []));
  const [first, ...others] = present.map((peer) => [peer.name, duration(peer.ms), ...ratioCells(row.ms, peer.ms)]);
  const floor = row.floor === undefined ? '' : floorCell(row.ms, row.floor);
  return [
    { cells: [row.what, duration(row.ms), ...(first ?? ['', '', '', '']), floor] },
    ...others.map((cells) => ({ cells: ['', '', ...cells] })),
    ...row.peers.flatMap((peer) => ('ms' in peer ? [] : [{ cells: ['', ''], tail: untimed(peer) }])),
  ];
}

const untimed = (peer: Absent | Broken): string =>
  'absent' in peer ? `${peer.name}: not here: ${cut(peer.absent)}` : `${peer.name}: FAILED: ${cut(peer.broken)}`;

/** Whether a part failed, or a peer that is here. */
export const hasFailures = (rows: readonly PageRow[]): boolean =>
  rows.some((row) => 'why' in row || row.peers.some((peer) => 'broken' in peer));

function printed({ cells, tail }: Line, widths: readonly number[]): string {
  if (cells.length === 1) return cells[0] ?? '';
  const padded = cells.map((cell, column) => {
    const width = widths[column] ?? 0;
    return RIGHT.has(column) ? cell.padStart(width) : cell.padEnd(width);
  });
  return [...padded, ...(tail === undefined ? [] : [tail])].join('  ').trimEnd();
}

function ratioCells(ours: readonly number[], theirs: readonly number[]): readonly string[] {
  const { middle, least, most, rounds } = ratioOf(ours, theirs);
  return [times(middle), rounds === 1 ? 'one round' : `${least.toFixed(2)} .. ${most.toFixed(2)} of ${rounds}`];
}

const floorCell = (ours: readonly number[], { name, ms }: Timed): string =>
  `${name} ${duration(ms)}, ${times(ratioOf(ours, ms).middle)}`;

/**
 * Ratios of the rounds that both took part in. Taking them round by round leaves out most of what a load that comes and goes
 * does to both.
 * @throws RangeError if they share no round
 */
export function ratioOf(ours: readonly number[], theirs: readonly number[]) {
  const ratios = ours.slice(0, theirs.length).map((ms, round) => ms / (theirs[round] ?? Number.NaN));
  const sorted = ratios.toSorted((a, b) => a - b);
  return { middle: median(ratios), least: sorted[0] ?? 0, most: sorted.at(-1) ?? 0, rounds: ratios.length };
}

function times(ratio: number): string {
  if (ratio >= 10) return `${ratio.toFixed(0)}x`;
  return `${ratio.toFixed(ratio < 0.1 ? 3 : 2)}x`;
}

function duration(all: readonly number[]): string {
  const ms = median(all);
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(2)} s`;
  return `${ms < 10 ? ms.toFixed(2) : ms.toFixed(0)} ms`;
}

function cut(text: string): string {
  const [line = ''] = text.split('\n', 1);
  return line.length <= MOST_REASON ? line : `${line.slice(0, MOST_REASON)}..`;
}

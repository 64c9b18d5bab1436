import type { TaskQueuePolls } from '../../client/temporal-calls.js';
import { noWorkerText, failingText, userColumn, untilText } from '../terminal/render/job-phrases.js';
import type { Board, PhaseTotal } from '../../client/job-board.js';
import type { GroupRow } from '../../client/group-rows.js';
import type { JobRow, ShownPhase } from '../../client/job-rows.js';
import { count, type EpochMs } from '../../domain/units.js';
import type { PlaceInLine, WaitingLine } from '../../quota/waiting-line.js';
import { ordinal } from '../../quota/explanation/explain-words.js';
import { oneLine, wrapToWidth } from '../terminal/render/columns.js';
import { reasonOf } from '../terminal/render/job-header.js';
import { type Colour, type Look, type Column, renderOneLineTable } from '../terminal/render/look.js';
import { formatDuration, clockTime } from '../terminal/render/quantities.js';
import { JobPhase } from '../../domain/job-state.js';
import { openReader } from '../place/connect.js';
import { groupLines } from './groups/board.js';
import type { CliContext } from '../place/context.js';

export interface ShownBoard extends Omit<Board, 'lines'> {
  readonly groups: readonly GroupRow[];
  readonly places: Places;
  /** Age limit of the ended jobs, in words; absent: no limit. */
  readonly endedWithin?: string;
  /** No worker polls the task queue of the first open job: the rows show an old state. */
  readonly noWorker?: TaskQueuePolls;
}

interface RenderedBoard {
  /** Facts about all rows, such as the label REHEARSAL. */
  readonly heading: readonly string[];
  /** Titles, one line per group, and an empty line; empty without groups. */
  readonly groups: readonly string[];
  /** Titles, then one line per job. */
  readonly table: readonly string[];
  /** The number of jobs per phase, and missing information. */
  readonly summary: readonly string[];
}

/** The board of `jobctl list`. A label (REHEARSAL) is in the heading, and also in the rows if not all have it. */
export function renderBoard(board: ShownBoard, now: EpochMs, look: Look): RenderedBoard {
  const { rows, endedWithin } = board;
  const groups = groupLines(board.groups, now, look);
  if (rows.length === 0) {
    const why = endedWithin === undefined ? 'no jobs' : `no jobs that are open or ended ${endedWithin}`;
    const hint = endedWithin === undefined ? '' : '; --all shows those that ended before';
    return { heading: [], groups, table: [], summary: wrapped(`${why}${hint}`, look) };
  }
  const labels = [...new Set(rows.map(({ label }) => label))];
  const isMixed = labels.length > 1;
  const named = labels.filter((label) => label !== undefined);
  return {
    heading: named.flatMap((label) =>
      wrapped(`${label}: ${isMixed ? 'rows so labelled' : 'these jobs'} do not run on real Cloud TPUs`, look),
    ),
    groups,
    table: renderOneLineTable({ columns: columnsOf(board, isMixed, now, look), rows }, look),
    summary: summaryOf(board, look, now),
  };
}

/** The lines for a pipe or a terminal. The summary comes last, where users look after the command has ended. */
export function boardLines({ heading, groups, table, summary }: RenderedBoard): readonly string[] {
  return [...heading, ...groups, ...table, ...summary];
}

function columnsOf(
  { rows, places, noWorker }: Pick<ShownBoard, 'rows' | 'places' | 'noWorker'>,
  isMixed: boolean,
  now: EpochMs,
  look: Look,
): readonly Column<JobRow>[] {
  const placeOf = ({ id }: JobRow): PlaceInLine | undefined => places.byJob.get(id);
  return [
    { title: 'JOB', cell: ({ id }) => id },
    ...(isMixed ? [{ title: 'LABEL', cell: ({ label }: JobRow) => label ?? '-' }] : []),
    { title: 'PROJECT', cell: ({ project }) => project, droppedBelow: 26 },
    { ...userColumn(rows), droppedBelow: 12 },
    { title: 'SLICE', cell: ({ slice }) => slice, droppedBelow: 18 },
    {
      title: 'PHASE',
      cell: (row) => phaseText(row, placeOf(row)),
      paint: ({ phase }, text) => paintPhase(phase, text, look),
    },
    { title: 'TIME', cell: (row) => formatDuration(timeOf(row, now)) },
    { title: 'ATTEMPT', cell: ({ attempts }) => String(attempts), droppedBelow: 34 },
    { title: 'WHY', cell: (row) => whyText(row, placeOf(row), now) || standsStill(row, noWorker) },
  ];
}

const phaseText = ({ phase }: JobRow, place: PlaceInLine | undefined): string =>
  place === undefined ? phase : `${phase} (${ordinal(place.position)})`;

/** Time in its phase; for an ended job, time from its submit to its end. */
const timeOf = ({ phaseSince, submittedAt, endedAt }: JobRow, now: EpochMs): number =>
  endedAt === undefined ? now - phaseSince : endedAt - submittedAt;

function whyText(row: JobRow, place: PlaceInLine | undefined, now: EpochMs): string {
  if (row.failingTask !== undefined) return failingText(row.failingTask, now);
  const why = place === undefined ? reasonOf(row) : oneLine(place.why);
  if (row.endedAt !== undefined) return `${formatDuration(now - row.endedAt)} ago: ${why}`;
  // First, since a narrow terminal cuts the end.
  return [untilText(row, now), why].filter((part) => part !== '').join(': ');
}

/** The note for an open job whose task queue no worker polls. The board looks up one task queue only. */
const standsStill = ({ taskQueue, endedAt }: JobRow, noWorker: TaskQueuePolls | undefined): string =>
  noWorker !== undefined && endedAt === undefined && (taskQueue ?? noWorker.taskQueue) === noWorker.taskQueue
    ? `no worker polls its task queue '${noWorker.taskQueue}'`
    : '';

const COLOURS: Readonly<Partial<Record<ShownPhase, Colour>>> = {
  running: 'green',
  finishing: 'green',
  'setting-up': 'cyan',
  provisioning: 'cyan',
  evicting: 'yellow',
  paused: 'yellow',
  holding: 'yellow',
  queued: 'bold',
  failed: 'red',
  terminated: 'red',
};

/** Paints a phase, or text that stands for one. */
export const paintPhase = (phase: ShownPhase, text: string, look: Look): string =>
  look.paint(COLOURS[phase] ?? 'dim', text);

// Summary ------------------------------------------------------------------------------------------------------------

const ENDS: ReadonlySet<ShownPhase> = new Set(['succeeded', 'failed', 'cancelled', 'terminated']);

function summaryOf(
  { rows, total, phases, places: { missing }, endedWithin, noWorker }: ShownBoard,
  look: Look,
  now: EpochMs,
): readonly string[] {
  const parts = [...phases];
  const open = parts.filter(([phase]) => !ENDS.has(phase)).map(openText);
  const ended = parts.filter(([phase]) => ENDS.has(phase)).map(([phase, { jobs }]) => `${jobs} ${phase}`);
  const within = endedWithin === undefined ? '' : ` ${endedWithin}`;
  const groups = [
    ...(open.length === 0 ? [] : [open.join(', ')]),
    ...(ended.length === 0 ? [] : [`ended${within}: ${ended.join(', ')}`]),
  ];
  return [
    ...wrapped(groups.join('; '), look),
    ...(rows.length < total ? wrapped(`${rows.length} of ${count(total, 'job')} shown: --limit shows more`, look) : []),
    ...(noWorker === undefined ? [] : wrapped(`${noWorkerText(noWorker, now)}: ${OLD_STATE}`, look)),
    ...(missing === undefined ? [] : wrapped(`places in line are not known: ${oneLine(missing)}`, look)),
  ];
}

const OLD_STATE = 'the open jobs of this queue stand still, and their rows show the last known state';

/** `4 running (64 chips)`. */
function openText([phase, { jobs, chips }]: readonly [ShownPhase, PhaseTotal]): string {
  // A released job has given its chips back.
  const holds = phase !== 'released' && chips !== undefined && chips > 0;
  return `${jobs} ${phase}${holds ? ` (${count(chips, 'chip')})` : ''}`;
}

const wrapped = (text: string, { width }: Look): readonly string[] =>
  width === undefined ? [oneLine(text)] : wrapToWidth(oneLine(text), width);

interface Places {
  /** Places by job; empty if no pool has published anything, or no bucket is known. */
  readonly byJob: ReadonlyMap<string, PlaceInLine>;
  /** The reason why they are unknown. */
  readonly missing?: string;
}

/** The published lines of some pools, or the reason why they are unknown. */
export interface PublishedLines {
  readonly lines: readonly WaitingLine[];
  readonly missing?: string;
}

/** Reads the published lines, with one read per pool. Never throws: a list without some positions is better than none. */
export async function publishedLines(
  pools: readonly string[],
  { store }: Pick<CliContext, 'store'>,
): Promise<PublishedLines> {
  if (pools.length === 0 || store === undefined) return { lines: [] };
  const { readWaitingLine } = await import('../../client/pool-state.js');
  const missing = new Map<string, string[]>();
  const missed = (pool: string, { message }: Error): [] => {
    missing.set(message, [...(missing.get(message) ?? []), pool]);
    return [];
  };
  const reader = openReader(store);
  const read = async (pool: string): Promise<readonly WaitingLine[]> =>
    [(await readWaitingLine(await reader, pool)) ?? []].flat();
  const lines = await Promise.all(pools.map((pool) => read(pool).catch((error: Error) => missed(pool, error))));
  const texts = [...missing].map(([message, of]) => `of ${of.join(', ')}: ${message}`);
  return { lines: lines.flat(), ...(texts.length > 0 && { missing: texts.join('; ') }) };
}

/** The places of those jobs that are queued. */
export async function placesIn(
  { lines, missing }: PublishedLines,
  rows: readonly Pick<JobRow, 'id' | 'pool' | 'phase'>[],
): Promise<Places> {
  const { placesInLine } = await import('../../quota/waiting-line.js');
  const queued = rows.filter(({ phase }) => phase === JobPhase.Queued);
  const unknown = missing === undefined ? [] : [missing];
  const entries = lines.flatMap((line) => {
    const jobs = queued.filter(({ pool }) => pool === line.pool).map(({ id }) => id);
    try {
      return [...placesInLine(line, jobs, (at) => clockTime(at))];
    } catch (error) {
      unknown.push((error as Error).message);
      return [];
    }
  });
  return { byJob: new Map(entries), ...(unknown.length > 0 && { missing: unknown.join('; ') }) };
}

/** Reads the places now; empty if no job is queued. */
export async function placesOf(rows: readonly JobRow[], context: CliContext): Promise<Places> {
  const pools = rows.filter(({ phase }) => phase === JobPhase.Queued).map(({ pool }) => pool);
  return placesIn(await publishedLines([...new Set(pools)], context), rows);
}

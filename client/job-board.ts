import { JobPhase } from '../domain/job-state.js';
import type { WaitingLine } from '../quota/waiting-line.js';
import type { JobClient } from './job-client.js';
import { PAGE, isCountable, type JobFilter } from './job-query.js';
import type { JobRow, ShownPhase } from './job-rows.js';

export type Sort = 'board' | 'submitted' | 'ended' | 'name' | 'user' | 'project' | 'chips';

/** Jobs of one phase. `chips` is absent if the jobs were only counted. */
export interface PhaseTotal {
  readonly jobs: number;
  readonly chips?: number;
}

/** A board: a team's jobs, with totals and places in line. */
export interface Board {
  /** In the board's order, at most as many as were asked for. */
  readonly rows: readonly JobRow[];
  /** The number of matching jobs, regardless of the limit. */
  readonly total: number;
  readonly open: number;
  /** In the order of the board; phases without jobs are absent. */
  readonly phases: ReadonlyMap<ShownPhase, PhaseTotal>;
  /** The places of queued jobs, as their pools last published them. */
  readonly lines: readonly WaitingLine[];
}

export interface BoardOptions {
  readonly limit: number;
  readonly sort?: Sort;
  /** Returns the waiting lines of those pools that are known. */
  readonly linesOf: (pools: readonly string[]) => Promise<readonly WaitingLine[]>;
}

type Jobs = Pick<JobClient, 'find' | 'count'>;

/**
 * Jobs in the order of a board (`inBoardOrder`). Temporal orders by time alone, so up to 1,000 jobs are read at once and put in
 * order here: one count and one query. If there are more, only the jobs that can appear in each part of the board are read and
 * the rest is counted, so the number of calls does not grow with the number of jobs (docs/adr/0060). Other orders need every
 * matching job.
 */
export async function gatherBoard(jobs: Jobs, filter: JobFilter, options: BoardOptions): Promise<Board> {
  const counts = await jobs.count(filter);
  const isSmall = counts.total <= PAGE;
  if (!isSmall && isCountable(filter) && (options.sort ?? 'board') === 'board')
    return partsOf(jobs, filter, counts, options);
  return wholeOf(await jobs.find(filter), options);
}

async function wholeOf(found: readonly JobRow[], { limit, sort = 'board', linesOf }: BoardOptions): Promise<Board> {
  const lines = await linesOf(poolsOf(found.filter(isQueued)));
  const rows = sort === 'board' ? inBoardOrder(found, lines) : found.toSorted(BY[sort]);
  const open = found.filter(({ endedAt }) => endedAt === undefined).length;
  return { rows: rows.slice(0, limit), total: found.length, open, phases: totalsOf(found), lines };
}

async function partsOf(
  jobs: Jobs,
  filter: JobFilter,
  { total, open, ended }: Awaited<ReturnType<Jobs['count']>>,
  { limit, linesOf }: BoardOptions,
): Promise<Board> {
  const [active, newest, last] = await Promise.all([
    jobs.find(narrowed(filter, ACTIVE)),
    // Jobs that were submitted since the pool was last published.
    jobs.find(narrowed(filter, [JobPhase.Queued]), limit),
    jobs.find({ ...filter, state: 'ended' }, limit),
  ]);
  const lines = await linesOf(poolsOf(newest));
  const isAllQueued = newest.length < limit;
  const front = isAllQueued ? [] : await frontOf(jobs, filter, lines, limit - active.length);
  const rows = inBoardOrder(onceEach([...active, ...front, ...newest, ...last]), lines).slice(0, limit);
  const queued = open - active.length;
  const phases = new Map<ShownPhase, PhaseTotal>([
    ...totalsOf(active),
    ...(queued > 0 ? [[JobPhase.Queued, { jobs: queued }] as const] : []),
    ...Object.entries(ended).map(([phase, number]) => [phase as ShownPhase, { jobs: number }] as const),
  ]);
  return { rows, total, open, phases: inPhaseOrder(phases), lines };
}

/** The first queued jobs in the order of service. Without a published line all queued jobs: Temporal lists the oldest last. */
async function frontOf(
  jobs: Jobs,
  filter: JobFilter,
  lines: readonly WaitingLine[],
  most: number,
): Promise<readonly JobRow[]> {
  if (lines.length === 0) return most <= 0 ? [] : jobs.find(narrowed(filter, [JobPhase.Queued]));
  const ids = idsInLine(lines);
  const front: JobRow[] = [];
  // A filter may match only a part of the line.
  for (let from = 0; from < ids.length && front.length < most; from += MOST_IDS)
    front.push(...(await jobs.find({ ...narrowed(filter, [JobPhase.Queued]), ids: ids.slice(from, from + MOST_IDS) })));
  return front;
}

/** The most ids of one query: about 30 kB. */
const MOST_IDS = 500;

/** Sorted by position, so that the heads of all pools come first. */
const idsInLine = (lines: readonly WaitingLine[]): readonly string[] =>
  lines
    .flatMap(({ rows }) => rows.map(([job], index) => ({ job, index })))
    .toSorted((a, b) => a.index - b.index)
    .map(({ job }) => job);

function narrowed(filter: JobFilter, phases: readonly ShownPhase[]): JobFilter {
  const { phase } = filter;
  if (phase === undefined) return { ...filter, state: 'open', phase: phases };
  const wanted = typeof phase === 'string' ? [phase] : phase;
  const left = phases.filter((each) => wanted.includes(each));
  return left.length === 0 ? { ...filter, ids: [] } : { ...filter, state: 'open', phase: left };
}

// Order --------------------------------------------------------------------------------------------------------------

/** Phases that hold chips or make progress come first; a `released` job holds and requests nothing. */
const PHASE_ORDER: readonly ShownPhase[] = [
  'running',
  'finishing',
  'setting-up',
  'provisioning',
  'evicting',
  'holding',
  'paused',
  'queued',
  'released',
  'succeeded',
  'failed',
  'cancelled',
  'terminated',
];
/** All phases of an open job except `queued`, the only one without a bound on its jobs. */
const ACTIVE: readonly ShownPhase[] = PHASE_ORDER.slice(0, PHASE_ORDER.indexOf('succeeded')).filter(
  (phase) => phase !== 'queued',
);

/**
 * Sorts jobs by `PHASE_ORDER` (running first), queued jobs by their place in line, and ended jobs last, the latest first. A
 * queued job without a place (submitted a moment ago) comes after those that have one. The order of `rows` makes no difference.
 */
export function inBoardOrder(rows: readonly JobRow[], lines: readonly WaitingLine[]): readonly JobRow[] {
  const places = new Map(lines.flatMap(({ rows: line }) => line.map(([job], index) => [job, index] as const)));
  const place = (row: JobRow): number => (isQueued(row) ? (places.get(row.id) ?? Infinity) : 0);
  return rows.toSorted(
    (a, b) =>
      groupOf(a) - groupOf(b) ||
      (b.endedAt ?? 0) - (a.endedAt ?? 0) ||
      comparePlaces(place(a), place(b)) ||
      (isQueued(a) ? a.submittedAt - b.submittedAt : b.submittedAt - a.submittedAt) ||
      byId(a, b),
  );
}

/** Compares without subtracting infinities, which gives NaN. */
const comparePlaces = (a: number, b: number): number => (a === b ? 0 : a - b);
const groupOf = ({ phase, endedAt }: JobRow): number =>
  endedAt === undefined ? PHASE_ORDER.indexOf(phase) : PHASE_ORDER.length;
const isQueued = ({ phase, endedAt }: JobRow): boolean => phase === JobPhase.Queued && endedAt === undefined;
const byId = (a: JobRow, b: JobRow): number => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Times and chips sort in descending order. */
const BY: Readonly<Record<Exclude<Sort, 'board'>, (a: JobRow, b: JobRow) => number>> = {
  submitted: (a, b) => b.submittedAt - a.submittedAt || byId(a, b),
  ended: (a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0) || byId(a, b),
  name: byId,
  user: (a, b) => byText(a.user, b.user) || byId(a, b),
  project: (a, b) => byText(a.project, b.project) || byId(a, b),
  chips: (a, b) => (b.chips ?? 0) - (a.chips ?? 0) || byId(a, b),
};

// Totals -------------------------------------------------------------------------------------------------------------

function totalsOf(rows: readonly JobRow[]): ReadonlyMap<ShownPhase, PhaseTotal> {
  const totals = new Map<ShownPhase, PhaseTotal>();
  for (const { phase, chips = 0 } of rows) {
    const before = totals.get(phase);
    totals.set(phase, { jobs: (before?.jobs ?? 0) + 1, chips: (before?.chips ?? 0) + chips });
  }
  return inPhaseOrder(totals);
}

const inPhaseOrder = (totals: ReadonlyMap<ShownPhase, PhaseTotal>): ReadonlyMap<ShownPhase, PhaseTotal> =>
  new Map([...totals].toSorted(([a], [b]) => PHASE_ORDER.indexOf(a) - PHASE_ORDER.indexOf(b)));

const poolsOf = (rows: readonly JobRow[]): readonly string[] => [...new Set(rows.map(({ pool }) => pool))];
const onceEach = (rows: readonly JobRow[]): readonly JobRow[] => [
  ...new Map(rows.map((row) => [row.id, row])).values(),
];

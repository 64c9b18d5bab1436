import { count, type EpochMs, formatUnits } from '../../../domain/units.js';
import { chipHolders, userShares, type ChipHolder, type UserShare } from '../../../quota/chip-holders.js';
import { type ContextFlags, resolveContext, type CliContext, storeOf } from '../../place/context.js';
import { ExitCode, CliError } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { lookOf, type Look, renderOneLineTable } from '../../terminal/render/look.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { printOut } from '../../terminal/print.js';
import { userColumn } from '../../terminal/render/job-phrases.js';
import { readPoolState } from '../../../client/pool-state.js';
import { type PoolSnapshot, capacityOf, type CapacityState } from '../../../quota/published-state.js';
import { openReader } from '../../place/connect.js';
import { terminalWidth, oneLine, renderTable } from '../../terminal/render/columns.js';
import type { CapacityRow } from '../../../quota/seen-capacity.js';

/** Verbs that show a pool as it was last published: `top` and `capacity`. */

export interface TopFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
  readonly limit: number;
}

/** Shows the holders of a pool's chips, as last published: one read of the bucket, and no workflow is asked. */
export async function top(flags: TopFlags): Promise<number> {
  const { pool, at, view } = await publishedPool(resolveContext(flags), flags.pool);
  const [holders, users] = [chipHolders(view), userShares(view)];
  const now = Date.now();
  const look = lookOf(process.stdout, process.env);
  const chips = holders.reduce((sum, each) => sum + (each.chips ?? 0), 0);
  const head = `pool ${pool}: ${count(chips, 'chip')} with ${count(holders.length, 'job')}, ${count(view.requests.length, 'job')} waiting, as of ${formatDuration(now - at)} ago`;
  const text =
    flags.output === 'json'
      ? JSON.stringify({ pool, at, ageMs: Math.max(0, now - at), users, jobs: holders }, null, 2)
      : [
          head,
          ...(users.length === 0 ? [] : ['', ...shareLines(users, look)]),
          '',
          ...holderLines(holders, now, look, flags.limit),
        ].join('\n');
  printOut(`${text}\n`);
  return ExitCode.Done;
}

/** Renders one line per job. @param most rows; a last line counts the others */
export function holderLines(
  holders: readonly ChipHolder[],
  now: EpochMs,
  look: Look,
  most = Infinity,
): readonly string[] {
  if (holders.length === 0) return ['no job holds chips'];
  const columns = [
    { title: 'JOB', cell: ({ job }: ChipHolder) => job },
    userColumn(holders),
    { title: 'PROJECT', cell: ({ project }: ChipHolder) => project, droppedBelow: 6 },
    { title: 'CHIPS', cell: ({ chips }: ChipHolder) => String(chips ?? '-') },
    { title: 'UNITS', cell: ({ units }: ChipHolder) => formatUnits(units), droppedBelow: 10 },
    { title: 'TIER', cell: ({ tier }: ChipHolder) => String(tier + 1), droppedBelow: 11 },
    { title: 'PRIORITY', cell: ({ priority }: ChipHolder) => String(priority), droppedBelow: 12 },
    { title: 'FOR', cell: ({ since }: ChipHolder) => formatDuration(now - since) },
    { title: 'LEASE', cell: ({ state, isBorrowing }: ChipHolder) => (isBorrowing ? `${state}, borrowed` : state) },
  ];
  const more = holders.length - most;
  return [
    ...renderOneLineTable({ columns, rows: holders.slice(0, most) }, look),
    ...(more > 0 ? [`.. and ${count(more, 'job')} more`] : []),
  ];
}

/** Renders one line per user and project. */
export function shareLines(shares: readonly UserShare[], look: Look): readonly string[] {
  const columns = [
    userColumn(shares),
    { title: 'PROJECT', cell: ({ project }: UserShare) => project },
    { title: 'CHIPS', cell: ({ chips }: UserShare) => String(chips) },
    { title: 'BORROWED', cell: ({ borrowed }: UserShare) => String(borrowed) },
    { title: 'JOBS', cell: ({ jobs }: UserShare) => String(jobs) },
    { title: 'WAITING', cell: waitingText },
  ];
  return renderOneLineTable({ columns, rows: shares }, look);
}

const waitingText = ({ waitingJobs, waitingChips }: UserShare): string =>
  waitingJobs === 0 ? '-' : `${count(waitingJobs, 'job')}, ${count(waitingChips, 'chip')}`;

/** @throws CliError if no bucket is known, or the pool was never published */
export async function publishedPool(context: CliContext, pool: string): Promise<PoolSnapshot> {
  const store = storeOf(context, `nothing is known of pool '${pool}'`);
  const state = await readPoolState(await openReader(store), pool);
  if (state) return state;
  throw new CliError(
    ExitCode.NotFound,
    `no pool '${pool}' ${'server' in store ? `on ${store.server.url}` : `in bucket ${store.bucket}`}: nothing was published of it`,
    'a pool is published by a worker, from its first job on, or from `jobctl quota apply`',
    `is it another pool (--pool), or another ${'server' in store ? 'server' : 'bucket (--bucket)'}?`,
  );
}

export interface CapacityFlags extends ContextFlags, OutputFlag {
  readonly pool: string;
}

/** Shows the capacity that a pool's jobs have seen. It reads one object of the bucket and needs neither Temporal nor a worker. */
export async function capacity(flags: CapacityFlags): Promise<number> {
  const state = await publishedPool(resolveContext(flags), flags.pool);
  const now = Date.now();
  const text =
    flags.output === 'json'
      ? JSON.stringify({ ...capacityOf(state), ageMs: Math.max(0, now - state.at) }, null, 2)
      : renderCapacity(state, now, terminalWidth(process.stdout)).join('\n');
  printOut(`${text}\n`);
  return ExitCode.Done;
}

/** Renders `jobctl capacity`: capacity that a pool's jobs have seen, as last published. */
export function renderCapacity(state: CapacityState, now: EpochMs, width?: number): readonly string[] {
  const { pool, at, zones, rows } = capacityOf(state);
  const unseen = zones.filter((zone) => !rows.some((row) => row.zone === zone));
  const head = `pool ${pool}: seen by its jobs, as of ${formatDuration(now - at)} ago; no promise`;
  const none = rows.length === 0 ? ['', '  nothing yet: a row comes with the first request for a Cloud TPU slice'] : [];
  return [
    head,
    ...none,
    ...(rows.length === 0 ? [] : ['', ...renderTable([TITLES, ...rows.map((row) => cellsOf(row, now))], width)]),
    ...refusalLines(rows, now),
    ...(unseen.length === 0 ? [] : ['', `  nothing seen in: ${oneLine(unseen.join(', '))}`]),
  ];
}

const TITLES = ['  ZONE', 'TYPE', 'PRICING', 'ASKED', 'GOT', 'WAIT', 'WAITING NOW', 'PREEMPTED', 'SEEN'];

function cellsOf(row: CapacityRow, now: EpochMs): readonly string[] {
  const { zone, accelerator, pricing, asked, got, medianWaitMs, seenAt } = row;
  return [
    ...[`  ${zone}`, accelerator, pricing, String(asked), String(got)],
    medianWaitMs === undefined ? '-' : formatDuration(medianWaitMs),
    gangsWaitingText(row, now),
    preemptedText(row),
    `${formatDuration(now - seenAt)} ago`,
  ];
}

const gangsWaitingText = ({ waiting, waitingSince }: CapacityRow, now: EpochMs): string =>
  waitingSince === undefined ? '-' : `${waiting}, for ${formatDuration(now - waitingSince)}`;

/** Preemptions per slice-hour. For very few hours a rate means nothing, so the number of preemptions is shown. */
function preemptedText({ sliceHours, preempted }: CapacityRow): string {
  if (sliceHours < LEAST_HOURS)
    return preempted === 0 ? '-' : `${Math.max(1, Math.round(preempted))} in under ${LEAST_HOURS} h`;
  const rate = preempted / sliceHours;
  return rate === 0 ? `0 in ${Math.round(sliceHours * 10) / 10} h` : `${rate.toFixed(2)}/h`;
}

const LEAST_HOURS = 0.1;

function refusalLines(rows: readonly CapacityRow[], now: EpochMs): readonly string[] {
  const lines = rows.flatMap(({ zone, accelerator, pricing, refusal }) =>
    refusal === undefined
      ? []
      : [
          `  ${oneLine(`${zone} ${accelerator} ${pricing}: ${refusal.text}`)} (${formatDuration(now - refusal.at)} ago)`,
        ],
  );
  return lines.length === 0 ? [] : ['', '  REFUSED LAST', ...lines];
}

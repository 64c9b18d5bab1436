import { count, type EpochMs, formatUnits } from '../../../domain/units.js';
import { chipHolders, userShares, type ChipHolder, type UserShare } from '../../../quota/chip-holders.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { publishedPool } from '../quota/published-pool.js';
import { lookOf, type Look, renderOneLineTable } from '../../terminal/render/look.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { printOut } from '../../terminal/print.js';
import { userColumn } from '../../terminal/render/job-phrases.js';

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

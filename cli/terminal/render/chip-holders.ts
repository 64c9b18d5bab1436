import { count, type EpochMs, formatUnits } from '../../../domain/units.js';
import type { ChipHolder, UserShare } from '../../../quota/chip-holders.js';
import type { Look } from './look.js';
import { renderOneLineTable } from './one-line-table.js';
import { userColumn } from './job-phrases.js';
import { formatDuration } from './quantities.js';

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

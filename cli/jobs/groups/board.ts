import type { JobClient } from '../../../client/job-client.js';
import type { GroupRow } from '../../../client/group-rows.js';
import type { JobFilter } from '../../../client/job-query.js';
import { countsText } from '../../../domain/array/group-state.js';
import { count, type EpochMs } from '../../../domain/units.js';
import { userColumn } from '../../terminal/render/job-phrases.js';
import { type Look, renderOneLineTable } from '../../terminal/render/look.js';
import { formatDuration } from '../../terminal/render/quantities.js';

/** Most ended groups that people are shown: their members stand below. */
const MOST_ENDED = 10;

/** The groups of a board, by one call. Those that have not begun are `queued`; in other phases are only jobs. */
export async function groupsOfBoard(
  client: Pick<JobClient, 'groups'>,
  filter: JobFilter,
  most: number,
): Promise<readonly GroupRow[]> {
  const { phase, state: _, ...own } = filter;
  if (phase !== undefined && !phase.includes('queued')) return [];
  const found = await client.groups(own, most);
  return phase === undefined ? found : found.filter(isUnbegun);
}

const isUnbegun = ({ endedAt, awaited, counts, members }: GroupRow): boolean =>
  endedAt === undefined && (awaited !== undefined || (counts?.['waiting'] ?? members) === members);

/** The groups above the jobs of `jobctl list`: open ones, and the last that ended. Empty if there is none. */
export function groupLines(groups: readonly GroupRow[], now: EpochMs, look: Look): readonly string[] {
  const open = groups.filter(({ endedAt }) => endedAt === undefined);
  const ended = groups.filter(({ endedAt }) => endedAt !== undefined);
  const rows = [...open, ...ended.slice(0, MOST_ENDED)];
  if (rows.length === 0) return [];
  const columns = [
    { title: 'GROUP', cell: ({ id }: GroupRow) => id },
    { title: 'PROJECT', cell: ({ project }: GroupRow) => project, droppedBelow: 26 },
    { ...userColumn<GroupRow>(rows), droppedBelow: 12 },
    { title: 'JOBS', cell: ({ members }: GroupRow) => String(members) },
    {
      title: 'TIME',
      cell: ({ submittedAt, endedAt = now }: GroupRow) => formatDuration(endedAt - submittedAt),
      droppedBelow: 18,
    },
    { title: 'MEMBERS', cell: (row: GroupRow) => stateText(row, now) },
  ];
  const left = groups.length - rows.length;
  const more = left === 0 ? [] : [`.. and ${count(left, 'group')} that ended before: \`--output json\` has all`];
  return [...renderOneLineTable({ columns, rows }, look), ...more, ''];
}

/** The state of a group, from its row alone: `waits for prep-7f3k to succeed`, `2h 10m ago: 10 succeeded, 2 failed`. */
export function stateText({ counts, awaited, stopped, endedAt, end }: GroupRow, now: EpochMs): string {
  if (awaited !== undefined && stopped === undefined) return `waits for ${awaited}`;
  const held = stopped === undefined ? '' : `stopped by ${stopped}: `;
  const last = counts === undefined ? '' : `${held}${countsText(counts)}`;
  if (endedAt === undefined) return last === '' ? 'not begun: no worker has taken it yet' : last;
  return `${formatDuration(now - endedAt)} ago: ${end === undefined ? last : endText(end, last)}`;
}

const endText = (end: NonNullable<GroupRow['end']>, last: string): string =>
  end === 'refused' ? 'its input was refused' : `ended in Temporal from outside${last === '' ? '' : `, last ${last}`}`;

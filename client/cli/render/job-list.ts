import type { JobPage, JobRow } from '../../job-rows.js';
import type { EpochMs } from '../../../domain/units.js';
import { failingText } from './failing-task.js';
import { formatDuration } from './quantities.js';
import { count, reasonOf } from './job-header.js';
import type { PlaceInLine } from '../../../quota/waiting-line.js';
import { ordinal } from '../../../quota/explanation/explain-words.js';
import type { Places } from '../quota/places.js';
import { oneLine, renderTable } from './columns.js';

const TITLES = ['JOB', 'PROJECT', 'USER', 'SLICE', 'PHASE', 'FOR', 'TRIES', 'WHY'];

/**
 * `jobctl list`. Rows with a label (REHEARSAL) have it in a column of its own, and a first line that says what it means:
 * nobody is to take them for real.
 * @param places of those that are queued
 * @param width of the terminal; absent in a pipe
 */
export function renderJobList(
  { rows, total, open }: JobPage,
  { byJob, missing }: Places,
  now: EpochMs,
  width?: number,
): readonly string[] {
  if (rows.length === 0) return ['no jobs'];
  const labels = [...new Set(rows.flatMap(({ label }) => label ?? []))];
  const isLabelled = labels.length > 0;
  const titles = isLabelled ? TITLES.toSpliced(1, 0, 'LABEL') : TITLES;
  const cells = rows.map((row) => {
    const own = rowCells(row, byJob.get(row.id), now);
    return isLabelled ? own.toSpliced(1, 0, row.label ?? '-') : own;
  });
  return [
    ...labels.map((label) => `${label}: rows so labelled did not run on real Cloud TPUs`),
    ...renderTable([titles, ...cells], width),
    totals(rows, total, open),
    ...(missing === undefined ? [] : [`places in line are not known: ${oneLine(missing)}`]),
  ];
}

/** How many run is known of the rows that are shown; of the others only how many have not ended. */
function totals(rows: readonly JobRow[], total: number, open: number): string {
  const running = rows.filter(({ phase }) => phase === 'running').length;
  const last = rows.length === total ? `${running} running` : `${open} of all not ended (--limit shows more)`;
  return `${rows.length} of ${count(total, 'job')}, ${last}`;
}

function rowCells(row: JobRow, place: PlaceInLine | undefined, now: EpochMs): string[] {
  const { id, project, user, slice, phase, phaseSince, submittedAt, endedAt, attempts } = row;
  // Of an ended job: how long it took.
  const lasted = endedAt === undefined ? now - phaseSince : endedAt - submittedAt;
  const where = place === undefined ? phase : `${phase} (${ordinal(place.position)})`;
  const why = place === undefined ? reasonOf(row) : oneLine(place.why);
  const standing = row.failingTask === undefined ? why : failingText(row.failingTask, now);
  return [id, project, user, slice, where, formatDuration(lasted), String(attempts), standing];
}

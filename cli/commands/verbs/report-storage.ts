import { ownersOf, storageOf } from '../../../client/stored.js';
import { type StorageGrouping, type StorageRow, totalOf, UNKNOWN_OWNER } from '../../../domain/counted/storage.js';
import { count } from '../../../domain/units.js';
import { openReader } from '../../place/connect.js';
import { bucketOf, type ContextFlags, resolveContext } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import { printErr, printOut } from '../../terminal/print.js';
import { oneLine, renderTable, terminalWidth } from '../../terminal/render/columns.js';
import { formatDuration, sizeText } from '../../terminal/render/quantities.js';
import { csvLines } from '../../terminal/render/report.js';

export interface ReportStorageFlags extends ContextFlags {
  readonly by: StorageGrouping;
  readonly project?: string;
  readonly user?: string;
  readonly pool?: string;
  readonly limit: number;
  readonly output: 'table' | 'csv' | 'json';
}

/** Pages of a listing between two lines that say how far it is. */
const PAGES_A_LINE = 50;

export async function reportStorage(flags: ReportStorageFlags): Promise<number> {
  const { by, project, user, pool, limit, output } = flags;
  const context = resolveContext(flags);
  const place = bucketOf(context, 'nothing can be listed');
  const store = await openReader(place);
  let pages = 0;
  const sums = await storageOf(store, (objects) => {
    if (++pages % PAGES_A_LINE === 0 && process.stderr.isTTY) printErr(`${objects} objects so far ..\n`);
  });
  // Owners are not read for nothing.
  const needsOwners = (by !== 'job' && by !== 'part') || [project, user, pool].some((value) => value !== undefined);
  const owners = needsOwners ? await ownersOf(store, sums.jobs) : undefined;
  const rows = sums.rows(by, (job) => owners?.get(job), { project, user, pool });
  const now = Date.now();
  switch (output) {
    case 'json':
      printOut(`${JSON.stringify({ bucket: place.bucket, by, at: now, rows, total: totalOf(rows) }, null, 2)}\n`);
      break;
    case 'csv':
      printOut(storageCsv(rows, by));
      break;
    case 'table':
      printOut(
        `${[`${context.label === undefined ? '' : `${context.label}: `}storage by ${by}, in ${place.bucket}`, '', ...storageTable(rows, by, { limit, now })].join('\n')}\n`,
      );
  }
  return ExitCode.Done;
}

function storageTable(
  rows: readonly StorageRow[],
  by: StorageGrouping,
  { limit, now }: { readonly limit: number; readonly now: number },
): readonly string[] {
  const total = totalOf(rows);
  if (total === undefined) return ['  nothing is stored'];
  const cells = ({ key, jobs, objects, bytes, oldest, newest }: StorageRow): readonly string[] => [
    ...[oneLine(key), ...(by === 'job' ? [] : [jobs === 0 ? '-' : String(jobs)]), String(objects), sizeText(bytes)],
    ...[oldest, newest].map((at) => formatDuration(now - at)),
  ];
  const head = [by.toUpperCase(), ...(by === 'job' ? [] : ['JOBS']), 'OBJECTS', 'SIZE', 'OLDEST', 'NEWEST'];
  // Jobs of a sum by part stand in several rows.
  const jobs = by === 'part' ? 0 : rows.reduce((sum, row) => sum + row.jobs, 0);
  const hidden = rows.length - limit;
  const lines = renderTable(
    [head, ...rows.slice(0, limit).map(cells), ...(rows.length > 1 ? [cells({ key: 'total', jobs, ...total })] : [])],
    terminalWidth(process.stdout),
  );
  const notes = [
    ...(hidden > 0 ? [`${count(hidden, 'smaller row')} not shown: --limit, or -o csv`] : []),
    ...(rows.some(({ key }) => key === UNKNOWN_OWNER)
      ? [`${UNKNOWN_OWNER}: jobs without a record of their owner, as after a refused submit`]
      : []),
    ...(rows.some(({ key }) => key === '(uploads)' || key === 'uploads')
      ? ['uploads: bundles and files of submitters, kept once for all jobs that have the same content']
      : []),
  ];
  return [...lines, ...(notes.length > 0 ? ['', ...notes.map((note) => `  ${note}`)] : [])];
}

function storageCsv(rows: readonly StorageRow[], by: StorageGrouping): string {
  const day = (at: number): string => new Date(at).toISOString();
  return csvLines(
    [by, 'jobs', 'objects', 'bytes', 'oldest', 'newest'],
    rows.map(({ key, jobs, objects, bytes, oldest, newest }) => [
      ...[key, jobs, objects, bytes],
      ...[oldest, newest].map(day),
    ]),
  );
}

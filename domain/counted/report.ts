import { utcDay } from '../units.js';
import type { JobRecord } from './record.js';
import { addParts, NO_PARTS, type Parts } from './usage.js';

/** The person, project and pool that a job counts for. */
export type Owner = Pick<JobRecord, 'project' | 'user' | 'pool'>;

/** The fields by which jobs are grouped. */
export const GROUPINGS = ['project', 'user', 'pool', 'accelerator', 'zone', 'day'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** Sums over the jobs of one group that count the same unit: chips and hosts do not add up. Times in chip-seconds. */
export interface ReportRow {
  readonly key: string;
  readonly unit: 'chip' | 'host';
  readonly jobs: number;
  /** The number of these jobs that have not ended. */
  readonly open: number;
  readonly preemptions: number;
  /** Chips (or hosts) that these jobs asked for, each job once. */
  readonly asked: number;
  /** Number of these jobs that ended before their command ever ran. */
  readonly unstarted: number;
  readonly parts: Parts;
  readonly charged: number;
  /** Absent: nothing has a price. */
  readonly usd?: number;
  /** Charged time without a price. */
  readonly unpriced: number;
  /** Charged time of jobs in which lost work would not be seen. */
  readonly lostUnknown: number;
}

/** Rows, and what limits them. */
export interface Report {
  readonly rows: readonly ReportRow[];
  /** Number of jobs that used nothing real. */
  readonly rehearsed: number;
  /** Number of jobs of which slices are not seen gone. */
  readonly leaving: number;
  /** Sources of the prices, with their dates. */
  readonly prices: readonly string[];
}

export const reportOf = (records: readonly JobRecord[], by: Grouping): Report => ({
  rows: reportRows(records, by),
  rehearsed: records.filter(({ label }) => label !== undefined).length,
  leaving: records.filter(({ leaving }) => leaving !== undefined).length,
  prices: [...new Set(records.flatMap(({ prices = [] }) => prices))].toSorted(),
});

/** Two reports by the same grouping as one. */
export function joined(a: Report, b: Report, by: Grouping): Report {
  const rows = new Map<string, ReportRow>();
  for (const { key, ...row } of [...a.rows, ...b.rows]) addRow(rows, key, row);
  return {
    rows: inOrder([...rows.values()], by),
    rehearsed: a.rehearsed + b.rehearsed,
    leaving: a.leaving + b.leaving,
    prices: [...new Set([...a.prices, ...b.prices])].toSorted(),
  };
}

function addRow(rows: Map<string, ReportRow>, key: string, row: Omit<ReportRow, 'key'>): void {
  const id = `${row.unit} ${key}`;
  const before = rows.get(id);
  rows.set(id, before === undefined ? { key, ...row } : { key, ...sumRows(before, row) });
}

const inOrder = (rows: readonly ReportRow[], by: Grouping): readonly ReportRow[] =>
  rows.toSorted((a, b) => (by === 'day' ? 0 : b.charged - a.charged) || compare(a.key, b.key));

/** Groups records. `zone`: the charged time and its cost count where they were, the rest where most of the job was. */
export function reportRows(records: readonly JobRecord[], by: Grouping): readonly ReportRow[] {
  const rows = new Map<string, ReportRow>();
  const add = (key: string, row: Omit<ReportRow, 'key'>): void => addRow(rows, key, row);
  for (const record of records) {
    if (by !== 'zone' || record.places.length === 0) {
      add(keyOf(record, by), rowOf(record));
      continue;
    }
    const { charged: _, usd: __, unpriced: ___, ...rest } = rowOf(record);
    add(record.zone, { ...rest, charged: 0, unpriced: 0 });
    for (const { zone, charged, usd } of record.places)
      add(zone, {
        ...{ unit: record.unit, jobs: 0, open: 0, preemptions: 0, asked: 0, unstarted: 0 },
        ...{ parts: NO_PARTS, charged, lostUnknown: 0 },
        ...(usd === undefined ? { unpriced: charged } : { usd, unpriced: 0 }),
      });
  }
  return inOrder([...rows.values()], by);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function keyOf(record: JobRecord, by: Grouping): string {
  return by === 'day' ? utcDay(record.endedAt) : record[by];
}

const rowOf = (record: JobRecord): Omit<ReportRow, 'key'> => ({
  unit: record.unit,
  jobs: 1,
  open: record.result === 'open' ? 1 : 0,
  preemptions: record.preemptions,
  asked: record.count,
  unstarted: record.startedAt === undefined && record.result !== 'open' ? 1 : 0,
  parts: record.parts,
  charged: record.charged,
  ...(record.usd !== undefined && { usd: record.usd }),
  unpriced: record.unpriced ?? 0,
  lostUnknown: record.lost === 'unknown' ? record.charged : 0,
});

function sumRows(a: Omit<ReportRow, 'key'>, b: Omit<ReportRow, 'key'>): Omit<ReportRow, 'key'> {
  const usd = a.usd === undefined ? b.usd : a.usd + (b.usd ?? 0);
  return {
    unit: a.unit,
    jobs: a.jobs + b.jobs,
    open: a.open + b.open,
    preemptions: a.preemptions + b.preemptions,
    asked: a.asked + b.asked,
    unstarted: a.unstarted + b.unstarted,
    parts: addParts(a.parts, b.parts),
    charged: a.charged + b.charged,
    ...(usd !== undefined && { usd }),
    unpriced: a.unpriced + b.unpriced,
    lostUnknown: a.lostUnknown + b.lostUnknown,
  };
}

/** Sums of all rows, one for each unit that there is. */
export function totals(rows: readonly ReportRow[]): readonly ReportRow[] {
  return (['chip', 'host'] as const).flatMap((unit) => {
    const [first, ...rest] = rows.filter((row) => row.unit === unit);
    if (first === undefined) return [];
    return [{ key: 'total', ...rest.reduce<Omit<ReportRow, 'key'>>(sumRows, first) }];
  });
}

/** The share of paid chip-time that was useful, from 0 to 1; undefined: nothing was paid. */
export const goodputOf = ({ parts, charged }: Pick<ReportRow, 'parts' | 'charged'>): number | undefined =>
  charged > 0 ? parts.useful / charged : undefined;

/**
 * Mean time from the lease of a chip to the chip, in seconds, over the chips that were asked for. Undefined: none was. Waits for
 * slices in the place of lost ones are not in it: they are part of `restart`.
 */
export const meanWaitOf = ({ parts, asked }: Pick<ReportRow, 'parts' | 'asked'>): number | undefined =>
  asked > 0 ? parts.waiting / asked : undefined;

/** Whether a record is of the project, user and pool that are asked for. */
export const isIn = (
  record: Owner,
  { project, user, pool }: Partial<{ readonly [Key in keyof Owner]: Owner[Key] | undefined }>,
): boolean =>
  (project === undefined || record.project === project) &&
  (user === undefined || record.user === user) &&
  (pool === undefined || record.pool === pool);

import type { JobRecord } from './record.js';
import { addParts, NO_PARTS, type Parts } from './usage.js';

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
  readonly parts: Parts;
  readonly charged: number;
  /** Absent: nothing has a price. */
  readonly usd?: number;
  /** Charged time without a price. */
  readonly unpriced: number;
  /** Charged time of jobs in which lost work would not be seen. */
  readonly lostUnknown: number;
}

/** Groups records. `zone`: the charged time and its cost count where they were, the rest where most of the job was. */
export function reportRows(records: readonly JobRecord[], by: Grouping): readonly ReportRow[] {
  const rows = new Map<string, ReportRow>();
  const add = (key: string, row: Omit<ReportRow, 'key'>): void => {
    const id = `${row.unit} ${key}`;
    const before = rows.get(id);
    rows.set(id, before === undefined ? { key, ...row } : { key, ...sumRows(before, row) });
  };
  for (const record of records) {
    if (by !== 'zone' || record.places.length === 0) {
      add(keyOf(record, by), rowOf(record));
      continue;
    }
    const { charged: _, usd: __, unpriced: ___, ...rest } = rowOf(record);
    add(record.zone, { ...rest, charged: 0, unpriced: 0 });
    for (const { zone, charged, usd } of record.places)
      add(zone, {
        ...{ unit: record.unit, jobs: 0, open: 0, preemptions: 0, parts: NO_PARTS, charged, lostUnknown: 0 },
        ...(usd === undefined ? { unpriced: charged } : { usd, unpriced: 0 }),
      });
  }
  const all = [...rows.values()];
  return by === 'day'
    ? all.toSorted((a, b) => compare(a.key, b.key))
    : all.toSorted((a, b) => b.charged - a.charged || compare(a.key, b.key));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function keyOf(record: JobRecord, by: Grouping): string {
  return by === 'day' ? new Date(record.endedAt).toISOString().slice(0, 10) : record[by];
}

const rowOf = (record: JobRecord): Omit<ReportRow, 'key'> => ({
  unit: record.unit,
  jobs: 1,
  open: record.result === 'open' ? 1 : 0,
  preemptions: record.preemptions,
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

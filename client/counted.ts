import type { StoreReader } from '../cloud/store/port.js';
import { type GoneMark, type JobRecord, onceEach, readRecord, recordOf, settled } from '../domain/counted/record.js';
import type { Grouping } from '../domain/counted/report.js';
import { eachOf } from '../domain/semaphore.js';
import { goneMarkObject, reportPlace, reportDayPrefix, REPORTS_PREFIX, usageObject } from '../domain/store-layout.js';
import { type EpochMs, utcDay } from '../domain/units.js';
import type { JobView } from '../contract/job.js';
import type { AnswerOf } from '../contract/operations.js';
import { ServerCalls } from './http/server-calls.js';
import type { ServerOptions } from './http/server-options.js';
import type { JobRow } from './job-rows.js';

const READS_AT_A_TIME = 32;

interface DayFiles {
  /** Each job and run once, those that ended at `from` or later. */
  readonly records: readonly JobRecord[];
  /** Lines that this version cannot read. */
  readonly unreadable: number;
}

/** Reads the day files of jobs that ended since `from` (docs/counted.md). */
export async function readDayFiles(store: StoreReader, from: EpochMs): Promise<DayFiles> {
  const objects = await store.list(REPORTS_PREFIX, reportDayPrefix(utcDay(from)));
  const names = objects.map(({ name }) => name).filter((name) => reportPlace(name) !== undefined);
  const found: JobRecord[] = [];
  let unreadable = 0;
  await eachOf(names, READS_AT_A_TIME, async (name) => {
    const text = (await store.read(name))?.toString('utf8') ?? '';
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const record = readRecord(line);
      if (record === undefined) unreadable += 1;
      else if (record.endedAt >= from) found.push(record);
    }
  });
  return { records: onceEach(found), unreadable };
}

/** The account of an ended job, or undefined if the store has none: it ended under an earlier build, or was deleted. */
export async function readUsage(store: StoreReader, job: string): Promise<JobRecord | undefined> {
  const base = readRecord((await store.read(usageObject(job)))?.toString('utf8') ?? '');
  if (base?.leaving === undefined) return base;
  const marks = new Map<string, EpochMs>();
  for (const { slice } of base.leaving) {
    const mark = await store.read(goneMarkObject(job, slice));
    if (mark !== undefined) marks.set(slice, (JSON.parse(mark.toString('utf8')) as GoneMark).gone);
  }
  return settled(base, (slice) => marks.get(slice));
}

/** Asks a server for the sums of the ended jobs that the caller may count. */
export const reportOverHttp = async (
  options: ServerOptions,
  { by, ...filter }: ReportWish,
): Promise<AnswerOf<'report'>> => new ServerCalls(options).json('report', { query: { by, ...filter } });

export interface ReportWish {
  readonly by: Grouping;
  readonly since: EpochMs;
  readonly project?: string;
  readonly user?: string;
  readonly pool?: string;
}

/** An open job's account so far, as a record. Undefined: its worker keeps none. */
export function openRecord(row: JobRow, view: JobView): JobRecord | undefined {
  const { spec, usage, run = '', preemptions, quotaPreemptions, attempt, submittedAt } = view;
  const { id: job, user, project, label } = row;
  return (
    usage &&
    recordOf(spec, usage, {
      ...{ job, run, user, project, result: 'open', attempts: attempt, preemptions },
      ...(quotaPreemptions !== undefined && { quotaPreemptions }),
      ...(label !== undefined && { label }),
      submittedAt,
      endedAt: usage.at,
    })
  );
}

import type { StoreReader } from '../cloud/store/port.js';
import { countedUnits } from '../domain/counted/prices.js';
import { type GoneMark, type JobRecord, onceEach, readRecord, settled } from '../domain/counted/record.js';
import type { Grouping } from '../domain/counted/report.js';
import { askedMachines, kindOfJob } from '../domain/machines.js';
import { eachOf } from '../domain/semaphore.js';
import { goneMarkObject, reportPlace, reportDayPrefix, REPORTS_PREFIX, usageObject } from '../domain/store-layout.js';
import type { EpochMs } from '../domain/units.js';
import type { JobView } from '../contract/job.js';
import type { AnswerOf } from '../contract/operations.js';
import { ServerCalls } from './http/server-calls.js';
import type { ServerOptions } from './http/server-options.js';
import type { JobRow } from './job-rows.js';

const READS_AT_A_TIME = 32;

const dayOf = (at: EpochMs): string => new Date(at).toISOString().slice(0, 10);

interface DayFiles {
  /** Each job and run once, those that ended at `from` or later. */
  readonly records: readonly JobRecord[];
  /** Lines that this version cannot read. */
  readonly unreadable: number;
}

/** Reads the day files of jobs that ended since `from` (docs/counted.md). */
export async function readDayFiles(store: StoreReader, from: EpochMs): Promise<DayFiles> {
  const objects = await store.list(REPORTS_PREFIX, reportDayPrefix(dayOf(from)));
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
  const { spec, usage, run = '', preemptions, quotaPreemptions, attempt } = view;
  if (usage === undefined) return undefined;
  const { at, ...account } = usage;
  const asked = askedMachines(spec);
  const [most] = account.places.toSorted((a, b) => b.charged - a.charged);
  return {
    v: 1,
    job: row.id,
    run,
    user: row.user,
    project: row.project,
    pool: row.pool,
    kind: kindOfJob(spec),
    accelerator: asked.accelerator,
    zone: most?.zone ?? asked.zones[0] ?? '',
    pricing: most?.pricing ?? asked.pricing,
    count: countedUnits(spec).count,
    slices: spec.slices,
    result: 'open',
    attempts: attempt,
    preemptions,
    ...(quotaPreemptions !== undefined && { quotaPreemptions }),
    ...(row.label !== undefined && { label: row.label }),
    submittedAt: view.submittedAt,
    endedAt: at,
    ...account,
    countedTo: at,
  };
}

import type { JobSpec } from '../job-spec.js';
import type { JobResult } from '../job-state.js';
import { askedMachines, kindOfJob } from '../machines.js';
import type { EpochMs } from '../units.js';
import { countedUnits } from './prices.js';
import type { Parts, ShownUsage } from './usage.js';

/** The account of an ended job: a line of a day file (docs/counted.md). One line a job and run, however often it is told. */
export interface JobRecord extends Omit<ShownUsage, 'at'> {
  readonly v: 1;
  readonly job: string;
  /** First run id of the job's chain. */
  readonly run: string;
  readonly user: string;
  readonly project: string;
  readonly pool: string;
  /** `cloud-tpu`, `kubernetes`, .. */
  readonly kind: string;
  readonly accelerator: string;
  /** The zone and pricing of most of what is charged, else those that the job asked for first. */
  readonly zone: string;
  readonly pricing: string;
  /** Chips (or hosts) of the job, all slices together. */
  readonly count: number;
  readonly slices: number;
  /** `terminated`: its workflow was ended in Temporal, so it has no outcome, and the account ends there. */
  readonly result: JobResult | 'open' | 'terminated';
  readonly attempts: number;
  /** Preemptions by the provider. */
  readonly preemptions: number;
  readonly quotaPreemptions?: number;
  /** Marks of its own counter that were done again. Absent: none, or not known. */
  readonly lostMarks?: number;
  /** REHEARSAL if nothing of it is real: then nothing was paid. */
  readonly label?: string;
  readonly submittedAt: EpochMs;
  readonly startedAt?: EpochMs;
  readonly endedAt: EpochMs;
  /** The account is made up to this time, and for each of `leaving` it ends there. */
  readonly countedTo: EpochMs;
  /** Slices that are not seen gone: their draining after `countedTo` is not counted yet. Absent: none. */
  readonly leaving?: readonly LeavingSlice[];
}

export interface LeavingSlice {
  readonly slice: string;
  readonly chips: number;
}

/** When a slice was seen gone, for the account of its job. */
export interface GoneMark {
  readonly v: 1;
  readonly gone: EpochMs;
}

type OfSpec = 'v' | 'pool' | 'kind' | 'accelerator' | 'zone' | 'pricing' | 'count' | 'slices' | 'countedTo';

/** The record of a job with this account. @param about what neither its file nor its account says */
export function recordOf(
  spec: JobSpec,
  { at: countedTo, ...account }: ShownUsage,
  about: Omit<JobRecord, OfSpec | keyof ShownUsage>,
): JobRecord {
  const asked = askedMachines(spec);
  const [most] = account.places.toSorted((a, b) => b.charged - a.charged);
  return {
    v: 1,
    ...about,
    pool: spec.pool,
    kind: kindOfJob(spec),
    accelerator: asked.accelerator,
    zone: most?.zone ?? asked.zones[0] ?? '',
    pricing: most?.pricing ?? asked.pricing,
    count: countedUnits(spec).count,
    slices: spec.slices,
    ...account,
    countedTo,
  };
}

/**
 * The record with the draining of slices that are gone by now.
 * @param goneAt when a slice was seen gone; undefined: it was not
 */
export function settled(record: JobRecord, goneAt: (slice: string) => EpochMs | undefined): JobRecord {
  const { leaving = [], ...rest } = record;
  let draining = 0;
  const left: LeavingSlice[] = [];
  for (const each of leaving) {
    const gone = goneAt(each.slice);
    if (gone === undefined) left.push(each);
    else draining += (each.chips * Math.max(0, gone - record.countedTo)) / 1000;
  }
  const parts: Parts = { ...record.parts, draining: record.parts.draining + draining };
  return { ...rest, parts, ...(left.length > 0 && { leaving: left }) };
}

/** Whether `a` knows more of the same job and run than `b`. */
const isLater = (a: JobRecord, b: JobRecord): boolean =>
  a.countedTo === b.countedTo ? (a.leaving?.length ?? 0) < (b.leaving?.length ?? 0) : a.countedTo > b.countedTo;

/** Each job and run once, with what is known of it last: a day may hold a line twice while it is compacted. */
export function onceEach(records: Iterable<JobRecord>): readonly JobRecord[] {
  const known = new Map<string, JobRecord>();
  for (const record of records) {
    const key = `${record.job}/${record.run}`;
    const before = known.get(key);
    if (before === undefined || isLater(record, before)) known.set(key, record);
  }
  return [...known.values()];
}

/** A line of a day file, or undefined if it is not one that this version reads. */
export function readRecord(line: string): JobRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const record = value as Partial<JobRecord> | null;
  if (typeof record !== 'object' || record === null || record.v !== 1) return undefined;
  const texts = [record.job, record.run, record.user, record.project, record.pool, record.accelerator, record.zone];
  if (texts.some((text) => typeof text !== 'string') || !Array.isArray(record.places)) return undefined;
  const numbers = [record.endedAt, record.countedTo, record.charged, ...Object.values(record.parts ?? { none: NaN })];
  return numbers.every((number) => Number.isFinite(number)) ? (record as JobRecord) : undefined;
}

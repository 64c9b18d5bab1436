import { createHash } from 'node:crypto';
import type { StoredObject, StorePort } from '../cloud/store/port.js';
import { type GoneMark, type JobRecord, onceEach, readRecord, settled } from '../domain/counted/record.js';
import { eachOf } from '../domain/semaphore.js';
import {
  compactedReportObject,
  goneMarkObject,
  goneMarksPrefix,
  reportObject,
  reportPlace,
  REPORTS_PREFIX,
  usageObject,
} from '../domain/store-layout.js';
import { type EpochMs, utcDay } from '../domain/units.js';

type CountedStore = Pick<StorePort, 'read' | 'stat' | 'write' | 'replace' | 'list' | 'remove'>;

const toLine = (record: JobRecord): string => `${JSON.stringify(record)}\n`;

/**
 * Stores what a job used, and its line in the file of the day on which it ended. Repeating is safe: the object is named by job and
 * run, and an earlier account never replaces a later one, such as that of a job that kept its slices after its outcome.
 */
export async function storeCounted(store: CountedStore, record: JobRecord): Promise<void> {
  const known = await readBase(store, record.job);
  const isNews = known === undefined || known.run !== record.run || known.countedTo <= record.countedTo;
  if (isNews) await store.replace(usageObject(record.job), toLine(record), 'application/json');
  await settle(store, record.job);
}

/**
 * Notes that a slice is gone, for the account of its job. A job's outcome does not wait for its slices, so either this call finds
 * the account, or the account, stored later, finds the mark.
 */
export async function noteGone(store: CountedStore, job: string, slice: string, at: EpochMs): Promise<void> {
  const mark: GoneMark = { v: 1, gone: at };
  await store.write(goneMarkObject(job, slice), JSON.stringify(mark), 'absent', 'application/json');
  await settle(store, job);
}

async function readBase(store: CountedStore, job: string): Promise<JobRecord | undefined> {
  const content = await store.read(usageObject(job));
  return content && readRecord(content.toString('utf8'));
}

/**
 * Limit of attempts to change a line beside other writers. These are a job's outcome and the ends of its slices: few, and
 * seldom at the same time.
 */
const TRIES = 10;

/**
 * Writes the job's line from its account and the marks of its slices. The marks are read after the line's generation, so a write
 * that succeeds replaces no line that was made of more marks.
 */
async function settle(store: CountedStore, job: string): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const base = await readBase(store, job);
    if (base === undefined) return;
    const name = reportObject(utcDay(base.endedAt), base.job, base.run);
    const before = await store.stat(name);
    const line = toLine(settled(base, goneIn(await goneMarks(store, job))));
    const expected = before === undefined ? 'absent' : { generation: before.generation };
    if ((await store.write(name, line, expected, 'application/x-ndjson')).kind === 'written') return;
    // The same line, written by a call whose answer was lost.
    if ((await store.read(name))?.toString('utf8') === line) return;
  }
  throw new Error(`the line of ${job} in the day files was written by others ${TRIES} times meanwhile`);
}

type Marks = ReadonlyMap<string, EpochMs>;
const goneIn =
  (marks: Marks) =>
  (slice: string): EpochMs | undefined =>
    marks.get(slice);

async function goneMarks(store: CountedStore, job: string): Promise<Marks> {
  const prefix = goneMarksPrefix(job);
  const marks = new Map<string, EpochMs>();
  await eachOf(await store.list(prefix), AT_ONCE, async ({ name }) => {
    const content = await store.read(name);
    const { gone } = content === undefined ? {} : (JSON.parse(content.toString('utf8')) as Partial<GoneMark>);
    if (typeof gone === 'number') marks.set(name.slice(prefix.length, -'.json'.length), gone);
  });
  return marks;
}

const AT_ONCE = 8;

// Compaction ---------------------------------------------------------------------------------------------------------

const DAY_MS = 86_400_000;
/** Time after which a line is compacted even if its slices were not seen gone. */
const LEAVING_MS = 7 * DAY_MS;
/** Most objects that one pass makes one of. */
const MOST_IN_ONE = 2_000;
/** The least number of objects that are made one. */
const LEAST = 2;

/**
 * Makes one object of the many small ones of each day that is over. It writes the whole first and deletes then: after a death in
 * between, lines stand twice, and every reader counts a job and run once.
 * @returns the number of objects that were replaced
 */
export async function compactReports(store: CountedStore, now: EpochMs): Promise<number> {
  const today = utcDay(now);
  const byDay = new Map<string, StoredObject[]>();
  for (const object of await store.list(REPORTS_PREFIX)) {
    const place = reportPlace(object.name);
    if (place === undefined || !place.isOfJob || place.day >= today) continue;
    byDay.set(place.day, [...(byDay.get(place.day) ?? []), object]);
  }
  let replaced = 0;
  for (const [day, objects] of byDay) replaced += await compactDay(store, day, objects.slice(0, MOST_IN_ONE), now);
  return replaced;
}

async function compactDay(
  store: CountedStore,
  day: string,
  objects: readonly StoredObject[],
  now: EpochMs,
): Promise<number> {
  const records = new Map<string, JobRecord>();
  await eachOf(objects, AT_ONCE, async ({ name }) => {
    const record = readRecord((await store.read(name))?.toString('utf8') ?? '');
    const mayChange = record?.leaving !== undefined && now - record.countedTo < LEAVING_MS;
    // An unreadable line is left for people.
    if (record !== undefined && !mayChange) records.set(name, record);
  });
  const names = [...records.keys()].toSorted();
  if (names.length < LEAST) return 0;
  const lines = onceEach(names.map((name) => records.get(name) as JobRecord)).map(toLine);
  const hash = createHash('sha256').update(names.join('\n')).digest('hex').slice(0, 16);
  await store.replace(compactedReportObject(day, hash), lines.join(''), 'application/x-ndjson');
  await eachOf(names, AT_ONCE, (name) => store.remove(name));
  return names.length;
}

import { objectPlace, type StoreReader } from '../cloud/store/port.js';
import { notJson } from '../domain/errors.js';
import { poolLineObject, poolStateObject, poolHistoryPrefix } from '../domain/store-layout.js';
import { type PackedPoolState, type PoolSnapshot, unpackState } from '../quota/published-state.js';
import type { WaitingLine } from '../quota/waiting-line.js';
import { type EpochMs, utcDay } from '../domain/units.js';
import { jobOfLeaseKey } from '../domain/lease.js';
import { type HistoryLine, leaseStories, type OpenLease, type Window } from '../quota/pool-history.js';
import { type Gap, gapsBetween, type HistoryPart, type UseSeries, useOverTime } from '../quota/use-over-time.js';

/**
 * The pool's state as a worker last published it, with one read of one object. It is some seconds old while the pool is busy,
 * otherwise as old as the pool's last change (`at`). Undefined: no state was ever published for this pool.
 * @throws RangeError if the state cannot be read, or if another version of jobctl wrote it; the store's errors
 */
export async function readPoolState(store: ObjectReader, pool: string): Promise<PoolSnapshot | undefined> {
  const packed = await readJson<PackedPoolState>(store, poolStateObject(pool));
  return packed && unpackState(packed);
}

/**
 * The line of the pool's waiting jobs as last published, small and made for lists. Undefined: no line was published.
 * @throws RangeError if it cannot be read; the store's errors
 */
export async function readWaitingLine(store: ObjectReader, pool: string): Promise<WaitingLine | undefined> {
  const name = poolLineObject(pool);
  const line = await readJson<Partial<WaitingLine> | null>(store, name);
  // Others may write to the bucket, so the object may hold anything. Only the reader of another version knows that version's
  // form.
  if (line === undefined || isLine(line)) return line;
  throw new RangeError(
    `${objectPlace(store, name)}: is not what a worker publishes of a pool: it has no lines of jobs`,
  );
}

const isLine = (line: Partial<WaitingLine> | null): line is WaitingLine =>
  line !== null && (line.v !== 1 ? line.v !== undefined : Array.isArray(line.rows) && Array.isArray(line.sentences));

type ObjectReader = Pick<StoreReader, 'bucket' | 'read'>;

async function readJson<Content>(store: ObjectReader, name: string): Promise<Content | undefined> {
  const content = await store.read(name);
  if (content === undefined) return undefined;
  const text = content.toString('utf8');
  try {
    return JSON.parse(text) as Content;
  } catch (error) {
    const where = objectPlace(store, name);
    const message = `${where}: is not what a worker publishes of a pool: ${notJson(error, text)}`;
    throw new RangeError(message, { cause: error });
  }
}

export interface PoolHistory {
  readonly lines: readonly HistoryLine[];
  /** The objects that were read. */
  readonly parts: readonly HistoryPart[];
  /** Number of lines that could not be read: written by another version of jobctl, or damaged. */
  readonly unreadable: number;
}

const READS_AT_A_TIME = 16;
/** Longest time between the first line of an object and its writing. The object is filed under the day of that line. */
const LATEST_WRITE_MS = 3_600_000;

/**
 * Reads the events of a pool since `from`, with one listing and one read for each object written since.
 * @param unstored lines that the pool has published; a line that is also in the store counts once. Read them before this call: a
 * line is stored before it leaves the published state
 */
export async function readPoolHistory(
  store: StoreReader,
  pool: string,
  from: EpochMs,
  unstored: readonly HistoryLine[] = [],
): Promise<PoolHistory> {
  const prefix = poolHistoryPrefix(pool);
  const day = utcDay(from - LATEST_WRITE_MS);
  const objects = (await store.list(prefix, `${prefix}${day}`)).filter(({ updatedAt }) => updatedAt >= from);
  const lines = unstored.filter(({ at }) => at >= from);
  const known = new Set(lines.map((line) => JSON.stringify(line)));
  const parts: HistoryPart[] = [];
  let unreadable = 0;
  for (let next = 0; next < objects.length; next += READS_AT_A_TIME) {
    const batch = objects.slice(next, next + READS_AT_A_TIME);
    const contents = await Promise.all(batch.map(({ name }) => store.read(name)));
    for (const [at, content] of contents.entries()) {
      const texts = content?.toString('utf8').split('\n').filter(Boolean) ?? [];
      const read = texts.map(parsed);
      const damaged = read.filter((line) => line === undefined).length;
      unreadable += damaged;
      parts.push(...partOf(batch[at]?.name ?? '', read, damaged > 0));
      for (const [index, line] of read.entries())
        if (line !== undefined && line.at >= from && !known.has(texts[index] ?? '')) lines.push(line);
    }
  }
  return { lines, parts, unreadable };
}

/** Nothing for an object of another name, or without a line. */
function partOf(name: string, lines: readonly (HistoryLine | undefined)[], isDamaged: boolean): readonly HistoryPart[] {
  const [, epoch, number] = /\/(\d+)-(\d+)\.jsonl$/.exec(name) ?? [];
  const times = lines.flatMap((line) => line?.at ?? []);
  const [from, to] = [times[0], times.at(-1)];
  if (epoch === undefined || from === undefined || to === undefined) return [];
  return [{ epoch: Number(epoch), number: Number(number), from, to, ...(isDamaged && { isDamaged }) }];
}

/** A look further back than this at who used a pool is refused: each day has up to thousands of objects. */
export const MOST_USE_MS = 7 * 86_400_000;
/** A pool in which anything is held or waits is published every ten minutes at least. */
const PUBLISHED_WITHIN_MS = 15 * 60_000;

export interface PoolUse {
  readonly window: Window;
  readonly series: readonly UseSeries[];
  readonly gaps: readonly Gap[];
  /** Changes by people: files applied, admission set, leases released; oldest first. */
  readonly calls: readonly HistoryLine[];
}

/**
 * Who held a pool's units and who waited, over time. Undefined: no state was ever published for this pool.
 * @param stretches into which the window is divided @throws the store's errors; RangeError as `readPoolState`
 */
export async function readPoolUse(
  store: StoreReader,
  pool: string,
  { window, stretches }: { readonly window: Window; readonly stretches: number },
): Promise<PoolUse | undefined> {
  const state = await readPoolState(store, pool);
  if (state === undefined) return undefined;
  const { lines, parts } = await readPoolHistory(store, pool, window.from, state.unstored);
  const oldest = parts.length === 0 ? await store.list(poolHistoryPrefix(pool), undefined, 1) : [];
  const newest = lastPart(state);
  const all = [...parts, ...newest];
  const { leases, requests } = state.view;
  const isQuiet = leases.length + requests.length === 0;
  const isOld = !isQuiet && state.at + PUBLISHED_WITHIN_MS < window.to;
  const gaps = [
    ...gapsBetween(all, window, parts.length === 0 && oldest.length === 0),
    ...(isOld
      ? [{ from: Math.max(window.from, state.at), to: window.to, why: 'no worker has published the pool since' }]
      : []),
  ];
  const stories = leaseStories(lines, window, leases.map(openLease));
  const waiting = requests.map(({ project, units, waitingSince, submittedAt }) => ({
    ...{ project, units, since: waitingSince ?? submittedAt },
  }));
  return {
    ...{ window, gaps, series: useOverTime({ window, stretches, stories, lines, waiting, gaps }) },
    calls: lines.filter(({ kind }) => CALLS.has(kind)).toSorted((a, b) => a.at - b.at),
  };
}

const CALLS: ReadonlySet<HistoryLine['kind']> = new Set(['applied', 'admission', 'released']);

/** Lines that are not in the store yet follow those that are. */
function lastPart({ epoch, unstored = [] }: PoolSnapshot): readonly HistoryPart[] {
  const [first, last] = [unstored[0], unstored.at(-1)];
  return first === undefined || last === undefined ? [] : [{ epoch, from: first.at, to: last.at }];
}

/** An open lease with job and number in the place of its id. */
export function openLease({ id, ...rest }: PoolSnapshot['view']['leases'][number]): OpenLease {
  return { ...rest, job: jobOfLeaseKey(id), number: Number(id.slice(id.lastIndexOf('/') + 1)) };
}

function parsed(text: string): HistoryLine | undefined {
  try {
    const line = JSON.parse(text) as Partial<HistoryLine> | null;
    return typeof line?.at === 'number' && typeof line.kind === 'string' ? (line as HistoryLine) : undefined;
  } catch {
    return undefined;
  }
}

import { objectPlace, type StoreReader } from '../cloud/store/port.js';
import { notJson } from '../domain/errors.js';
import { poolLineObject, poolStateObject, poolHistoryPrefix } from '../domain/store-layout.js';
import { type PackedPoolState, type PoolSnapshot, unpackState } from '../quota/published-state.js';
import type { WaitingLine } from '../quota/waiting-line.js';
import { type EpochMs, utcDay } from '../domain/units.js';
import type { HistoryLine } from '../quota/pool-history.js';

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
  let unreadable = 0;
  for (let next = 0; next < objects.length; next += READS_AT_A_TIME) {
    const batch = objects.slice(next, next + READS_AT_A_TIME);
    const contents = await Promise.all(batch.map(({ name }) => store.read(name)));
    for (const text of contents.flatMap((content) => content?.toString('utf8').split('\n') ?? [])) {
      if (text === '' || known.has(text)) continue;
      const line = parsed(text);
      if (line === undefined) unreadable++;
      else if (line.at >= from) lines.push(line);
    }
  }
  return { lines, unreadable };
}

function parsed(text: string): HistoryLine | undefined {
  try {
    const line = JSON.parse(text) as Partial<HistoryLine> | null;
    return typeof line?.at === 'number' && typeof line.kind === 'string' ? (line as HistoryLine) : undefined;
  } catch {
    return undefined;
  }
}

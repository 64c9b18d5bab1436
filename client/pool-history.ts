import type { StoreReader } from '../cloud/store/port.js';
import { poolHistoryPrefix } from '../domain/store-layout.js';
import type { EpochMs } from '../domain/units.js';
import type { HistoryLine } from '../quota/pool-history.js';

export interface PoolHistory {
  readonly lines: readonly HistoryLine[];
  /** Number of lines that could not be read: written by another version of jobctl, or damaged. */
  readonly unreadable: number;
}

const READS_AT_A_TIME = 16;
/** An object is filed under the day of its first line and written at most this much later. */
const LATEST_WRITE_MS = 3_600_000;

/**
 * Reads the events of a pool since `from`, with one listing and one read for each object written since.
 * @param unstored lines that the pool has published; a line that is in the store too counts once. Read them before this call: a
 *   line is in the store before it leaves the published state
 */
export async function readPoolHistory(
  store: StoreReader,
  pool: string,
  from: EpochMs,
  unstored: readonly HistoryLine[] = [],
): Promise<PoolHistory> {
  const prefix = poolHistoryPrefix(pool);
  const day = new Date(from - LATEST_WRITE_MS).toISOString().slice(0, 10);
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

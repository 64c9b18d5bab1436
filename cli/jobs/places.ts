import type { JobRow } from '../../client/job-rows.js';
import { JobPhase } from '../../domain/job-state.js';
import type { PlaceInLine, WaitingLine } from '../../quota/waiting-line.js';
import { openReader } from '../place/connect.js';
import type { CliContext } from '../place/context.js';
import { clockTime } from '../terminal/render/quantities.js';

export interface Places {
  /** Places by job; empty if no pool has published anything, or no bucket is known. */
  readonly byJob: ReadonlyMap<string, PlaceInLine>;
  /** The reason why they are unknown. */
  readonly missing?: string;
}

/** The published lines of some pools, or the reason why they are unknown. */
export interface PublishedLines {
  readonly lines: readonly WaitingLine[];
  readonly missing?: string;
}

/** One read for each pool. It never throws: a list without some positions is better than none. */
export async function publishedLines(
  pools: readonly string[],
  { store }: Pick<CliContext, 'store'>,
): Promise<PublishedLines> {
  if (pools.length === 0 || store === undefined) return { lines: [] };
  const { readWaitingLine } = await import('../../client/pool-state.js');
  const missing = new Map<string, string[]>();
  const missed = (pool: string, { message }: Error): [] => {
    missing.set(message, [...(missing.get(message) ?? []), pool]);
    return [];
  };
  const reader = openReader(store);
  const read = async (pool: string): Promise<readonly WaitingLine[]> =>
    [(await readWaitingLine(await reader, pool)) ?? []].flat();
  const lines = await Promise.all(pools.map((pool) => read(pool).catch((error: Error) => missed(pool, error))));
  const texts = [...missing].map(([message, of]) => `of ${of.join(', ')}: ${message}`);
  return { lines: lines.flat(), ...(texts.length > 0 && { missing: texts.join('; ') }) };
}

/** The places of those jobs that are queued. */
export async function placesIn(
  { lines, missing }: PublishedLines,
  rows: readonly Pick<JobRow, 'id' | 'pool' | 'phase'>[],
): Promise<Places> {
  const { placesInLine } = await import('../../quota/waiting-line.js');
  const queued = rows.filter(({ phase }) => phase === JobPhase.Queued);
  const unknown = missing === undefined ? [] : [missing];
  const entries = lines.flatMap((line) => {
    const jobs = queued.filter(({ pool }) => pool === line.pool).map(({ id }) => id);
    try {
      return [...placesInLine(line, jobs, (at) => clockTime(at))];
    } catch (error) {
      unknown.push((error as Error).message);
      return [];
    }
  });
  return { byJob: new Map(entries), ...(unknown.length > 0 && { missing: unknown.join('; ') }) };
}

/** Reads the places now; empty if no job is queued. */
export async function placesOf(rows: readonly JobRow[], context: CliContext): Promise<Places> {
  const pools = rows.filter(({ phase }) => phase === JobPhase.Queued).map(({ pool }) => pool);
  return placesIn(await publishedLines([...new Set(pools)], context), rows);
}

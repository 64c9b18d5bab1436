import type { JobRow } from '../../job-rows.js';
import { JobPhase } from '../../../domain/job-state.js';
import type { PlaceInLine, WaitingLine } from '../../../quota/waiting-line.js';
import { openReader } from '../connect.js';
import type { CliContext } from '../context.js';
import { clockTime } from '../render/quantities.js';

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

/** Reads one object per pool. Never throws, because a list without positions is better than none. */
export async function publishedLines(pools: readonly string[], { store }: CliContext): Promise<PublishedLines> {
  if (pools.length === 0 || store === undefined) return { lines: [] };
  const { readWaitingLine } = await import('../../pool-state.js');
  try {
    const reader = await openReader(store);
    const lines = await Promise.all(pools.map((pool) => readWaitingLine(reader, pool)));
    return { lines: lines.filter((line) => line !== undefined) };
  } catch (error) {
    return { lines: [], missing: (error as Error).message };
  }
}

/** The places of those jobs that are queued. */
export async function placesIn(
  { lines, missing }: PublishedLines,
  rows: readonly Pick<JobRow, 'id' | 'pool' | 'phase'>[],
): Promise<Places> {
  const { placesInLine } = await import('../../../quota/waiting-line.js');
  const queued = rows.filter(({ phase }) => phase === JobPhase.Queued);
  const unknown = missing === undefined ? {} : { missing };
  try {
    const entries = lines.flatMap((line) => {
      const jobs = queued.filter(({ pool }) => pool === line.pool).map(({ id }) => id);
      return [...placesInLine(line, jobs, (at) => clockTime(at))];
    });
    return { byJob: new Map(entries), ...unknown };
  } catch (error) {
    return { byJob: new Map(), missing: (error as Error).message };
  }
}

/** Reads the places now; empty if no job is queued. */
export async function placesOf(rows: readonly JobRow[], context: CliContext): Promise<Places> {
  const pools = rows.filter(({ phase }) => phase === JobPhase.Queued).map(({ pool }) => pool);
  return placesIn(await publishedLines([...new Set(pools)], context), rows);
}

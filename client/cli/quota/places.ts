import type { JobRow } from '../../job-rows.js';
import { JobPhase } from '../../../domain/job-state.js';
import type { PlaceInLine } from '../../../quota/waiting-line.js';
import { openReader } from '../connect.js';
import type { CliContext } from '../context.js';
import { clockTime } from '../render/quantities.js';

export interface Places {
  /** By job; empty where no pool has published anything, or no bucket is known. */
  readonly byJob: ReadonlyMap<string, PlaceInLine>;
  /** Why they are not known. */
  readonly missing?: string;
}

const NONE: Places = { byJob: new Map() };

/** Where the queued ones of these jobs stand: one read for each of their pools, none where nobody is queued. */
export async function placesOf(rows: readonly JobRow[], { store }: CliContext): Promise<Places> {
  const queued = rows.filter(({ phase }) => phase === JobPhase.Queued);
  if (queued.length === 0 || store === undefined) return NONE;
  const [{ readWaitingLine }, { placesInLine }] = await Promise.all([
    import('../../pool-state.js'),
    import('../../../quota/waiting-line.js'),
  ]);
  try {
    const reader = await openReader(store);
    const pools = [...new Set(queued.map(({ pool }) => pool))];
    const lines = await Promise.all(pools.map((pool) => readWaitingLine(reader, pool)));
    const entries = lines.flatMap((line) => {
      const jobs = queued.filter(({ pool }) => pool === line?.pool).map(({ id }) => id);
      return line === undefined ? [] : [...placesInLine(line, jobs, (at) => clockTime(at))];
    });
    return { byJob: new Map(entries) };
  } catch (error) {
    // A list without positions is better than none.
    return { ...NONE, missing: (error as Error).message };
  }
}

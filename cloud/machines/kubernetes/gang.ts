import type { EpochMs } from '../../../domain/units.js';
import type { Observation, SeenJob } from './observation.js';

/** A job of jobctl with all of its slices in one namespace. */
interface Gang {
  readonly key: string;
  readonly since: EpochMs;
  readonly isWhole: boolean;
  /** The timeout of its oldest slice that is not whole is over. */
  readonly isLate: boolean;
}

/** How many timeouts the oldest gang may wait. */
const MOST_TIMEOUTS = 2;

/**
 * Whether a slice whose pods do not all run gives back those that do, so that two gangs that each hold a part of what both need
 * do not wait for each other. Its timeout is not enough: two that began together would give back together, and again. So of the
 * gangs in a namespace that are not whole, the oldest waits for a second timeout while there are younger ones, and those give
 * back as soon as the oldest is late.
 */
export function hasToGiveBack(job: SeenJob, { at, neighbours }: Pick<Observation, 'at' | 'neighbours'>): boolean {
  const own = keyOf(job);
  const rivals = gangsIn([...neighbours, job], at).filter(({ isWhole }) => !isWhole);
  const self = rivals.find(({ key }) => key === own);
  const older = rivals.filter((gang) => self !== undefined && isOlder(gang, self));
  if (older.some(({ isLate }) => isLate)) return true;
  if (!isOver(job, at, 1)) return false;
  const isOldestOfSeveral = older.length === 0 && rivals.length > 1;
  return !isOldestOfSeveral || isOver(job, at, MOST_TIMEOUTS);
}

const isOver = ({ createdAt, gangSeconds }: SeenJob, at: EpochMs, timeouts: number): boolean =>
  at - createdAt >= gangSeconds * 1000 * timeouts;

/** Creation times have whole seconds. */
const isOlder = (a: Gang, b: Gang): boolean => a.since < b.since || (a.since === b.since && a.key < b.key);

const keyOf = ({ uid, ownership }: SeenJob): string =>
  ownership === undefined ? uid : `${ownership.owner}/${ownership.job}/${ownership.run}`;

function gangsIn(jobs: readonly SeenJob[], at: EpochMs): readonly Gang[] {
  const byKey = new Map<string, SeenJob[]>();
  for (const job of new Map(jobs.map((each) => [each.uid, each])).values())
    if (!job.isDeleting && !job.failure && !job.isComplete)
      byKey.set(keyOf(job), [...(byKey.get(keyOf(job)) ?? []), job]);
  return [...byKey].map(([key, slices]) => ({
    key,
    since: Math.min(...slices.map(({ createdAt }) => createdAt)),
    isWhole: slices.every(({ isWhole }) => isWhole),
    isLate: slices.some((slice) => !slice.isWhole && isOver(slice, at, 1)),
  }));
}

import type { EpochMs } from '../../../domain/units.js';
import type { Observation, SeenJob } from './observation.js';
import { smallest } from '../../../domain/extremes.js';

/** A job of jobctl with all its slices in one namespace. */
interface Gang {
  readonly key: string;
  /** For messages. */
  readonly name: string;
  readonly since: EpochMs;
  readonly isWhole: boolean;
  /** Whether one of its incomplete slices has waited for half of its timeout. */
  readonly isLate: boolean;
}

/**
 * Tells why a slice must give back its running pods while others wait, so that two gangs that each hold a part of what both need
 * do not block each other. The timeout alone is not enough: two gangs that began together would give back together, again and
 * again. So among the incomplete gangs of a namespace that need the same device, the oldest has the second half of its timeout
 * for itself: younger gangs give back as soon as its first half is over (docs/adr/0065).
 */
export function whyGivenBack(
  job: SeenJob,
  { at, neighbours }: Pick<Observation, 'at' | 'neighbours'>,
): string | undefined {
  if (isOver(job, at, 1)) return `not all pods run after ${job.gangSeconds} s (gang_timeout)`;
  const own = keyOf(job);
  const rivals = gangsIn(
    [...neighbours, job].filter(({ device }) => device === job.device),
    at,
  ).filter(({ isWhole }) => !isWhole);
  const self = rivals.find(({ key }) => key === own);
  const first = rivals.find((gang) => self !== undefined && isOlder(gang, self) && gang.isLate);
  return first && `${first.name} has waited in this namespace for longer, and half of its gang_timeout is over`;
}

const isOver = ({ createdAt, gangSeconds }: SeenJob, at: EpochMs, share: number): boolean =>
  at - createdAt >= gangSeconds * 1000 * share;

/** Creation times are whole seconds, so the key decides ties. */
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
    name: `job ${slices[0]?.ownership?.job ?? 'of an unknown name'}`,
    since: smallest(slices.map(({ createdAt }) => createdAt)),
    isWhole: slices.every(({ isWhole }) => isWhole),
    isLate: slices.some((slice) => !slice.isWhole && isOver(slice, at, 1 / 2)),
  }));
}

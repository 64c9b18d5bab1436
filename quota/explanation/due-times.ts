import type { EpochMs } from '../../domain/units.js';
import type { DueTime, Reason } from './explanation.js';
import type { QuotaMemory, QuotaRequest } from '../quota-config.js';
import type { Verdict } from '../decision/verdict.js';

/**
 * When rules alone may change what a verdict says, the earliest first. Ends of jobs are not among them: nobody knows those.
 * @param askingEnds of leases without chips of what is short
 */
export function dueTimes(
  { request, isInQuota, outcome }: Verdict,
  reasons: readonly Reason[],
  facts: {
    readonly memory: QuotaMemory;
    readonly agingMs: number;
    readonly askingEnds: readonly { readonly at: EpochMs; readonly id: string }[];
    readonly now: EpochMs;
  },
): readonly DueTime[] {
  const times: DueTime[] = facts.askingEnds.map(({ at, id }) => ({ at, what: 'asking-ends', of: id }));
  if (outcome.kind === 'protected') {
    const [first] = outcome.by;
    times.push({ at: outcome.until, what: 'protection-ends', ...(first === undefined ? {} : { of: first }) });
  }
  if (outcome.kind === 'held-back') times.push({ at: outcome.until, what: 'held-back-ends' });
  const cools = reasons.filter((reason) => reason.code === 'cool-down').map(({ until }) => until);
  if (cools.length > 0) times.push({ at: Math.min(...cools), what: 'cool-down-ends' });
  else if (!isInQuota && outcome.kind === 'passed-over' && reasons.some(isReservable))
    times.push({ at: agesAt(request, facts), what: 'reservation' });
  return times.filter(({ at }) => at > facts.now).toSorted((a, b) => a.at - b.at);
}

/** A shortage is what a reservation helps against; a limit that is too small for the job at all times is none. */
function isReservable(reason: Reason, _: number, all: readonly Reason[]): boolean {
  if (reason.code !== 'short') return false;
  return !all.some(
    (other) => other.code === 'borrowing-limit' && other.tier === reason.tier && other.asked > other.limit,
  );
}

/** When it has waited its aging time (rule 8). */
function agesAt(
  { id, waitingSince, submittedAt }: QuotaRequest,
  { memory, agingMs }: { readonly memory: QuotaMemory; readonly agingMs: number },
): EpochMs {
  return Math.max(waitingSince ?? submittedAt, memory.dissolved[id] ?? 0) + agingMs;
}

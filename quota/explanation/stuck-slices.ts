import { jobOfLeaseKey } from '../../domain/lease.js';
import type { EpochMs } from '../../domain/units.js';
import type { PoolSnapshot, StuckSlice } from '../published-state.js';

/** `slice s of job j is being deleted for 22 min: ANSWER; that does not change by itself` */
export function stuckText({ id, slice, since, answer, isFinal }: StuckSlice, now: EpochMs): string {
  const minutes = Math.max(0, Math.round((now - since) / 60_000));
  const last = isFinal ? '; that answer does not change by itself' : '';
  return `slice ${slice} of job ${jobOfLeaseKey(id)} is being deleted for ${minutes} min, and its chips count until it is gone: ${answer}${last}`;
}

/** The remedy for a person, in one sentence. Own machines name their own verb in their answer. */
export const releaseRemedy = (job: string, pool: string): string =>
  `mend what refuses, or look that nothing of it is left; then an admin of the pool says: jobctl quota release ${job} --pool ${pool} --because '..'`;

/** The stuck slices of one job. */
export const stuckOf = ({ stuck = [] }: Pick<PoolSnapshot, 'stuck'>, job: string): readonly StuckSlice[] =>
  stuck.filter(({ id }) => jobOfLeaseKey(id) === job);

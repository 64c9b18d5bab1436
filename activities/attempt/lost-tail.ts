import type { AttemptEnd } from '../../contract/job-activities.js';
import type { EpochMs } from '../../domain/units.js';

/** Nobody goes on with this supervision. */
export const isOver = ({ kind }: AttemptEnd): boolean =>
  kind === 'slices-lost' || kind === 'exited' || kind === 'run-lost';

/** Output is read on a host at most so long after it was printed, and before it came in here. */
const ON_ITS_WAY_MS = 5_000;

/**
 * What the log of a host says of its missing end (docs/adr/0043).
 * @param heardAt when what is stored was read on the host
 */
export function lostTailText(heardAt: EpochMs, end: AttemptEnd): string {
  const since = heardAt - ON_ITS_WAY_MS;
  const why = end.kind === 'slices-lost' ? `: ${end.slices.map(({ message }) => message).join('; ')}` : '';
  const bound = Math.ceil((Date.now() - since) / 1000);
  return `what this host may have printed after ${new Date(since).toISOString()} is not stored; that is ${bound} s at most${why}`;
}

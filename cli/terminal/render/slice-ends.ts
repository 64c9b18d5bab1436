import { smallest } from '../../../domain/extremes.js';
import type { JobView } from '../../../contract/job.js';
import { isDone } from '../../../domain/job-state.js';
import { kindOfJob, machineKind } from '../../../domain/machines.js';
import type { EpochMs } from '../../../domain/units.js';
import { clockTime, formatDuration } from './quantities.js';

/** When the provider ends what the job has: the rule, and for slices that are there the time. Undefined: it does not. */
export function endsSentence({ phase, spec, slices }: JobView, now: EpochMs): string | undefined {
  const rule = machineKind(kindOfJob(spec)).endsText?.(spec);
  const ends = isDone(phase)
    ? []
    : slices.filter(({ state }) => state === 'ready').flatMap(({ endsAt }) => endsAt ?? []);
  if (ends.length === 0) return rule;
  const first = smallest(ends);
  const which = ends.length === 1 ? 'its slice' : 'its first slice';
  const when = first > now ? `in ${formatDuration(first - now)}` : 'now';
  const text = `${which} may end from ${clockTime(first, now)} on, ${when}`;
  return rule === undefined ? `I${text.slice(1)}` : `${rule}; ${text}`;
}

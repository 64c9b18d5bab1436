import { smallest } from './extremes.js';
import type { EpochMs } from './units.js';

/** A slice that its provider ends at a known time, as it was bought (docs/adr/0141). */
interface EndingSlice {
  /** Absent: it has no such end, or that is not known. */
  readonly endsAt?: EpochMs;
  /** When it was ready. */
  readonly since?: EpochMs;
}

/** Time between the end of a command's grace and that of its slice: for its last lines and outputs. */
const AFTER_GRACE_MS = 120_000;

/** When the command on a slice is told to save. A slice of a short life leaves its command half of it. Undefined: never. */
export function savesAt({ endsAt, since }: EndingSlice, graceSeconds: number): EpochMs | undefined {
  if (endsAt === undefined) return undefined;
  const life = since === undefined ? Infinity : Math.max(0, endsAt - since);
  return endsAt - Math.min(graceSeconds * 1000 + AFTER_GRACE_MS, life / 2);
}

/** When the first of the slices may end. Undefined: none of them has an end. */
export const firstEnd = (slices: readonly EndingSlice[]): EpochMs | undefined =>
  soonest(slices.flatMap(({ endsAt }) => endsAt ?? []));

/** When a command on all of these slices is told to save. */
export const firstSave = (slices: readonly EndingSlice[], graceSeconds: number): EpochMs | undefined =>
  soonest(slices.flatMap((slice) => savesAt(slice, graceSeconds) ?? []));

/** Slices that are replaced together: those whose own time to save comes before the first of them may be gone. */
export function endingWith<S extends EndingSlice>(slices: readonly S[], graceSeconds: number): readonly S[] {
  const first = firstEnd(slices) ?? -Infinity;
  return slices.filter((slice) => (savesAt(slice, graceSeconds) ?? Infinity) <= first);
}

const soonest = (times: readonly EpochMs[]): EpochMs | undefined => (times.length === 0 ? undefined : smallest(times));

/** The reason why a command is stopped, as in its $JOBCTL_NOTICE_FILE (docs/job-states.md). */
export interface StopNotice {
  /**
   * `quota`: its chips go to another job, and it will run again. `cancel`: it will not run again. `attempt`: another host or
   * slice failed, or no host has printed anything for `timeouts.no_output`. `stop`: a person stopped, restarted or requeued it,
   * and it will run again when they say so. `preemption`: the provider takes the host, within 30 s on a Spot VM (the runner
   * itself writes this), another host of its gang, or, once their run duration is over, its slices (a stop writes both). `unattended`: no worker has contacted the host for
   * `max_unattended` (the runner writes this).
   */
  readonly cause: 'quota' | 'cancel' | 'attempt' | 'stop' | 'preemption' | 'unattended';
  /** One sentence. */
  readonly reason: string;
}

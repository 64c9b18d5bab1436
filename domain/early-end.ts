import { smallest } from './extremes.js';
import type { EpochMs } from './units.js';

/** A slice that may have an end set by its provider, by the terms of its purchase (docs/adr/0141). */
interface EndingSlice {
  /** Absent: there is no such end, or it is not known. */
  readonly endsAt?: EpochMs;
  /** When it was ready. */
  readonly since?: EpochMs;
}

/** Time between the end of the command's grace and the end of the slice, in which the last lines and outputs are stored. */
const AFTER_GRACE_MS = 120_000;

/** When a slice's command is told to save: not before half of the slice's life is over. Undefined: the slice has no end. */
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

/** Slices that are replaced together: those whose command must save before the first of all slices may be gone. */
export function endingWith<S extends EndingSlice>(slices: readonly S[], graceSeconds: number): readonly S[] {
  const first = firstEnd(slices) ?? -Infinity;
  return slices.filter((slice) => (savesAt(slice, graceSeconds) ?? Infinity) <= first);
}

const soonest = (times: readonly EpochMs[]): EpochMs | undefined => (times.length === 0 ? undefined : smallest(times));

/** The reason why a command is stopped, as in its $JOBCTL_NOTICE_FILE (docs/job-states.md). */
export interface StopNotice {
  /**
   * `quota`: the job's chips go to another job. The job will run again.
   * `cancel`: the job will not run again.
   * `attempt`: another host or slice failed, or no host has printed anything for `timeouts.no_output`.
   * `stop`: a person stopped, restarted or requeued the job. It will run again when they say so.
   * `preemption`: the provider takes the host, on a Spot VM within 30 s (the runner writes this). Or it takes another host of the
   * gang, or its slices because their run duration is over (a stop writes these two).
   * `unattended`: no worker has contacted the host for `max_unattended` (the runner writes this).
   */
  readonly cause: 'quota' | 'cancel' | 'attempt' | 'stop' | 'preemption' | 'unattended';
  /** One sentence. */
  readonly reason: string;
}

/**
 * Schedules of jobs and groups, and the workflow `firing` that each of their times starts (docs/adr/0159). All values are plain
 * JSON.
 */
import type { PastState } from '../domain/after.js';
import type { Firing, Overlap } from '../domain/schedule/schedule.js';
import type { EpochMs } from '../domain/units.js';
import type { OthersCarry } from './after.js';
import type { JobInput } from './job.js';

/** Input of the workflow `schedule/<name>-<time>`, which Temporal starts. */
export interface FiringInput {
  readonly v: 1;
  /** The input of its job, without `firing`. */
  readonly submission: JobInput;
  /** A zone whose clock is put back in autumn: the second time of a clock that shows one twice starts nothing. Absent: each does. */
  readonly wallClock?: string;
  /** Set by the workflow itself, when it continues as new. */
  readonly carry?: FiringCarry;
}

export interface FiringCarry {
  /** Its job is there. */
  readonly isStarted?: true;
  readonly others?: OthersCarry;
  /** Its job is being cancelled. */
  readonly isCancelled?: true;
  /** Messages of a version that the worker did not know. Absent: none. */
  readonly kept?: readonly { readonly signal: string; readonly value: unknown }[];
}

/**
 * State of a firing's job, or its end. `starting`: the job is not there yet. `skipped`: it was not started, and should not be.
 * `not-started`: it could not be started.
 */
export type FiringState = PastState | 'starting' | 'skipped' | 'not-started';

/** Result of the workflow. One whose job could not be started fails. */
export interface FiringResult {
  readonly v: 1;
  readonly state: FiringState;
}

/** A firing as lists show it, which need no worker. */
export interface FiringMemo {
  readonly state: FiringState;
  /** One sentence: why no job was started, or why a worker refused it. Null: no longer. */
  readonly why?: string | null;
}

/** A schedule as lists show it beside its search attributes. Temporal keeps it with the schedule. */
export interface ScheduleMemo {
  readonly cron: string;
  readonly timeZone: string;
  readonly overlap: Overlap;
  /** `v5litepod-16` or `2 x v5litepod-16`. */
  readonly slice: string;
  /** Members of an array: each time starts a group. Absent: each time starts one job. */
  readonly members?: number;
  readonly createdAt: EpochMs;
  /** Hash of all that it was made of: the same again is the same schedule. */
  readonly contentHash: string;
}

export interface StartFiringInput {
  readonly firing: Firing;
  readonly submission: JobInput;
  readonly wallClock?: string;
  /** Nothing is to be started any more: it is only looked whether an earlier try did. */
  readonly isCancelled?: true;
}
export type StartedFiring =
  /** It is there, from now on or already. */
  { readonly kind: 'started' } | { readonly kind: 'skipped' | 'not-started'; readonly why: string };

export interface FiringActivities {
  /** Starts the job or group of a firing. Repeating is safe: that of the same firing is not started again. */
  startFiring(input: StartFiringInput): Promise<StartedFiring>;
  /** The reason why a worker has refused a job, as its user would read it. Absent: nobody knows it any more. */
  readRefusal(input: { readonly id: string }): Promise<{ readonly why?: string }>;
}

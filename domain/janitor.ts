/**
 * Limit of orphans in one sweep. If it finds more, the fault is probably in jobctl or its configuration, so nothing is deleted.
 */
export const MOST_DELETIONS_PER_SWEEP = 5;

/**
 * Attempts from which on a workflow task counts as failing permanently. One or two attempts fail when a worker is killed or
 * overloaded. Temporal waits longer before each next attempt, so the fifth comes after some ten seconds at the earliest.
 */
export const WEDGED_FROM_ATTEMPT = 5;

export interface ResourceFacts {
  /** The cloud listed the slice. False: only its workflow was listed as open, and may have ended well a moment later. */
  readonly isInCloud: boolean;
  /** `unknown`: Temporal does not know it: its store was restored from a backup, or the slice is another installation's. */
  readonly slice: 'open' | 'closed' | 'unknown';
  readonly isJobOpen: boolean;
  /** Milliseconds since the job's chain of runs closed. Absent: the job is open, or Temporal does not know it. */
  readonly jobClosedForMs?: number;
  /** Attempts of the slice's pending workflow task. 0: no task is pending. */
  readonly taskAttempts: number;
}

/** Times for which a slice may outlive its job, in milliseconds. */
export interface SlicePatience {
  /** Until a slice whose workflow tasks fail is replaced: longer than a worker's restart. */
  readonly wedgedMs: number;
  /** Until a slice that is merely slow is reported: longer than a deletion after an unanswered create. */
  readonly slowMs: number;
}

/**
 * Verdict on a slice that carries our owner label (docs/adr/0035).
 * - `keep`: its workflow takes care of it.
 * - `reclaim`: its workflow is closed, so nothing takes care of it.
 * - `replace`: its job is closed and its workflow cannot continue: it is terminated, and a new one deletes the slice.
 * - `report-slow`: its job closed long ago and its workflow still works on it. A deletion may be refused; people must look.
 * - `report`: Temporal does not know the workflow or the job. Unknown is not dead (docs/design.md): people decide.
 */
export type ResourceVerdict = 'keep' | 'reclaim' | 'replace' | 'report-slow' | 'report';

export function judgeResource(
  { isInCloud, slice, isJobOpen, jobClosedForMs, taskAttempts }: ResourceFacts,
  { wedgedMs, slowMs }: SlicePatience,
): ResourceVerdict {
  if (slice === 'closed') return isInCloud ? 'reclaim' : 'keep';
  if (isJobOpen) return 'keep';
  if (slice === 'unknown' || jobClosedForMs === undefined) return 'report';
  if (taskAttempts >= WEDGED_FROM_ATTEMPT && jobClosedForMs >= wedgedMs) return 'replace';
  return jobClosedForMs >= slowMs ? 'report-slow' : 'keep';
}

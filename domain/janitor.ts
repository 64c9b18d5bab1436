/** More orphans than this in one sweep is a sign that we are wrong, not that the world is: nothing is deleted then. */
export const MOST_DELETIONS_PER_SWEEP = 5;

export interface ResourceFacts {
  /** `unknown`: Temporal has no such workflow (any more); a store restored from a backup, or another installation's doing. */
  readonly slice: 'open' | 'closed' | 'unknown';
  readonly isJobOpen: boolean;
}

/**
 * What to do about a resource that carries our owner label. `keep`: its workflow looks after it. `reclaim`: its workflow is
 * known to be closed, so nobody does. `report`: a workflow that is NOT_FOUND is unknown, not dead (DESIGN.md 2): people
 * decide.
 */
export function judgeResource({ slice, isJobOpen }: ResourceFacts): 'keep' | 'reclaim' | 'report' {
  if (slice === 'open') return 'keep';
  if (slice === 'closed') return 'reclaim';
  return isJobOpen ? 'keep' : 'report';
}

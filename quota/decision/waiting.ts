import type { ProjectUse, UserUse } from './project-use.js';
import type { QuotaRequest } from '../quota-config.js';
import type { Shape } from './shapes.js';
import type { Outcome } from './verdict.js';

/**
 * Requests that nothing but user, time and id tells apart: what a pass cannot do for one of them, it can do for none that
 * comes after it.
 */
export interface Kind {
  readonly project: ProjectUse;
  readonly priority: number;
  readonly shape: Shape;
  /** The one that was read last; the others by `before`. Most kinds have one or two: no array is made for each. */
  last: Waiting | undefined;
  /** Allowed tiers where it lies on nominal quota as the pass begins, best first; without those where it cools down. */
  readonly inQuota: readonly number[];
  /** Of the first that nothing could be done for, in the step that is under way. */
  blocked: Outcome | undefined;
}

/** A request while a pass is made. */
export interface Waiting {
  readonly request: QuotaRequest;
  readonly user: UserUse;
  readonly kind: Kind;
  /** The one of its kind that was read before it. */
  readonly before: Waiting | undefined;
  /** Once it was granted, or chips were claimed for it; until then its kind's counts. */
  served: Outcome | undefined;
}

/** Whether it goes on waiting: nothing was decided on it yet, or it was not granted. */
export const isWaiting = ({ served }: Waiting): boolean => served?.kind !== 'granted';

/** The requests of a kind. */
export function requestsOf(kind: Kind): readonly Waiting[] {
  const all: Waiting[] = [];
  for (let each = kind.last; each !== undefined; each = each.before) all.push(each);
  return all;
}

/** Whether any of the kind goes on waiting. */
export function isAnyWaiting(kind: Kind): boolean {
  for (let each = kind.last; each !== undefined; each = each.before) if (isWaiting(each)) return true;
  return false;
}

/** Whether it would lie on its project's nominal quota of this tier if it started now. */
export const isOnNominal = ({ project, shape, priority }: Kind, tier: number): boolean =>
  project.lot(tier).holds(shape, priority);

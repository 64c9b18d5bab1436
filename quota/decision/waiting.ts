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
  readonly waiting: Waiting[];
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
  /** Once it was granted, or chips were claimed for it; until then its kind's counts. */
  served: Outcome | undefined;
}

/** Whether it goes on waiting: nothing was decided on it yet, or it was not granted. */
export const isWaiting = ({ served }: Waiting): boolean => served?.kind !== 'granted';

/** Whether it would lie on its project's nominal quota of this tier if it started now. */
export const isOnNominal = ({ project, shape, priority }: Kind, tier: number): boolean =>
  project.lot(tier).holds(shape, priority);

/** First come, first served; the id is arbitrary but fixed. */
export function byTime(a: Waiting, b: Waiting): number {
  const [one, other] = [a.request, b.request];
  return one.submittedAt - other.submittedAt || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);
}

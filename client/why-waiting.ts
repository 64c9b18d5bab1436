import { jobOfLeaseKey } from '../domain/lease.js';
import type { EpochMs } from '../domain/units.js';
import { Explainer } from '../quota/explain.js';
import { plainWording } from '../quota/explanation/explain-words.js';
import type { Explanation } from '../quota/explanation/explanation.js';
import type { PoolSnapshot } from '../quota/published-state.js';
import { leastShort, remedies, type Remedy } from '../quota/explanation/remedies.js';

/** The reason why a job waits in its pool, as the pool was last published. */
export interface WhyWaiting {
  readonly why: Explanation;
  readonly remedies: readonly Remedy[];
  /** The least number of units that must come free, if the job lacks units. */
  readonly short?: { readonly type: string; readonly units: number };
  readonly at: EpochMs;
  readonly pool: string;
  readonly hasTiers: boolean;
  /** Freeze or drain by an admin. */
  readonly admission: PoolSnapshot['admission'];
  readonly admissionReason?: string;
  readonly admissionSet?: PoolSnapshot['admissionSet'];
  /** The problem of the pool's files. */
  readonly problem?: string;
  /** Slices whose chips do not come free, because their deletion does not end. */
  readonly stuck?: PoolSnapshot['stuck'];
}

/** Returns undefined if the published pool has no request of the job. */
export function whyWaiting(state: PoolSnapshot, job: string): WhyWaiting | undefined {
  const { view, at, pool, admission, admissionReason, admissionSet, problem, stuck } = state;
  const request = view.requests.find(({ id }) => jobOfLeaseKey(id) === job);
  const why = request && new Explainer(view, at).of(request.id);
  if (why === undefined) return undefined;
  const short = leastShort(why);
  return {
    why,
    remedies: remedies(view, at, why),
    ...(short === undefined ? {} : { short: { type: short.type, units: short.short } }),
    at,
    pool,
    hasTiers: plainWording(view.config).hasTiers,
    admission,
    ...(admissionReason === undefined ? {} : { admissionReason }),
    ...(admissionSet === undefined ? {} : { admissionSet }),
    ...(problem === undefined ? {} : { problem }),
    ...(stuck === undefined ? {} : { stuck }),
  };
}

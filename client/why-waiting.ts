import { jobOfLeaseKey } from '../domain/lease.js';
import type { EpochMs } from '../domain/units.js';
import { Explainer } from '../quota/explain.js';
import { plainWording } from '../quota/explanation/explain-words.js';
import type { Explanation } from '../quota/explanation/explanation.js';
import type { PoolSnapshot } from '../quota/published-state.js';
import { leastShort, remedies, type Remedy } from '../quota/explanation/remedies.js';

/** Why a job waits in its pool, as the pool was published last. */
export interface WhyWaiting {
  readonly why: Explanation;
  readonly remedies: readonly Remedy[];
  /** Units that have to come free at least, where that is what it lacks. */
  readonly short?: { readonly type: string; readonly units: number };
  readonly at: EpochMs;
  readonly pool: string;
  readonly hasTiers: boolean;
  /** An admin's word on a freeze or a drain. */
  readonly admission: PoolSnapshot['admission'];
  readonly admissionReason?: string;
  /** What is wrong with the pool's files. */
  readonly problem?: string;
  /** Slices whose chips do not come free, because their deletion does not end. */
  readonly stuck?: PoolSnapshot['stuck'];
}

/** Undefined where the pool, as it was published, has no request of the job's. */
export function whyWaiting(state: PoolSnapshot, job: string): WhyWaiting | undefined {
  const { view, at, pool, admission, admissionReason, problem, stuck } = state;
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
    ...(problem === undefined ? {} : { problem }),
    ...(stuck === undefined ? {} : { stuck }),
  };
}

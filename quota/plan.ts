import type { EpochMs } from '../domain/units.js';
import { plainWording, reasonText } from './explanation/explain-words.js';
import type { Wording } from './explanation/explain-words.js';
import { Explainer } from './explain.js';
import type { Explanation, Reason } from './explanation/explanation.js';
import type { Pool } from './quota-config.js';
import { renamedReason } from './explanation/renamed.js';

/**
 * What one decision would do: the answer of `quota plan --output json`. Other tools read it (docs/quota.md, "What if"): keys
 * are added, never changed.
 */
export interface Plan {
  readonly grants: readonly { readonly id: string; /** 0 = the best. */ readonly tier: number }[];
  /** Leases that would have to go, each for one of `waiting`. */
  readonly preemptions: readonly { readonly id: string; readonly for: string }[];
  /** Those who would go on waiting, in the order of service. */
  readonly waiting: readonly PlannedWait[];
}
export interface PlannedWait {
  readonly id: string;
  /** 1 = first. */
  readonly position: number;
  /** Every reason as a sentence; one at least. */
  readonly reasons: readonly string[];
  /** The same reasons, in the same order, for programs. */
  readonly details: readonly Reason[];
}

/** @param wording of ids and reasons; absent: ids as they are, times in ISO 8601 */
export function planOf(pool: Pool, now: EpochMs, wording: Wording = plainWording(pool.config)): Plan {
  const explainer = new Explainer(pool, now);
  const { decision, line } = explainer.pass;
  const nameOf = (id: string): string => wording.nameOf(id);
  return {
    grants: decision.grants.map(({ id, tier }) => ({ id: nameOf(id), tier })),
    preemptions: decision.preemptions.map(({ id, for: whom }) => ({ id: nameOf(id), for: nameOf(whom) })),
    waiting: line.flatMap(({ id }) => {
      const why = explainer.of(id);
      return why === undefined ? [] : [plannedWait(why, wording)];
    }),
  };
}

function plannedWait(why: Explanation, wording: Wording): PlannedWait {
  const nameOf = (id: string): string => wording.nameOf(id);
  return {
    id: nameOf(why.id),
    position: why.position,
    reasons: why.reasons.map((reason) => reasonText(reason, why, wording)),
    details: why.reasons.map((reason) => renamedReason(reason, nameOf)),
  };
}

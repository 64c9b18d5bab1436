import type { EpochMs } from '../../domain/units.js';
import type { Decision, QuotaRequest } from '../quota-config.js';

/** A reason why a request does not start in one tier at the end of the pass. All that apply are given, in this order. */
export type TierProblem =
  /** The tier's chips are bought in another way than the job wants. */
  | { readonly kind: 'pricing'; readonly tier: number }
  /** The tier could not hold the gang if it were empty. */
  | { readonly kind: 'size'; readonly tier: number; readonly type: string; readonly has: number }
  /** All zones of the request cool down here, for at least one of its types, until then (rule 12). */
  | { readonly kind: 'cool-down'; readonly tier: number; readonly until: EpochMs }
  /**
   * Too few units are free. Of the tier's units of this type, `free` may be used by the request, `reserved` collect for
   * reservations, `claimed` wait for requests before it (rule 7), and `draining` come free. `free` is 0 if the pool was shrunk.
   */
  | {
      readonly kind: 'room';
      readonly tier: number;
      readonly type: string;
      readonly asked: number;
      readonly free: number;
      readonly reserved: number;
      readonly claimed: number;
      readonly draining: number;
    }
  /**
   * The project's nominal quota covers the request, but this tier has no room for it: `within` units are claimed, or in use
   * within nominal quota (rule 3).
   */
  | { readonly kind: 'crowded'; readonly tier: number; readonly type: string; readonly within: number }
  /** The project may borrow `limit` over all tiers, and borrows `borrowed` without this request. */
  | {
      readonly kind: 'borrowing-limit';
      readonly tier: number;
      readonly type: string;
      readonly borrowed: number;
      readonly limit: number;
    }
  /** `kept` units must stay free for other projects, which do not lend them. */
  | { readonly kind: 'lending-limit'; readonly tier: number; readonly type: string; readonly kept: number }
  /** The request cools down, and another one that does not cool down waits for chips of this type (rule 12). */
  | { readonly kind: 'after-others'; readonly tier: number; readonly type: string };

/** The decision of a pass on one request. */
export type Outcome =
  | { readonly kind: 'granted'; readonly tier: number; readonly isFromReservation: boolean }
  /** In quota: free and draining chips, and those of `targets` (preempted in this pass), are claimed for it. */
  | { readonly kind: 'claimed'; readonly tier: number; readonly targets: readonly string[] }
  /** In quota: reservations keep the chips from it, until `until` at the latest (rule 8). */
  | { readonly kind: 'held-back'; readonly tier: number; readonly by: readonly string[]; readonly until: EpochMs }
  /** In quota: protected borrowers have its chips; the first of them is protected until `until` (rule 6). */
  | { readonly kind: 'protected'; readonly tier: number; readonly by: readonly string[]; readonly until: EpochMs }
  /** Best effort with a reservation: chips collect for it. It is dissolved at `until` (rule 8). */
  | { readonly kind: 'collecting'; readonly tier: number; readonly madeAt: EpochMs; readonly until: EpochMs }
  /** The pool is frozen (rule 10). */
  | { readonly kind: 'frozen' }
  /** The request gets nothing for now; `problems` say why. */
  | { readonly kind: 'passed-over' };

export interface Verdict {
  readonly request: QuotaRequest;
  /** Place in the order of service among requests that go on waiting, 1 = first; 0 if it was granted. */
  readonly position: number;
  /** Whether it is in quota in an allowed tier when its turn comes. */
  readonly isInQuota: boolean;
  readonly outcome: Outcome;
  /** Problems in each tier; empty if it was granted. */
  readonly problems: readonly TierProblem[];
}

/** One decision with its reasons. The reasons are made on demand, from the same run of the rules. */
export interface Pass {
  readonly decision: Decision;
  /** Requests that go on waiting, in the order of service. */
  readonly line: readonly QuotaRequest[];
  /** Undefined if `id` did not wait. */
  verdictOf(id: string): Verdict | undefined;
}

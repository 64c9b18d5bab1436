import type { Pricing } from '../../domain/slice.js';
import type { EpochMs, QuotaUnits } from '../../domain/units.js';

/** A job that has units, and their number: of the reason's type, or of all types if the reason names none. */
export interface Holder {
  readonly id: string;
  readonly project: string;
  readonly units: number;
}

/** Units of one type that a project has. */
export interface ProjectUnits {
  readonly project: string;
  readonly units: number;
}

/**
 * A reason why a job does not start: a closed list, for programs. `tier` counts from 0, the best. Units are quota units. Each
 * reason holds now, whatever the others say.
 */
export type Reason =
  /** An admin stopped grants (rule 10). */
  | { readonly code: 'frozen' }
  /** No tier that the job may use could hold it if it were empty. */
  | {
      readonly code: 'never-fits';
      readonly tier: number;
      readonly type: string;
      readonly asked: number;
      readonly has: number;
    }
  /** The tier's chips are bought in another way than the job wants. */
  | { readonly code: 'pricing'; readonly tier: number; readonly pricing: Pricing; readonly wanted: Pricing }
  /** The job does not fit whole into the rest of its project's nominal quota, so all of it would be borrowed (rule 3). */
  | {
      readonly code: 'over-nominal';
      /** The best tier that it may use. */
      readonly tier: number;
      /** All tiers that it may use, if there are several; `nominal` is their sum. */
      readonly tiers?: readonly number[];
      readonly type: string;
      readonly asked: number;
      readonly nominal: number;
      /** Units of nominal quota used by jobs that count before it. */
      readonly used: number;
      readonly by: readonly Holder[];
    }
  /**
   * The project's nominal quota covers the job, but this tier has no room for it: `within` units are in use within nominal quota,
   * and their jobs are not preempted (rule 3).
   */
  | {
      readonly code: 'crowded';
      readonly tier: number;
      readonly type: string;
      readonly asked: number;
      readonly total: number;
      readonly within: number;
    }
  /** The job lacks `short` units. It may use the `free` ones, collected ones too. Other free units are reserved or claimed. */
  | {
      readonly code: 'short';
      readonly tier: number;
      readonly type: string;
      readonly total: number;
      readonly inUse: number;
      readonly free: number;
      readonly short: number;
    }
  /** Units that are free or come free collect for a job that waited long (rule 8). */
  | {
      readonly code: 'reserved';
      readonly tier: number;
      readonly type: string;
      readonly units: number;
      readonly for: string;
      readonly since: EpochMs;
    }
  /** Free units that are kept for jobs before this one (rule 7). */
  | { readonly code: 'claimed'; readonly tier: number; readonly type: string; readonly units: number }
  /**
   * Units that are coming free: their jobs released them, or were told to (rule 7). `isForIt`: they are claimed for this job,
   * which starts once they are free.
   */
  | {
      readonly code: 'draining';
      readonly tier: number;
      readonly type: string;
      readonly units: number;
      readonly by: readonly Holder[];
      readonly isForIt: boolean;
    }
  /** Other jobs borrow, and this job would borrow too. A borrower preempts no lease (rule 4). */
  | { readonly code: 'borrowers'; readonly tier: number; readonly type: string; readonly by: readonly ProjectUnits[] }
  /** Borrowers that have not run long enough hold units that the job may take. The first can be preempted at `until` (rule 6). */
  | { readonly code: 'protected'; readonly tier: number; readonly by: readonly string[]; readonly until: EpochMs }
  /** Reservations may keep units from in-quota demand until `until` (rule 8). */
  | { readonly code: 'held-back'; readonly tier: number; readonly by: readonly string[]; readonly until: EpochMs }
  /** The job's own reservation collects units. It is dissolved at `until` if it is not full by then (rule 8). */
  | { readonly code: 'collecting'; readonly tier: number; readonly since: EpochMs; readonly until: EpochMs }
  /** The project may borrow `limit` units of the type, and borrows `borrowed` already. */
  | {
      readonly code: 'borrowing-limit';
      readonly tier: number;
      readonly type: string;
      readonly asked: number;
      readonly borrowed: number;
      readonly limit: number;
    }
  /** `kept` units stay free for projects that do not lend them. */
  | { readonly code: 'lending-limit'; readonly tier: number; readonly type: string; readonly kept: number }
  /** None of the job's zones had chips lately; the first is asked again at `until` (rule 12). */
  | { readonly code: 'cool-down'; readonly tier: number; readonly zones: readonly string[]; readonly until: EpochMs }
  /** The job cools down, and others that do not cool down wait for the same chips (rule 12). */
  | { readonly code: 'after-others'; readonly tier: number; readonly type: string };

export type ReasonCode = Reason['code'];

/** Something that happens by rule at a known time, and may let the job start. */
export interface DueTime {
  readonly at: EpochMs;
  readonly what: 'protection-ends' | 'held-back-ends' | 'reservation' | 'cool-down-ends' | 'asking-ends';
  /** The job whose protection or asking ends. */
  readonly of?: string;
}

/** The full explanation of one waiting job. */
export interface Explanation {
  readonly id: string;
  readonly project: string;
  readonly user: string;
  readonly priority: number;
  readonly units: QuotaUnits;
  /** 1 = first in the order of service; 0: it starts now. */
  readonly position: number;
  readonly of: number;
  /** The job just before it in the order of service. */
  readonly behind?: string;
  readonly isInQuota: boolean;
  /** Empty if it starts now; never empty otherwise. */
  readonly reasons: readonly Reason[];
  /** Jobs that have the chips that this job lacks, most first. The pool's other jobs are not named. */
  readonly holders: readonly Holder[];
  /** Earliest first. */
  readonly due: readonly DueTime[];
}

/** Gives ids other names. For people a job is called by its own id, not by the id of its lease. */
export type NameOf = (id: string) => string;

const holder =
  (nameOf: NameOf) =>
  (each: Holder): Holder => ({ ...each, id: nameOf(each.id) });

/** The same reason with the jobs in it renamed. */
export function renamedReason(reason: Reason, nameOf: NameOf): Reason {
  switch (reason.code) {
    case 'over-nominal':
    case 'draining':
      return { ...reason, by: reason.by.map(holder(nameOf)) };
    case 'reserved':
      return { ...reason, for: nameOf(reason.for) };
    case 'protected':
    case 'held-back':
      return { ...reason, by: reason.by.map(nameOf) };
    default:
      return reason;
  }
}

/** The same explanation with all jobs renamed, its own job too. */
export function renamed(why: Explanation, nameOf: NameOf): Explanation {
  const { id, behind, reasons, holders, due } = why;
  return {
    ...why,
    id: nameOf(id),
    ...(behind === undefined ? {} : { behind: nameOf(behind) }),
    reasons: reasons.map((reason) => renamedReason(reason, nameOf)),
    holders: holders.map(holder(nameOf)),
    due: due.map((time): DueTime => (time.of === undefined ? time : { ...time, of: nameOf(time.of) })),
  };
}

import type { Pricing } from '../../domain/slice.js';
import type { EpochMs, QuotaUnits } from '../../domain/units.js';
import type { Decision, LeaseState, Pool, Preemption } from '../../quota/quota-config.js';

/** Who gets chips and who gives them up: `decide`, or a rival of it. */
export type Policy = (pool: Pool, now: EpochMs) => Decision;

export interface SimulatedJob {
  readonly id: string;
  readonly project: string;
  readonly user: string;
  readonly priority: number;
  readonly submitAt: EpochMs;
  readonly units: QuotaUnits;
  /** How long it has to hold its chips until it is done, in ms; absent: it holds them until it is cancelled. */
  readonly workMs?: number;
  readonly pricing?: Pricing;
  readonly zones?: readonly string[];
}

/** A lease that asks for chips, as the world sees it. */
export interface Ask {
  readonly job: SimulatedJob;
  readonly tier: number;
  readonly zone?: string;
  readonly at: EpochMs;
}

/** The cloud and the jobs' manners. Durations in ms, 0 or more. */
export interface World {
  /** From the revocation of a held lease until its job lets go; at most. A job may be faster: see `graceOf`. */
  readonly graceMs: number;
  /** From letting go until the slices are seen gone. */
  readonly drainMs: number;
  /** From asking until the chips are there; undefined: they never are. */
  readonly chipsAfterMs: (ask: Ask) => number | undefined;
  /** From the chips' arrival until the provider takes them; undefined or absent: never. */
  readonly lossAfterMs?: (ask: Ask) => number | undefined;
  /** How much of the work since the chips came is kept; absent: all. */
  readonly workKeptMs?: (job: SimulatedJob, workedMs: number, cause: Preemption['cause'] | 'provider') => number;
  /** How long the job takes to let go, up to `graceMs`; absent: all of it. */
  readonly graceOf?: (job: SimulatedJob) => number;
}

/** One lease of a job, from its grant on. */
export interface Stay {
  readonly lease: string;
  readonly tier: number;
  readonly zone?: string;
  readonly isFromReservation: boolean;
  /** Since when the job had waited for this lease. */
  readonly waitedSince: EpochMs;
  readonly grantedAt: EpochMs;
  /** When it first had its chips. */
  chipsAt?: EpochMs;
  revokedAt?: EpochMs;
  revokedFor?: string;
  cause?: Preemption['cause'];
  /** When its slices were seen gone. */
  goneAt?: EpochMs;
}

/** What became of a job. */
export interface Story {
  readonly job: SimulatedJob;
  readonly stays: Stay[];
  /** How often the provider took its chips. */
  losses: number;
  /** Time with chips whose work was not kept, in ms. */
  lostMs: number;
  /** Time with chips, in ms, over all stays, to the last change. */
  heldMs: number;
  endedAt?: EpochMs;
  outcome?: 'done' | 'cancelled';
}

/** What was decided, and on what, before it is carried out. */
export interface Instant {
  readonly at: EpochMs;
  readonly pool: Pool;
  readonly decision: Decision;
}

/** Builds `Pool.leases` entries from these; the simulation owns them. */
export interface SimulatedLease {
  readonly id: string;
  readonly story: Story;
  readonly stay: Stay;
  state: LeaseState;
  /** Held before `since`. */
  heldMs: number;
  /** When the state began. */
  since: EpochMs;
  /** Of an asking lease. */
  askingSince: EpochMs;
  /** Grows with each change of state: what was planned for an older one does nothing. */
  version: number;
}

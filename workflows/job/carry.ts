import type { JobSpec } from '../../domain/job-spec.js';
import type { EpochMs } from '../../domain/units.js';
import type { JobSettings, SliceView } from '../messages.js';
import type { AttemptsCarry } from './attempts.js';
import type { LeaseCarry } from './lease-hold.js';
import type { QuickEnds } from './looping.js';
import type { StoryCarry } from './story.js';
import type { EditedCarry } from './terms.js';
import type { WishesCarry } from './wishes.js';

/** Everything a job takes along when it continues as new. Plain JSON; of a later version only with an upgrader. */
export interface JobCarry {
  readonly v: 1;
  readonly spec: JobSpec;
  readonly settings: JobSettings;
  readonly submittedAt: EpochMs;
  readonly story: StoryCarry;
  readonly spent: Spent;
  /** How often quota took its chips back; no budget ends it. Absent: never. */
  readonly quotaPreemptions?: number;
  /** Of a job that loops. Absent: none. */
  readonly quickEnds?: QuickEnds;
  /** The job file in force, where it is not the submitted one. */
  readonly edited?: EditedCarry;
  /** What people asked and what is not done yet. */
  readonly wishes?: WishesCarry;
  readonly lease: LeaseCarry;
  readonly gang: { readonly slices: readonly SliceView[]; readonly zoneTry: number };
  readonly attempts: AttemptsCarry;
}

/** Attempts used up, by whose account they go on (DESIGN.md 2, "Separate budgets"). */
export interface Spent {
  readonly preemption: number;
  readonly infrastructure: number;
  readonly task: number;
}

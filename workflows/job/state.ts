import type { KeptMessage } from '../inbox.js';
import type { OthersCarry } from '../../contract/after.js';
import type { JobSettings, ZoneAnswer } from '../../contract/job.js';
import { askedMachines, askedSize } from '../../domain/machines.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { Demand } from '../../domain/lease.js';
import type { Retries, QuickEnds } from '../../domain/recovery/budgets.js';
import type { Suspect } from '../../domain/recovery/broken-machine.js';
import type { EpochMs } from '../../domain/units.js';
import type { AttemptCarry } from './attempt.js';
import type { EditedFile } from './job-file.js';
import type { LeaseCarry } from './lease.js';
import type { NoticesCarry } from './notices.js';
import type { RefusalsCarry } from './refusals.js';
import type { RequestsCarry } from './requests.js';
import type { SlicesCarry } from './slices.js';
import type { StoryCarry } from './story.js';
import type { UsageCarry } from './usage.js';
import type { ZonesCarry } from './zones.js';

/** The state of a job that its next run continues from. Plain JSON; another version needs an upgrader. */
export interface JobCarry {
  readonly v: 1;
  readonly spec: JobSpec;
  readonly settings: JobSettings;
  readonly submittedAt: EpochMs;
  readonly story: StoryCarry;
  /** Retries used up, by budget. */
  readonly spent: Retries;
  /** Number of preemptions by quota. No budget limits it. Absent: none. */
  readonly quotaPreemptions?: number;
  /** Refusals of its slices, since they were last all ready. Absent: none. */
  readonly refusals?: RefusalsCarry;
  /** The last refusal of each zone, since then. Absent: none. */
  readonly answers?: readonly ZoneAnswer[];
  /** Zones that were asked since all slices were last ready. Absent: none. */
  readonly askedZones?: readonly string[];
  /** Quick ends of a job that loops. Absent: none. */
  readonly quickEnds?: QuickEnds;
  /** Time since which it waits for chips. Absent: it does not wait, or has waited since it was submitted. */
  readonly waitingSince?: EpochMs;
  /** Others that it waits for, or waited for. Absent: none, or it has not looked yet. */
  readonly others?: OthersCarry;
  /** Absent: it has no inputs, or they were not found yet. */
  readonly inputs?: InputsCarry;
  /** Workflows that wait for its end. Absent: none. */
  readonly followers?: readonly string[];
  /** The machine on which its command failed last. Absent: no machine is suspect. */
  readonly suspect?: Suspect;
  /** The job file in force, if it is not the submitted one. */
  readonly edited?: EditedFile;
  /** Requests of people that are not fulfilled yet. */
  readonly requests?: RequestsCarry;
  readonly lease: LeaseCarry;
  readonly gang: SlicesCarry & { readonly zoneTry: number; readonly zones?: ZonesCarry };
  readonly attempt: AttemptCarry;
  /** Absent: the job began under an earlier build, and nothing is counted of the time before. */
  readonly usage?: UsageCarry;
  /** Events that were told, and those still to be. Absent: none. */
  readonly notices?: NoticesCarry;
  /** Messages of a version that this worker does not know. Absent: none. */
  readonly kept?: readonly KeptMessage[];
}

/** The last look for the job's inputs. */
export interface InputsCarry {
  /** When the inputs were last found, and the attempts that there were then. */
  readonly at: EpochMs;
  readonly attempts: number;
}

/** A job's demand on its pool, as long as the job is open. */
export function demandOf({
  spec,
  settings,
  submittedAt,
  others,
}: Pick<JobCarry, 'spec' | 'settings' | 'submittedAt' | 'others'>): Demand {
  const { zones, isAnyZone, accelerator, pricing } = askedMachines(spec);
  return {
    project: settings.project,
    user: settings.user,
    ...(settings.isVerified === true ? { isVerified: true as const } : {}),
    priority: spec.priority,
    // A job that waited for others stands in line since it could begin.
    submittedAt: others?.overAt ?? submittedAt,
    units: askedSize(spec).units,
    ...(spec.namedPricing === undefined ? {} : { pricing: spec.namedPricing }),
    zones,
    ...(isAnyZone && { anyZone: { accelerator, pricing: pricing === 'any' ? 'spot' : pricing } }),
  };
}

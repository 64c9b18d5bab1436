/** Activities of the quota workflow: inputs and results, all plain JSON. */
import type { JobRef } from './workflow-ids.js';
import type { AdmissionCall, ApplyCall } from './quota.js';
import type { Demand, LeaseId, LeaseMessage } from '../domain/lease.js';
import type { MachineRef } from '../domain/machines.js';
import type { Pricing } from '../domain/slice.js';
import type { Timings } from '../domain/timings.js';
import type { AdmissionSet } from '../quota/published-state.js';
import type { Preemption, QuotaConfig } from '../quota/quota-config.js';

/** Contents of a job's grant: its tier, and how that tier is bought. */
export interface GrantedLease extends LeaseId {
  readonly tier: number;
  readonly pricing?: Pricing;
  readonly reservation?: string;
  /** In a job with `zones: any`: all its zones, best first as its pool sees them now. */
  readonly zones?: readonly string[];
  /** Other tiers that could serve the job. Absent: there are none. */
  readonly otherTiers?: readonly number[];
}
/** A lease that its job must return. If `cause` is `beside`: only the request beside its first gang. */
export interface RevokedLease {
  readonly lease: LeaseId;
  readonly reason: string;
  readonly cause: Preemption['cause'] | 'beside';
}

export interface Deliveries {
  readonly pool: string;
  readonly epoch: number;
  readonly grants: readonly GrantedLease[];
  readonly revocations: readonly RevokedLease[];
  readonly priorities: readonly { readonly job: JobRef; readonly priority: number }[];
  readonly answers: readonly { readonly slice: string; readonly isHeld: boolean }[];
  /** Open jobs that are asked to repeat what they hold. */
  readonly restate: readonly JobRef[];
  /** Slices for a new slice workflow to find and delete, if none is open. */
  readonly reclaims: readonly { readonly lease: LeaseId; readonly ref: MachineRef }[];
  readonly releases: readonly { readonly slice: string; readonly reason: string }[];
  /** Slices that a person has given up. Absent: none, or the pool's workflow runs an earlier build. */
  readonly giveUps?: readonly { readonly slice: string; readonly reason: string }[];
}

/** Grants and revocations whose job is closed: their leases are returned. */
export interface DeliveryReport {
  readonly closedJobs: readonly LeaseId[];
}

/** Open work of a pool: all that a quota workflow without memory can know. */
export interface OpenWork {
  readonly jobs: readonly { readonly job: JobRef; readonly isQueued: boolean }[];
  readonly slices: readonly OpenSlice[];
  /** The admission that was published last. Absent: open. */
  readonly admission?: Admission;
}
export interface OpenSlice {
  readonly lease: LeaseId;
  readonly demand: Demand;
  readonly ref: MachineRef;
  /** False: only the cloud still has the slice, which must be reclaimed. */
  readonly isWorkflowOpen: boolean;
  /** The cloud lists the slice, so its create request was sent. */
  readonly isInCloud: boolean;
  /** Tier of its lease. Absent: the first. */
  readonly tier?: number;
}

/** Mismatches: leases of closed jobs, and slices whose workflow no longer exists. */
export interface StrayHolders {
  readonly closedJobs: readonly LeaseId[];
  readonly lostSlices: readonly { readonly lease: LeaseId; readonly ref: MachineRef }[];
}

/** Part of a lease book that is too long for a payload. */
export interface BookPart {
  readonly pool: string;
  readonly name: string;
}

/** An admin's setting of how the pool treats waiting and holding jobs. */
export interface Admission {
  readonly kind: AdmissionCall['admission'];
  readonly reason?: string;
  /** Absent: a pool that nobody has ever frozen or drained, or whose setting was recorded by an earlier build. */
  readonly set?: AdmissionSet;
}

export interface PoolFacts {
  /** Absent: the file cannot be read or is wrong, and the last good one stays in force. */
  readonly config?: QuotaConfig;
  readonly timings: Timings;
  /** The problem of the file. */
  readonly problem?: string;
  /** Origin of the files in force: a path, a URL, or `applied by alice`. */
  readonly source?: string;
  readonly warnings?: readonly string[];
  /** All zones that the pool file names, in its order. Absent: it names none. */
  readonly zones?: readonly string[];
  /** The Google project of jobs that name none. */
  readonly googleProject?: string;
  /** Identifies these contents: a later read with the same mark has the same contents. */
  readonly mark?: string;
}
/** The facts equal those that the workflow already has, whose mark it passed. */
export interface SameFacts {
  readonly same: string;
}

export interface LineQuestion {
  readonly pool: string;
  readonly job: string;
  readonly demand: Pick<Demand, 'priority' | 'units'>;
}

export interface QuotaActivities {
  /** Completes once the signal that carries the message is acknowledged. */
  sendLease(message: LeaseMessage): Promise<void>;
  deliver(batch: Deliveries): Promise<DeliveryReport>;
  /**
   * @param known the mark of the facts that the workflow has. Absent: it has none. If a file is wrong now, the result then holds
   * the last good files beside the problem.
   */
  loadPool(pool: string, known?: string): Promise<PoolFacts | SameFacts>;
  readOpenWork(pool: string): Promise<OpenWork>;
  /** Asks the pool's workflow for its holding and waiting jobs, and compares them with open workflows. Repeating is safe. */
  findStrays(pool: string): Promise<StrayHolders>;
  /** Whether the slices of a member of a group are wanted by another job, so that they are not lent on (docs/adr/0163). */
  isWaitedFor(question: LineQuestion): Promise<boolean>;
  /** Checks the files and keeps them. A refusal changes nothing. */
  applyFiles(pool: string, call: ApplyCall): Promise<ApplyAnswer>;
  writeHistory(part: HistoryPart): Promise<void>;
  keepBook(part: BookPart & { readonly text: string }): Promise<void>;
  /** Undefined if there is no such part. */
  readBook(part: BookPart): Promise<string | undefined>;
}

/** `message`: a sentence for the caller. A refusal lists every problem with file, line and column. */
export interface ApplyAnswer {
  readonly isApplied: boolean;
  readonly message: string;
}

/** Lines of a pool's history, under a name that depends only on the lines. */
export interface HistoryPart {
  readonly pool: string;
  /** YYYY-MM-DD in UTC. */
  readonly day: string;
  readonly name: string;
  readonly lines: readonly string[];
}

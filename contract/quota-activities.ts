/** What the quota workflow asks of its activities: inputs and results, all plain JSON. */
import type { JobRef } from './workflow-ids.js';
import type { AdmissionCall, ApplyCall } from './quota.js';
import type { Demand, LeaseId, LeaseMessage } from '../domain/lease.js';
import type { MachineRef } from '../domain/machines.js';
import type { Pricing } from '../domain/slice.js';
import type { Timings } from '../domain/timings.js';
import type { Preemption, QuotaConfig } from '../quota/quota-config.js';

/** What a job is told with its grant: as what its tier is bought. */
export interface GrantedLease extends LeaseId {
  readonly tier: number;
  readonly pricing?: Pricing;
  readonly reservation?: string;
  /** Of a job with `zones: any`: all of its zones, the best first as its pool sees them now. */
  readonly zones?: readonly string[];
  /** Tiers beside this one in which the job could be. Absent: none. */
  readonly otherTiers?: readonly number[];
}
/** A lease whose job is to give it back; or, where `cause` is `beside`, only what it asks for beside its first gang. */
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
  /** Open jobs that are asked to say again what they hold. */
  readonly restate: readonly JobRef[];
  /** Slices to be found and deleted by a slice workflow of their own, where none is open. */
  readonly reclaims: readonly { readonly lease: LeaseId; readonly ref: MachineRef }[];
  readonly releases: readonly { readonly slice: string; readonly reason: string }[];
  /** Slices that a person has given up. Absent: none, of a pool of an earlier build. */
  readonly giveUps?: readonly { readonly slice: string; readonly reason: string }[];
}

/** Grants and revocations whose job is closed: the lease comes back. */
export interface DeliveryReport {
  readonly closedJobs: readonly LeaseId[];
}

/** What is open in a pool: all that a quota workflow without memory can know. */
export interface OpenWork {
  readonly jobs: readonly { readonly job: JobRef; readonly isQueued: boolean }[];
  readonly slices: readonly OpenSlice[];
  /** As it was published last; absent: open. */
  readonly admission?: Admission;
}
export interface OpenSlice {
  readonly lease: LeaseId;
  readonly demand: Demand;
  readonly ref: MachineRef;
  /** False: only the cloud still has it; it is to be reclaimed. */
  readonly isWorkflowOpen: boolean;
  /** The cloud listed it, so its create was sent. */
  readonly isInCloud: boolean;
  /** Of its lease; absent: the first. */
  readonly tier?: number;
}

/** What does not go together: leases of jobs that are closed, slices whose workflow is no more. */
export interface StrayHolders {
  readonly closedJobs: readonly LeaseId[];
  readonly lostSlices: readonly { readonly lease: LeaseId; readonly ref: MachineRef }[];
}

/** Part of a lease book that is too long for a payload. */
export interface BookPart {
  readonly pool: string;
  readonly name: string;
}

/** An admin's word on what the pool does with those who wait, and with those who hold. */
export interface Admission {
  readonly kind: AdmissionCall['admission'];
  readonly reason?: string;
}

export interface PoolFacts {
  /** Absent where the file cannot be read or is wrong: the last good one stays in force. */
  readonly config?: QuotaConfig;
  readonly timings: Timings;
  /** What is wrong with the file. */
  readonly problem?: string;
  /** Where the files in force come from: a path, a URL, or `applied by alice`. */
  readonly source?: string;
  readonly warnings?: readonly string[];
  /** All zones that the pool file names, in its order. Absent: none. */
  readonly zones?: readonly string[];
  /** Of jobs that name none. */
  readonly googleProject?: string;
  /** Of all of this as it was read: what is read again and has the same mark is the same. */
  readonly mark?: string;
}
/** Nothing is other than what the workflow has, with the mark that it named. */
export interface SameFacts {
  readonly same: string;
}

export interface QuotaActivities {
  /** Completes when the signal that carried the message was acknowledged. */
  sendLease(message: LeaseMessage): Promise<void>;
  deliver(batch: Deliveries): Promise<DeliveryReport>;
  /**
   * @param known the mark of what the workflow has; absent: it has nothing. Then the last
   * good files are told where one is wrong as it is now, beside its problem
   */
  loadPool(pool: string, known?: string): Promise<PoolFacts | SameFacts>;
  readOpenWork(pool: string): Promise<OpenWork>;
  /** Asks the pool's workflow who holds and who waits, and compares that with what is open. Repeating is safe. */
  findStrays(pool: string): Promise<StrayHolders>;
  /** Checks the files and keeps them; a refusal changes nothing. */
  applyFiles(pool: string, call: ApplyCall): Promise<ApplyAnswer>;
  writeHistory(part: HistoryPart): Promise<void>;
  keepBook(part: BookPart & { readonly text: string }): Promise<void>;
  /** Undefined: it is not there. */
  readBook(part: BookPart): Promise<string | undefined>;
}

/** `message`: a sentence for who called; of a refusal, every problem with file, line and column. */
export interface ApplyAnswer {
  readonly isApplied: boolean;
  readonly message: string;
}

/** Lines of a pool's history, under a name that the same lines always get. */
export interface HistoryPart {
  readonly pool: string;
  /** YYYY-MM-DD in UTC. */
  readonly day: string;
  readonly name: string;
  readonly lines: readonly string[];
}

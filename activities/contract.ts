/**
 * What the workflows ask of the activities: inputs and results, all plain JSON. Workflows import types from here only.
 */
import type { StopNotice } from '../cloud/hosts/port.js';
import type { CreateAnswer } from '../cloud/tpu/port.js';
import type { JobSpec } from '../domain/job-spec.js';
import type { Outcome } from '../domain/job-state.js';
import type { LeaseId, LeaseMessage, Demand } from '../domain/lease.js';
import type { Ownership, Pricing, SliceHost, SlicePlan, SliceRef } from '../domain/slice.js';
import type { LastSign } from '../domain/silence.js';
import type { SliceCondition } from '../domain/slice-condition.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';
import type { UnreadyHosts } from '../domain/unready-hosts.js';
import type { Preemption, QuotaConfig } from '../quota/quota-config.js';
import type { AdmissionCall, ApplyCall, JobEvent, JobInput, JobSettings } from '../workflows/messages.js';

export type { CreateAnswer, StopNotice };

export interface JobRef {
  readonly id: string;
  /** First run id of the chain. */
  readonly run: string;
}

// Of a job ---------------------------------------------------------------------------------------------------------

export interface AcceptJobInput {
  readonly job: JobRef;
  readonly spec: JobSpec;
  readonly input: JobInput;
}

/** What a job is held to from now on. */
export interface AcceptedJob extends JobSettings {
  /** The job's `tpu` with its pool's defaults in it. */
  readonly tpu?: JobSpec['tpu'];
}

/** One slice of an attempt, ready. */
export interface ReadySlice {
  readonly index: number;
  readonly ref: SliceRef;
  readonly ownership: Ownership;
  readonly nodeId: string;
  readonly hosts: readonly SliceHost[];
}

export interface AttemptInput {
  readonly job: JobRef;
  readonly spec: JobSpec;
  readonly settings: JobSettings;
  readonly attempt: number;
  readonly slices: readonly ReadySlice[];
  readonly files: Readonly<Record<string, string>>;
  /** As in `JobInput`. */
  readonly identityKeys?: Readonly<Record<string, string>>;
  readonly previousEnd?: string;
}

/** Slices on which nothing runs, kept for a while. */
export interface HoldInput {
  readonly slices: readonly ReadySlice[];
  readonly timings: Timings;
}

/** A set-up that a person asked for. */
export interface SetUpAgainInput extends AttemptInput {
  /** `isForced`: also what is found unchanged. */
  readonly again: { readonly modules: readonly string[]; readonly isForced: boolean };
}

export interface StopInput extends AttemptInput {
  /** What the command is told; absent: asked for by a job of 0.1.0, which stopped at a cancel only. */
  readonly notice?: StopNotice;
}

/** Where in the job something happened. */
export interface HostPlace {
  readonly slice: number;
  readonly host: number;
}

export interface LostSlice {
  readonly index: number;
  readonly cause: 'preempted' | 'failed';
  readonly message: string;
}

/** The job has an outcome in the store: Temporal was set back to a time before it. Nothing was done. */
export interface EndedBefore {
  readonly kind: 'ended-before';
  readonly outcome: Outcome;
}

export type SetUpEnd =
  | { readonly kind: 'ready' }
  | { readonly kind: 'module-failed'; readonly at: HostPlace; readonly module: string; readonly message: string }
  /** Nothing that the job could mend: the host does not answer, or what may pass did not. Its slice is to go. */
  | { readonly kind: 'host-bad'; readonly at: HostPlace; readonly module: string; readonly message: string }
  | { readonly kind: 'slices-lost'; readonly slices: readonly LostSlice[] }
  /** This worker is shutting down: another one goes on. Or `stopSetUp` ended it, `unready` then says how far it was. */
  | { readonly kind: 'handed-over'; readonly unready?: UnreadyHosts }
  | EndedBefore;

export type AttemptEnd =
  /** The command ended on all of its hosts; `exit` of the first that failed, or of host 0. */
  | {
      readonly kind: 'exited';
      readonly code: number;
      readonly signal?: string;
      readonly at: HostPlace;
      readonly startedAt: EpochMs;
      /** jobctl had asked for its end: its code is an answer to that. */
      readonly isStopped?: true;
    }
  | { readonly kind: 'slices-lost'; readonly slices: readonly LostSlice[] }
  /** Of a job with `timeouts.no_output`: nothing was printed for that long. The command still runs. */
  | { readonly kind: 'no-output'; readonly last: LastSign & { readonly at: EpochMs } }
  /** The host was rebooted, or the runner was killed: the command is gone without an exit code. */
  | { readonly kind: 'run-lost'; readonly at: HostPlace; readonly message: string }
  /** The hosts know of a later attempt (the job was reset): that one is to be attended. */
  | { readonly kind: 'fenced'; readonly epoch: number }
  | { readonly kind: 'handed-over' }
  /** `superviseMs` is over; nothing happened. */
  | { readonly kind: 'still-running' }
  | EndedBefore;

export interface AttemptRecord {
  readonly attempt: number;
  readonly zone: string;
  readonly nodes: readonly { readonly name: string; readonly nodeId: string; readonly hosts: readonly SliceHost[] }[];
  readonly startedAt: EpochMs;
  readonly endedAt?: EpochMs;
  readonly end?: string;
}

export interface JobActivities {
  /** Checks the job against this installation (project, pool, key), stores its spec, freezes its settings. */
  acceptJob(input: AcceptJobInput): Promise<AcceptedJob>;
  /** Names the queue of one live worker; its connections serve the attempt from now on. */
  claimWorker(): Promise<{ readonly taskQueue: string }>;
  setUpHosts(input: AttemptInput): Promise<SetUpEnd>;
  /** Some of the attempt's modules once more, on any worker. Repeating is safe. */
  setUpAgain(input: SetUpAgainInput): Promise<SetUpEnd>;
  /** Ends a set-up that this worker has under way: it then ends as handed over. Does not wait for it. */
  stopSetUp(of: Pick<AttemptInput, 'job' | 'attempt'>): Promise<void>;
  /** Starts the command on every host (once), follows its output into the store, ends with the attempt. */
  superviseAttempt(input: AttemptInput): Promise<AttemptEnd>;
  /** Ends the command on every host that can be reached, with a notice; bounded by the grace. Repeating is safe. */
  stopAttempt(input: StopInput): Promise<void>;
  /** Ends with evidence that slices are lost. */
  holdSlices(input: HoldInput): Promise<readonly LostSlice[]>;
  recordAttempt(input: {
    readonly job: JobRef;
    readonly record: AttemptRecord;
    readonly events: readonly JobEvent[];
    /** Text of the job file that this attempt runs by, where it is not the one that was submitted. */
    readonly source?: string;
  }): Promise<void>;
  /** Stores the outcome, once: an outcome that is there already stays. */
  recordOutcome(input: {
    readonly job: JobRef;
    readonly outcome: Outcome;
    readonly events: readonly JobEvent[];
  }): Promise<void>;
}

// Of a slice -------------------------------------------------------------------------------------------------------

export interface AwaitSliceInput {
  readonly ref: SliceRef;
  readonly ownership: Ownership;
  readonly operation?: string;
  readonly timings: Timings;
}

export interface DeleteSliceInput {
  readonly ref: SliceRef;
  readonly ownership: Ownership;
  /** NOT_FOUND before this time proves nothing: an unanswered create may still take effect. */
  readonly notBefore: EpochMs;
  readonly timings: Timings;
}

export interface SliceActivities {
  createSlice(plan: SlicePlan): Promise<CreateAnswer>;
  /** One direct look. */
  inspectSlice(input: AwaitSliceInput): Promise<SliceCondition>;
  /** Watches until the slice is ready, lost, foreign, being deleted, or missing twice apart. */
  awaitSlice(input: AwaitSliceInput): Promise<SliceCondition>;
  /** Deletes until nothing of this name and owner is seen any more. Never touches a foreign resource. */
  deleteUntilGone(input: DeleteSliceInput): Promise<void>;
  /** Whether the chain of runs that began with `run` has an open run. */
  isJobOpen(job: JobRef): Promise<boolean>;
}

// Of the quota workflow --------------------------------------------------------------------------------------------

/** What a job is told with its grant: as what its tier is bought. */
export interface GrantedLease extends LeaseId {
  readonly tier?: number;
  readonly pricing?: Pricing;
  readonly reservation?: string;
}
/** A lease whose job is to give it back. */
export interface RevokedLease {
  readonly lease: LeaseId;
  readonly reason: string;
  readonly cause: Preemption['cause'];
}

export interface Deliveries {
  readonly epoch: number;
  readonly grants: readonly GrantedLease[];
  /** Absent in what an older version asked for; so is `priorities`. */
  readonly revocations?: readonly RevokedLease[];
  readonly priorities?: readonly { readonly job: JobRef; readonly priority: number }[];
  readonly answers: readonly { readonly slice: string; readonly isHeld: boolean }[];
  /** Open jobs that are asked to say again what they hold. */
  readonly restate: readonly JobRef[];
  /** Slices to be found and deleted by a slice workflow of their own, where none is open. */
  readonly reclaims: readonly { readonly lease: LeaseId; readonly ref: SliceRef }[];
  readonly releases: readonly { readonly slice: string; readonly reason: string }[];
}

/** Grants and revocations whose job is closed: the lease comes back. */
export interface DeliveryReport {
  readonly closedJobs: readonly LeaseId[];
}

export interface HolderQuestion {
  readonly lease: LeaseId;
  readonly slices: readonly SliceRef[];
}
export interface HolderAnswer {
  readonly lease: LeaseId;
  readonly isJobOpen: boolean;
  /** Slices of the lease whose workflow is open. */
  readonly openSlices: readonly string[];
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
  readonly ref: SliceRef;
  /** False: only the cloud still has it; it is to be reclaimed. */
  readonly isWorkflowOpen: boolean;
  /** Of its lease; absent: the first. */
  readonly tier?: number;
}

/** What does not go together: leases of jobs that are closed, slices whose workflow is no more. */
export interface StrayHolders {
  readonly closedJobs: readonly LeaseId[];
  readonly lostSlices: readonly { readonly lease: LeaseId; readonly ref: SliceRef }[];
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
   * @param known the mark of what the workflow has; absent: it has nothing, or what a version without marks read. Then the last
   * good files are told where one is wrong as it is now, beside its problem
   */
  loadPool(pool: string, known?: string): Promise<PoolFacts | SameFacts>;
  readOpenWork(pool: string): Promise<OpenWork>;
  /** Of version 0.1.0, one describe call a row; `findStrays` since. */
  inspectHolders(questions: readonly HolderQuestion[]): Promise<readonly HolderAnswer[]>;
  /** Asks the pool's workflow who holds and who waits, and compares that with what is open. Repeating is safe. */
  findStrays(pool: string): Promise<StrayHolders>;
  /** Repeating is safe: it writes what is there already. */
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

// Of the janitor ---------------------------------------------------------------------------------------------------

export interface JanitorReport {
  readonly resources: number;
  readonly reclaimed: readonly string[];
  readonly unknown: readonly string[];
  readonly wokenPools: readonly string[];
  /** Google projects that refused to be listed; what is ours there was not looked at. */
  readonly unlisted: readonly string[];
  readonly stopped?: string;
}
export interface JanitorActivities {
  sweep(): Promise<JanitorReport>;
}

export type Activities = JobActivities & SliceActivities & QuotaActivities & JanitorActivities;

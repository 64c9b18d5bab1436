/** Activities of the job workflow: inputs and results, all plain JSON. */
import type { InputsSpec } from '../domain/inputs.js';
import type { InputFacts } from '../domain/job-events/kinds.js';
import type { JobRecord } from '../domain/counted/record.js';
import type { CarriedEvent } from '../domain/job-events/event.js';
import type { JobInput, JobSettings, UnreachableHost } from './job.js';
import type { Landlord } from './lodging.js';
import type { JobRef } from './workflow-ids.js';
import type { EndHook, HookReport } from '../domain/hooks.js';
import type { JobSpec } from '../domain/job-spec.js';
import type { MachineRequest } from '../domain/machine-kinds/registry.js';
import type { Outcome } from '../domain/job-state.js';
import type { OutputsReport } from '../domain/outputs.js';
import type { Evidence } from '../domain/recovery/evidence.js';
import type { Facts, LostSlice } from '../domain/recovery/facts.js';
import type { HostPlace } from '../domain/recovery/host-ends.js';
import type { LeftReport } from '../domain/left-processes.js';
import type { SupervisedEnd } from '../domain/recovery/supervision-state.js';
import type { MachineRef } from '../domain/machines.js';
import type { Ownership, SliceHost } from '../domain/slice.js';
import type { DoneTwice } from '../domain/done-twice.js';
import type { StopNotice } from '../domain/early-end.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';
import type { UnreadyHosts } from '../domain/job-events/causes.js';

export interface AcceptJobInput {
  readonly job: JobRef;
  readonly spec: JobSpec;
  readonly input: JobInput;
}

/** Settings and machines that are fixed once the job is accepted. */
export interface AcceptedJob extends JobSettings {
  /** The machines that the job asks for, with its pool's defaults. */
  readonly machines: MachineRequest;
}

/** One ready slice of an attempt. */
export interface ReadySlice {
  readonly index: number;
  readonly ref: MachineRef;
  readonly ownership: Ownership;
  readonly uid: string;
  readonly hosts: readonly SliceHost[];
  /** The job that lends it, whose key its hosts let in (docs/adr/0163). Absent: it is the job's own. */
  readonly landlord?: Landlord;
}

export interface AttemptInput {
  readonly job: JobRef;
  readonly spec: JobSpec;
  readonly settings: JobSettings;
  readonly attempt: number;
  readonly slices: readonly ReadySlice[];
  readonly files: Readonly<Record<string, string>>;
  /** See `JobInput`. */
  readonly identityKeys?: Readonly<Record<string, string>>;
  readonly previousEnd?: string;
  /** Earliest time at which a previous watch of this attempt may have started its command. Absent: this is the first watch. */
  readonly runsSince?: EpochMs;
  /** When the command of a workspace first started, since which its `timeouts.run` counts. Absent: it has not, or is none. */
  readonly firstStartedAt?: EpochMs;
  /** Hosts that did not answer when the attempt was last watched. */
  readonly unreachable?: readonly UnreachableHost[];
}

/** Slices on which nothing runs, kept for a while. */
export interface HoldInput {
  readonly slices: readonly ReadySlice[];
  readonly timings: Timings;
}

/** A set-up that a person asked for. */
export interface SetUpAgainInput extends AttemptInput {
  /** `isForced`: repeats unchanged modules too. */
  readonly again: { readonly modules: readonly string[]; readonly isForced: boolean };
}

export interface StopInput extends AttemptInput {
  /** The notice that the command gets. */
  readonly notice: StopNotice;
}

/** A job that has its outcome, and a hook that runs because of that outcome. */
export interface HookInput extends AttemptInput {
  readonly hook: EndHook;
  readonly outcome: Outcome;
}

/** The store already has an outcome of the job: Temporal was reset to an earlier time. Nothing was done. */
export interface EndedBefore {
  readonly kind: 'ended-before';
  readonly outcome: Outcome;
}

export type SetUpEnd =
  /** `restored`: a sentence about the files of an earlier attempt that the hosts got back. */
  | { readonly kind: 'ready'; readonly restored?: string }
  | { readonly kind: 'module-failed'; readonly at: HostPlace; readonly module: string; readonly message: string }
  /** A failure that is not the job's: the host does not answer, or a temporary failure does not pass. Its slice is deleted. */
  | { readonly kind: 'host-bad'; readonly at: HostPlace; readonly module: string; readonly message: string }
  | { readonly kind: 'slices-lost'; readonly slices: readonly LostSlice[] }
  /** The provider did not list the hosts in the order of their worker numbers. The set-up begins again with these hosts. */
  | {
      readonly kind: 'renumbered';
      readonly slices: readonly { readonly index: number; readonly hosts: readonly SliceHost[] }[];
    }
  /** This worker is shutting down and another continues, or `stopSetUp` ended the set-up: `unready` then has its progress. */
  | { readonly kind: 'handed-over'; readonly unready?: UnreadyHosts }
  | EndedBefore;

export type AttemptEnd = EndOfAttempt & {
  readonly evidence?: Evidence;
  /** Outputs of a command that ended. Absent: it left none. */
  readonly outputs?: OutputsReport;
  /** Processes that were still running when the command had ended with code 0. jobctl ended them. Absent: none. */
  readonly left?: LeftReport;
};

type EndOfAttempt =
  /** `still-running`: `superviseMs` has passed, and nothing happened. */
  SupervisedEnd | EndedBefore;

export interface AttemptRecord {
  readonly attempt: number;
  readonly zone: string;
  readonly nodes: readonly { readonly name: string; readonly uid: string; readonly hosts: readonly SliceHost[] }[];
  readonly startedAt: EpochMs;
  readonly endedAt?: EpochMs;
  readonly end?: string;
  /** The worker's evidence that the attempt had ended. Absent: neither a host nor a slice ended it. */
  readonly evidence?: Evidence;
  /** Facts on which the job decided when the attempt ended. */
  readonly ended?: Facts<'attempt ended'>;
  /** Exit code of the command, if it ended with one: that of the host that failed first, else 0. */
  readonly exitCode?: number;
  /** Chip-milliseconds for which the command ran. Absent: it has not ended, or it never began. */
  readonly ranChipMs?: number;
}

/** Work of a job that was done more than once. */
export interface RepeatedWorkFound {
  /** Absent: none, or that is unsure. */
  readonly doneTwice?: DoneTwice;
  /** The work that was lost, in chip-milliseconds and in marks of its counter. Absent: the commands print no counter. */
  readonly lost?: { readonly chipMs: number; readonly marks: number };
}

/** `gone`: an input is not in the store, or not any more. `why` says which, and what to do. */
export type FoundInputs =
  | { readonly kind: 'found'; readonly inputs: readonly InputFacts[] }
  | { readonly kind: 'gone'; readonly why: string };

export interface JobActivities {
  /** Checks the job against this installation (project, pool, key), stores its spec, freezes its settings. */
  acceptJob(input: AcceptJobInput): Promise<AcceptedJob>;
  /** Returns the task queue of one live worker, whose connections serve the attempt from now on. */
  claimWorker(): Promise<{ readonly taskQueue: string }>;
  setUpHosts(input: AttemptInput): Promise<SetUpEnd>;
  /** Runs some of the attempt's modules once more, on any worker. Repeating is safe. */
  setUpAgain(input: SetUpAgainInput): Promise<SetUpEnd>;
  /** Tells a set-up on this worker to end, as handed over. Does not wait for its end. */
  stopSetUp(of: Pick<AttemptInput, 'job' | 'attempt'>): Promise<void>;
  /** Starts the command on every host (once), follows its output into the store, and returns at the end of the attempt. */
  superviseAttempt(input: AttemptInput): Promise<AttemptEnd>;
  /** Ends the command on every reachable host, with a notice. Bounded by the grace. Repeating is safe. */
  stopAttempt(input: StopInput): Promise<void>;
  /** Runs a hook on its hosts, at most once on each, bounded by its timeout. Repeating is safe. */
  runHook(input: HookInput): Promise<HookReport>;
  /** Watches the slices, and returns evidence that some are lost. */
  holdSlices(input: HoldInput): Promise<readonly LostSlice[]>;
  recordAttempt(input: {
    readonly job: JobRef;
    readonly record: AttemptRecord;
    readonly events: readonly CarriedEvent[];
    /** Text of the attempt's job file, if it is not the submitted one. */
    readonly source?: string;
  }): Promise<void>;
  /**
   * Returns the work that attempts repeated after earlier ones had done it, from their logs in the store.
   * @param input.attempts the number of the last one
   */
  findDoneTwice(input: { readonly job: JobRef; readonly attempts: number }): Promise<RepeatedWorkFound>;
  /** Looks for the job's inputs, and keeps in the store what they consist of. Repeating is safe. */
  findInputs(input: { readonly job: JobRef; readonly inputs: InputsSpec }): Promise<FoundInputs>;
  /**
   * Stores the outcome, once: an outcome that is already there stays. Stores what the job used too; a later account replaces an
   * earlier one.
   */
  recordOutcome(input: {
    readonly job: JobRef;
    readonly outcome: Outcome;
    readonly events: readonly CarriedEvent[];
    /** Absent: a job of an earlier build. */
    readonly counted?: JobRecord;
  }): Promise<void>;
}

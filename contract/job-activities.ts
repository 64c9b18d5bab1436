/** What the job workflow asks of its activities: inputs and results, all plain JSON. */
import type { JobEvent, JobInput, JobSettings, UnreachableHost } from './job.js';
import type { JobRef } from './workflow-ids.js';
import type { EndHook, HookReport } from '../domain/hooks.js';
import type { JobSpec } from '../domain/job-spec.js';
import type { MachineRequest } from '../domain/machine-kinds/registry.js';
import type { Outcome } from '../domain/job-state.js';
import type { OutputsReport } from '../domain/outputs.js';
import type { Evidence } from '../domain/recovery/evidence.js';
import type { Facts } from '../domain/recovery/facts.js';
import type { CommandEnd, HostPlace } from '../domain/recovery/host-ends.js';
import type { LeftReport } from '../domain/left-processes.js';
import type { LostSlice } from '../domain/recovery/slice-loss.js';
import type { FirstSilent, LastSign } from '../domain/silence.js';
import type { MachineRef } from '../domain/machines.js';
import type { Ownership, SliceHost } from '../domain/slice.js';
import type { DoneTwice } from '../domain/done-twice.js';
import type { StopNotice } from '../domain/stop-notice.js';
import type { Timings } from '../domain/timings.js';
import type { EpochMs } from '../domain/units.js';
import type { UnreadyHosts } from '../domain/unready-hosts.js';

export interface AcceptJobInput {
  readonly job: JobRef;
  readonly spec: JobSpec;
  readonly input: JobInput;
}

/** What a job is held to from now on. */
export interface AcceptedJob extends JobSettings {
  /** The machines that the job asks for, with its pool's defaults. */
  readonly machines: MachineRequest;
}

/** One slice of an attempt, ready. */
export interface ReadySlice {
  readonly index: number;
  readonly ref: MachineRef;
  readonly ownership: Ownership;
  readonly uid: string;
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
  /** Since when a worker that watched this attempt before may have started its command. Absent: nobody did. */
  readonly runsSince?: EpochMs;
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
  /** `isForced`: also what is found unchanged. */
  readonly again: { readonly modules: readonly string[]; readonly isForced: boolean };
}

export interface StopInput extends AttemptInput {
  /** What the command is told. */
  readonly notice: StopNotice;
}

/** A job that has its outcome, and a hook that runs because of it. */
export interface HookInput extends AttemptInput {
  readonly hook: EndHook;
  readonly outcome: Outcome;
}

/** The job has an outcome in the store: Temporal was set back to a time before it. Nothing was done. */
export interface EndedBefore {
  readonly kind: 'ended-before';
  readonly outcome: Outcome;
}

export type SetUpEnd =
  /** `restored`: what the hosts got back of an earlier attempt's files, in a sentence. */
  | { readonly kind: 'ready'; readonly restored?: string }
  | { readonly kind: 'module-failed'; readonly at: HostPlace; readonly module: string; readonly message: string }
  /** Nothing that the job could mend: the host does not answer, or what may pass did not. Its slice is to go. */
  | { readonly kind: 'host-bad'; readonly at: HostPlace; readonly module: string; readonly message: string }
  | { readonly kind: 'slices-lost'; readonly slices: readonly LostSlice[] }
  /** The provider listed hosts in another order than that of their workers: the set-up begins anew with these. */
  | {
      readonly kind: 'renumbered';
      readonly slices: readonly { readonly index: number; readonly hosts: readonly SliceHost[] }[];
    }
  /** This worker is shutting down: another one goes on. Or `stopSetUp` ended it, `unready` then says how far it was. */
  | { readonly kind: 'handed-over'; readonly unready?: UnreadyHosts }
  | EndedBefore;

export type AttemptEnd = EndOfAttempt & {
  readonly evidence?: Evidence;
  /** Of a command that ended. Absent: it left nothing. */
  readonly outputs?: OutputsReport;
  /** What still ran when the command had ended with code 0, and was ended. Absent: nothing. */
  readonly left?: LeftReport;
};

type EndOfAttempt =
  | CommandEnd
  | { readonly kind: 'slices-lost'; readonly slices: readonly LostSlice[] }
  /** Of a job with `timeouts.no_output`: nothing was printed for that long. The command still runs. */
  | {
      readonly kind: 'no-output';
      readonly last: LastSign & { readonly at: EpochMs };
      readonly first?: Omit<FirstSilent, 'quietMs'> & { readonly at: EpochMs };
      /** Of how many hosts it is stored where their processes stood (docs/adr/0128). Absent: of none. */
      readonly stacks?: number;
    }
  | { readonly kind: 'handed-over' }
  /** `superviseMs` is over; nothing happened. */
  | { readonly kind: 'still-running' }
  | EndedBefore;

export interface AttemptRecord {
  readonly attempt: number;
  readonly zone: string;
  readonly nodes: readonly { readonly name: string; readonly uid: string; readonly hosts: readonly SliceHost[] }[];
  readonly startedAt: EpochMs;
  readonly endedAt?: EpochMs;
  readonly end?: string;
  /** By what its worker called it ended. Absent: no host and no slice did. */
  readonly evidence?: Evidence;
  /** What the job decided by, as it ended. */
  readonly ended?: Facts<'attempt ended'>;
  /** The command's, if it ended with one: of the host that failed first, else 0. */
  readonly exitCode?: number;
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
  /** Runs a hook on its hosts, at most once on each, bounded by its timeout. Repeating is safe. */
  runHook(input: HookInput): Promise<HookReport>;
  /** Ends with evidence that slices are lost. */
  holdSlices(input: HoldInput): Promise<readonly LostSlice[]>;
  recordAttempt(input: {
    readonly job: JobRef;
    readonly record: AttemptRecord;
    readonly events: readonly JobEvent[];
    /** Text of the job file that this attempt runs by, where it is not the one that was submitted. */
    readonly source?: string;
  }): Promise<void>;
  /** What attempts did again that earlier ones had done, as their logs in the store tell. @param input.attempts the number of the last one */
  findDoneTwice(input: { readonly job: JobRef; readonly attempts: number }): Promise<DoneTwice | undefined>;
  /** Stores the outcome, once: an outcome that is there already stays. */
  recordOutcome(input: {
    readonly job: JobRef;
    readonly outcome: Outcome;
    readonly events: readonly JobEvent[];
  }): Promise<void>;
}

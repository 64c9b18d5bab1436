/**
 * Input of the oracle, gathered without jobctl. The oracle imports nothing of jobctl's, not even types. Forms that it reads are
 * defined here once more, from docs/contract.md, docs/cli.md and the rehearsal's README. All times are epoch ms of this
 * computer's clock.
 */
export interface Evidence {
  readonly seed: number;
  /** The most quota units that the pool ever had in force: no more chips may exist at one time. */
  readonly poolUnits: number;
  /** CPUs that the pool has for pods. Absent: no job has pods. */
  readonly podCpus?: number;
  /** VMs of Compute Engine that the pool has, one unit each. Absent: no job has any. */
  readonly vmUnits?: number;
  /** The pool's own machines, as read at the end. Absent: it has none. */
  readonly machines?: readonly LeftMachine[];
  /** Jobs that were submitted each by itself. */
  readonly jobs: readonly AskedJob[];
  /** Groups that were submitted. Absent: none. */
  readonly groups?: readonly AskedGroup[];
  /** `jobctl status GROUP --output json`, of each group. */
  readonly groupsSeen?: readonly SeenGroup[];
  /** The record of the receiver of all jobs' events. Absent: there is none. */
  readonly notices?: readonly GotNotice[];
  /** `jobctl plot JOB.. --output json`. Absent: no job told a metric. */
  readonly metrics?: readonly SeenMetric[];
  readonly deeds: readonly Deed[];
  readonly cloud: readonly CloudEvent[];
  readonly told: readonly Told[];
  readonly stored: readonly StoredLog[];
  /** `jobctl list --output json`, by job. */
  readonly results: readonly SeenJob[];
  /** Leases and waiting requests, one text for each, by `jobctl quota show --output json`. */
  readonly leases: readonly string[];
  /**
   * Time within which jobctl must know that a command ended, from a worker or from the host's record in the bucket. Absent: a
   * command may run again whenever its slice was lost after its end.
   */
  readonly readWithinMs?: number;
  /** The name by which the second installation dials the cloud: `host` in the cloud's journal. Absent: there is none. */
  readonly theirHost?: string;
  /** Lives of the stack's processes. Absent: there are none. */
  readonly lives?: readonly ProcessLife[];
}

/** One of the pool's own machines, as its disk shows it at the end. */
export interface LeftMachine {
  /** Host name, as its kernel reports it. */
  readonly name: string;
  /** Content of its claim file. Absent: nobody holds it. */
  readonly claim?: string;
}

/** One life of a process, from its start to its end. */
export interface ProcessLife {
  readonly process: string;
  readonly startedAt: number;
  /** Absent: it was still running. */
  readonly endedAt?: number;
  /** Exit code or signal. */
  readonly how?: string;
}

/** A job as it was submitted. */
export interface AskedJob {
  readonly id: string;
  readonly slices: number;
  /** Hosts of each slice. */
  readonly hosts: number;
  /** `retries.task`. */
  readonly taskRetries: number;
  /** Whether it is the second installation's in this Google project. To each installation the other's slices are foreign. */
  readonly isTheirs?: true;
  /** The only zone that lets it run. */
  readonly runsIn?: string;
  /** What must have ended before it begins. Absent: nothing. */
  readonly after?: AskedAfter;
  /** The group of a member. Absent: it was submitted by itself. */
  readonly group?: string;
}

/** `after` of a job file: a job or group, and how it must have ended. */
export interface AskedAfter {
  readonly kind: 'ok' | 'any' | 'not_ok';
  readonly of: string;
}

/** An array as it was submitted. `slices`, `hosts` and `taskRetries` are those of each member. */
export interface AskedGroup extends Pick<AskedJob, 'id' | 'slices' | 'hosts' | 'taskRetries' | 'after'> {
  readonly size: number;
  /** `array.max_parallel`. Absent: no limit. */
  readonly maxParallel?: number;
  readonly isFailFast?: true;
}

export interface SeenGroup {
  readonly id: string;
  readonly isClosed: boolean;
  /** Members by the words of their states. */
  readonly counts: Readonly<Record<string, number>>;
  readonly members: readonly { readonly index: number; readonly id: string; readonly phase: string }[];
}

/** A request that the receiver got. */
export interface GotNotice {
  readonly at: number;
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
  /** The receiver took it, even if its answer was lost. */
  readonly isTaken: boolean;
}

/** A line of `jobs/JOB/logs/events.jsonl`. */
export interface StoredEvent {
  readonly at: number;
  readonly kind: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** The metric of chaos on the first host of a job. */
export interface SeenMetric {
  readonly job: string;
  readonly count: number;
  readonly points: readonly { readonly step: number; readonly value: number }[];
  readonly last: { readonly step: number; readonly value: number };
  readonly missedBytes: number;
}

/** One deed of chaos. `job` and `resource` are set if it was about one; `job` may be a group. */
export interface Deed {
  readonly at: number;
  readonly kind: DeedKind;
  readonly job?: string;
  /**
   * Last part of a resource's name, or a machine's name. For a foreign resource it is `zone/nodes/name` or `zone/instances/name`,
   * since jobctl may use the same name in another zone.
   */
  readonly resource?: string;
  /** For `signalled`, the process that got the signal. For `ended-process`, the part of the stack. */
  readonly process?: string;
  readonly text: string;
}

/** The oracle judges by all kinds of deeds except `fault`, `submit` and `note` (no deed at all), which only tell the story. */
export type DeedKind =
  /** A resource that is not jobctl's was planted. */
  | 'foreign'
  /** chaos had the provider, or a person, take a resource. */
  | 'preempt'
  /** A person cancelled the job, or its workflow was cancelled. */
  | 'cancel'
  /** A person ran the failed members of a group again, or let it begin that waits for others. */
  | 'retry'
  | 'begin'
  /** The workflow of a group was terminated. */
  | 'group-terminated'
  /** A person's stop, resume, restart or requeue. */
  | 'verb'
  /** The job's workflow was terminated, or reset to its first task. */
  | 'terminate'
  | 'reset'
  /** A slice's workflow was terminated, cancelled or reset. */
  | 'slice-workflow'
  /** One command got SIGTERM, and nothing else on its host: its end is then its own. */
  | 'signalled'
  /** The processes of a host were killed. */
  | 'killed-processes'
  /** Disks of a resource's hosts were full for a while. */
  | 'full-disk'
  /** One of the pool's own machines was switched off or restarted, orderly or not; its disk is kept. */
  | 'power-cut'
  /** An operator said that a machine is off for good. */
  | 'forgot'
  /** An operator drained a machine. */
  | 'drained'
  /** A machine could not be used, or did not answer, for a while. */
  | 'unwell'
  /** A process of the stack was killed or told to end. */
  | 'ended-process'
  | 'fault'
  | 'submit'
  | 'note';

/** A line of the cloud's journal. */
export interface CloudEvent {
  readonly seq: number;
  readonly wall: number;
  readonly kind: string;
  readonly subject: string;
  readonly details: {
    readonly from?: string;
    readonly to?: string;
    readonly chips?: number;
    readonly method?: string;
    readonly code?: string;
    readonly [key: string]: unknown;
  };
}

/**
 * A report of a command about itself, sent to the listener or written to its file on the host. The text of BEGIN is the slice's
 * name in the cloud; of HOST, the host's name; of TWO, the process that holds the host's lock; of LINE, a line that is printed
 * next; of TERM, the notice that was there; of END, the exit code, and `all` or `early` (in answer to SIGTERM). GONE comes from
 * the listener: the connection ended without an END.
 */
export interface Told {
  readonly at: number;
  readonly job: string;
  readonly attempt: number;
  readonly slice: number;
  readonly host: number;
  /** Unique to one start of the command. */
  readonly process: string;
  /** Order of the process's reports, from 1. */
  readonly number: number;
  readonly kind: 'BEGIN' | 'HOST' | 'TWO' | 'LINE' | 'TERM' | 'END' | 'GONE';
  readonly text: string;
}

/** The objects of one host's log, joined in the order of their names. Hosts are numbered over all slices. */
export interface StoredLog {
  readonly job: string;
  readonly attempt: number;
  readonly host: number;
  readonly text: string;
  /** Report about output that is not stored, from a separate object beside the log (docs/adr/0043). */
  readonly lost?: string;
}

export interface SeenJob {
  readonly id: string;
  /** Whether its workflow is closed. */
  readonly isClosed: boolean;
  readonly phase: string;
  readonly exitCode?: number;
  /** When it got its outcome, epoch ms. */
  readonly endedAt?: number;
  /** Why it waits, or the cause of its outcome. */
  readonly why?: string;
  /** jobctl's own log of the job, in which a missing tail may be reported too. */
  readonly jobLog?: string;
  /** Its events, as they were stored at its end. Absent: they are not there, as of a job that was terminated. */
  readonly events?: readonly StoredEvent[];
}

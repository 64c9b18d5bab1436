/**
 * What the oracle judges from, as it was gathered outside of jobctl. The oracle imports nothing of jobctl's, not even types: a
 * form that is read here is written down here once more, from docs/contract.md, docs/cli.md and the rehearsal's README.
 * All times are this computer's clock, epoch ms.
 */
export interface Evidence {
  readonly seed: number;
  /** Quota units that the pool ever had in force: the most chips that may exist at one time. */
  readonly poolUnits: number;
  /** CPUs that the pool has for pods. Absent: no job has pods. */
  readonly podCpus?: number;
  /** VMs of Compute Engine, each of one unit, that the pool has. Absent: no job has any. */
  readonly vmUnits?: number;
  /** The pool's own machines, as they were left. Absent: it has none. */
  readonly machines?: readonly LeftMachine[];
  readonly jobs: readonly AskedJob[];
  readonly deeds: readonly Deed[];
  readonly cloud: readonly CloudEvent[];
  readonly told: readonly Told[];
  readonly stored: readonly StoredLog[];
  /** `jobctl list --output json`, by job. */
  readonly results: readonly SeenJob[];
  /** `jobctl quota show --output json`: leases and who waits, in words. Nothing: none. */
  readonly leases: readonly string[];
  /**
   * Within this time jobctl must have known that a command ended, by its host's record in the bucket if not by a worker. Absent:
   * the loss of a slice after the end excuses that it runs again.
   */
  readonly readWithinMs?: number;
  /** The name by which the second installation dials the cloud, as the cloud's journal has it (`host`). Absent: there is none. */
  readonly theirHost?: string;
  /** Of the stack's processes. Absent: there are none. */
  readonly lives?: readonly ProcessLife[];
}

/** One of the pool's own machines when all was over, read on its disk. */
export interface LeftMachine {
  /** As its kernel calls it. */
  readonly name: string;
  /** Absent: nobody holds it. */
  readonly claim?: string;
}

/** From one start of a process to its end. */
export interface ProcessLife {
  readonly process: string;
  readonly startedAt: number;
  /** Absent: it ran to the last. */
  readonly endedAt?: number;
  /** Exit code or signal. */
  readonly how?: string;
}

/** A job as it was submitted. */
export interface AskedJob {
  readonly id: string;
  readonly slices: number;
  /** Of each slice. */
  readonly hosts: number;
  /** `retries.task`. */
  readonly taskRetries: number;
  /** Of the second installation in this Google project; its slices are foreign to the first, and the other way round. */
  readonly isTheirs?: true;
  /** The one zone that lets it run. */
  readonly runsIn?: string;
}

/** What chaos did, to whom, and when. `job` and `resource` are set where it was about one. */
export interface Deed {
  readonly at: number;
  readonly kind: DeedKind;
  readonly job?: string;
  /**
   * Last part of a resource's name, a machine's name; of a foreign one `zone/nodes/name` or `zone/instances/name`, since a slice of
   * ours may have that name elsewhere.
   */
  readonly resource?: string;
  /** Of `signalled`: the process of a command that was. Of `ended-process`: the process of the stack. */
  readonly process?: string;
  readonly text: string;
}

/** Deeds that bear on a judgement; `fault`, `submit` and `note` (no deed at all) are for the story alone. */
export type DeedKind =
  /** A resource that is none of ours was planted. */
  | 'foreign'
  /** A preemption that was asked for, of whatever resource. */
  | 'preempt'
  /** A person's word, or the workflow's cancel. */
  | 'cancel'
  /** stop, resume, restart, requeue. */
  | 'verb'
  /** Of a job's workflow. */
  | 'terminate'
  | 'reset'
  /** A slice's workflow was terminated, cancelled or reset. */
  | 'slice-workflow'
  /** One command got SIGTERM, and nothing else on its host: what it comes to is its own end. */
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
  /** What keeps a machine from being used, or from answering, for a while. */
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
 * What a command said of itself, to the listener or in its file on the host. BEGIN's text is the slice's name in the cloud, HOST's
 * its kernel's name, TWO's the process that holds the lock which it did not get, TERM's the notice that lay there, END's the exit code and `all` or `early` (in answer to a SIGTERM), LINE's a line that is printed next.
 * GONE: its connection ended without an END.
 */
export interface Told {
  readonly at: number;
  readonly job: string;
  readonly attempt: number;
  readonly slice: number;
  readonly host: number;
  /** One start of the command has one, and no other has it. */
  readonly process: string;
  /** Order in which the process said it, from 1. */
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
  /** What stands behind it, in an object of its own, about output that is not stored (docs/adr/0043). */
  readonly lost?: string;
}

export interface SeenJob {
  readonly id: string;
  /** Its workflow is closed. */
  readonly isClosed: boolean;
  readonly phase: string;
  readonly exitCode?: number;
  /** When its outcome stood, epoch ms. */
  readonly endedAt?: number;
  /** Why it waits, or what it ended with. */
  readonly why?: string;
  /** What jobctl says it did for the job: where a missing tail may be told too. */
  readonly jobLog?: string;
}

import type { DoneTwice } from './done-twice.js';
import type { HookReport } from './hooks.js';
import type { LeftReport } from './left-processes.js';
import type { OutputsReport } from './outputs.js';
import type { EpochMs } from './units.js';

/**
 * The phases of a job. Each says who moves the job on, and what a crash leaves behind (the picture: docs/job-states.md). The
 * job's workflow makes every move, and no crash of jobctl loses it. A crash can only leave something outside of the workflow.
 */
export const JobPhase = {
  /** Waits for its pool's quota. The quota workflow's grant moves it on. A crash leaves a request, which is asked again. */
  Queued: 'queued',
  /** Its slices were requested. The slice workflows move it on. A crash leaves slices, which their workflows own. */
  Provisioning: 'provisioning',
  /** Modules run on every host. A crash leaves half-done modules, which run again. */
  SettingUp: 'setting-up',
  /** The command runs. A crash leaves it under its on-host runner, to which the next worker attaches. */
  Running: 'running',
  /** The slices of a lost attempt are being deleted; the lease is kept. A crash leaves them to their slice workflows. */
  Evicting: 'evicting',
  /** `stop`: the command was ended; slices and lease are kept, even by a crash. A person, pool or `timeouts.stop` moves it on. */
  Paused: 'paused',
  /** Holds nothing and waits for nothing, until `resume`. A crash leaves nothing. */
  Released: 'released',
  /** `keep`: the outcome is final and stored, slices are kept for people. Moved on like `paused`. A crash leaves them kept. */
  Holding: 'holding',
  /** The outcome is known and final. Logs are completed, slices are released. A crash leaves the outcome as it is. */
  Finishing: 'finishing',
  Succeeded: 'succeeded',
  Failed: 'failed',
  Cancelled: 'cancelled',
} as const;
export type JobPhase = (typeof JobPhase)[keyof typeof JobPhase];

export type JobResult = 'succeeded' | 'failed' | 'cancelled';

const DONE: ReadonlySet<JobPhase> = new Set([JobPhase.Succeeded, JobPhase.Failed, JobPhase.Cancelled]);

export function isDone(phase: JobPhase): phase is JobResult {
  return DONE.has(phase);
}

/** A user who asked for something, by the caller's claim: nobody has verified it (docs/design.md, "Trust"). */
export interface Asker {
  readonly by: string;
  /** Host name of the computer that the call came from. */
  readonly from?: string;
  /** A command of jobctl: `cancel`, `stop`, `delete`. Absent: a service called. */
  readonly verb?: string;
}

/** `alice on wks-12 (jobctl delete)`. */
export function askerText({ by, from, verb }: Asker): string {
  return `${by}${from === undefined ? '' : ` on ${from}`}${verb === undefined ? '' : ` (jobctl ${verb})`}`;
}

/**
 * The reason for a job's end. `by`: the budget that pays, or the user who cancelled (docs/design.md, "Separate budgets"). Of a job
 * that succeeded: why its workspace was given back, `by` its user.
 */
export interface OutcomeCause {
  readonly by: 'task' | 'infrastructure' | 'preemption' | 'user';
  /** One sentence for the user, naming host, value and place. */
  readonly message: string;
  /** The user who cancelled the job. Absent: no user was named, as in a cancel by Temporal's own tools. */
  readonly asker?: Asker;
  /** Slice and host of the failing process, if there is one. */
  readonly slice?: number;
  readonly host?: number;
}

/** The end of a job. Made once, and final: a failure of the clean-up never changes it. */
export interface Outcome {
  readonly result: JobResult;
  /** The command's own exit code: that of the first host that failed, else 0. Absent if no command ended. */
  readonly exitCode?: number;
  readonly cause?: OutcomeCause;
  /** Starts of the command. 0 if it never started. */
  readonly attempts: number;
  /** Preemptions by the provider. */
  readonly preemptions: number;
  /** Preemptions by quota: the number of times that its lease was revoked for others. Absent: 0. */
  readonly quotaPreemptions?: number;
  /** Starts that the command asked for by its exit code (`command.restart_on`). Absent: 0. */
  readonly requestedRestarts?: number;
  /** Only in a job with hooks for its end. */
  readonly hooks?: readonly HookReport[];
  /** Stored files of the last attempt whose command ended. Absent: none. */
  readonly outputs?: OutputsReport;
  /** Processes that were still running when the last command had ended with code 0. jobctl ended them. Absent: none. */
  readonly left?: LeftReport;
  /** Work repeated after an attempt was lost. Absent: none, or the command prints no counter. */
  readonly doneTwice?: DoneTwice;
  readonly submittedAt: EpochMs;
  readonly startedAt?: EpochMs;
  readonly endedAt: EpochMs;
}

import type { DoneTwice } from './done-twice.js';
import type { HookReport } from './hooks.js';
import type { LeftReport } from './left-processes.js';
import type { OutputsReport } from './outputs.js';
import type { EpochMs } from './units.js';

/**
 * The phases of a job, each with who moves it on and what a crash leaves behind (the picture: docs/job-states.md).
 * Every move is made by the job's workflow, which no crash of ours loses; what a crash can leave is outside of it.
 */
export const JobPhase = {
  /** Waits for its pool's quota. Moved on by the quota workflow's grant. A crash leaves a waiting request, asked again. */
  Queued: 'queued',
  /** Its slices were asked for. Moved on by the slice workflows. A crash leaves slices, which their workflows own. */
  Provisioning: 'provisioning',
  /** Modules run on every host. A crash leaves half-done modules, which are done again. */
  SettingUp: 'setting-up',
  /** The command runs. A crash leaves it running under its on-host runner, to which the next worker attaches. */
  Running: 'running',
  /** The slices of a lost attempt are being deleted; the lease is kept. A crash leaves them to their slice workflows. */
  Evicting: 'evicting',
  /** `stop`: the command was ended, slices and lease are kept. Moved on by a person, its pool, `timeouts.stop`. A crash leaves them kept. */
  Paused: 'paused',
  /** It holds and waits for nothing, until `resume`. A crash leaves nothing. */
  Released: 'released',
  /** `keep`: the outcome is final and stored, the slices are kept for people. Moved on as `paused` is. A crash leaves them kept. */
  Holding: 'holding',
  /** The outcome is known and final; logs are completed, slices told to go. A crash leaves the outcome as it is. */
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

/** Who asked for something, by the caller's own word: nobody has verified it (docs/design.md, "Trust"). */
export interface Asker {
  readonly by: string;
  /** Host name of the computer that the call came from. */
  readonly from?: string;
  /** Of jobctl: `cancel`, `stop`, `delete`. Absent: a service called. */
  readonly verb?: string;
}

/** `alice on wks-12 (jobctl delete)`. */
export function askerText({ by, from, verb }: Asker): string {
  return `${by}${from === undefined ? '' : ` on ${from}`}${verb === undefined ? '' : ` (jobctl ${verb})`}`;
}

/** Why the job ended; `by` says whose account it goes on (docs/design.md, "Separate budgets"). */
export interface OutcomeCause {
  readonly by: 'task' | 'infrastructure' | 'preemption' | 'user';
  /** One sentence for the user, naming host, value and place. */
  readonly message: string;
  /** Who cancelled the job. Absent: nobody was named, as in a cancel by Temporal's own tools. */
  readonly asker?: Asker;
  /** Slice and host of the failing process, where there is one. */
  readonly slice?: number;
  readonly host?: number;
}

/** How a job ended. Made once, final: a later clean-up failure changes its own status, never this. */
export interface Outcome {
  readonly result: JobResult;
  /** The command's own exit code: of the first host that failed, else 0. Absent where no command ended. */
  readonly exitCode?: number;
  readonly cause?: OutcomeCause;
  /** Starts of the command. 0 where it never started. */
  readonly attempts: number;
  /** By the provider. */
  readonly preemptions: number;
  /** By quota: how often its lease was taken back for others. Absent: never. */
  readonly quotaPreemptions?: number;
  /** Starts that the command asked for by its exit code (`command.restart_on`). Absent: none. */
  readonly requestedRestarts?: number;
  /** Of a job that has hooks for its end. */
  readonly hooks?: readonly HookReport[];
  /** What is stored of the files of the last attempt whose command ended. Absent: nothing. */
  readonly outputs?: OutputsReport;
  /** What still ran when the last command had ended with code 0, and was ended. Absent: nothing. */
  readonly left?: LeftReport;
  /** Work that was done again after an attempt was lost. Absent: none, or the command prints no counter. */
  readonly doneTwice?: DoneTwice;
  readonly submittedAt: EpochMs;
  readonly startedAt?: EpochMs;
  readonly endedAt: EpochMs;
}

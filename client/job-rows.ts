import type { WorkflowExecutionInfo } from '@temporalio/client';
import { missingKeyOf } from '../cloud/codec/codec-key.js';
import { chipsOfSlices } from '../domain/accelerators.js';
import { isDone, JobPhase, type Outcome } from '../domain/job-state.js';
import type { JobSearchAttribute } from '../domain/temporal-server.js';
import type { EpochMs } from '../domain/units.js';
import type { JobMemo } from '../contract/job.js';
import { REMEDY_OF_MISSING_KEY } from './errors.js';
import type { FailingTask } from './job-executions.js';

/** `terminated`: the workflow was ended in Temporal from outside, without an outcome. */
export type ShownPhase = JobPhase | 'terminated';

/** One job as lists show it. It is made from search attributes and memo alone, so a list costs one call. */
export interface JobRow {
  readonly id: string;
  readonly project: string;
  readonly user: string;
  /** True if a server has verified the user. Absent: no worker has taken the job. */
  readonly isVerified?: boolean;
  readonly slice: string;
  /** Chips of all slices; absent if the type is not a Cloud TPU type. */
  readonly chips?: number;
  readonly pool: string;
  readonly phase: ShownPhase;
  readonly phaseSince: EpochMs;
  readonly submittedAt: EpochMs;
  readonly endedAt?: EpochMs;
  readonly attempts: number;
  readonly why?: string;
  /** Time at which `timeouts.queue` ends the job's wait for its pool or for chips. Absent: it does not wait, or has no limit. */
  readonly waitsUntil?: EpochMs;
  /** The schedule that started the job. Absent: none. */
  readonly schedule?: string;
  /** REHEARSAL if the job runs on simulated machines. */
  readonly label?: string;
  readonly outcome?: Outcome;
  /** The failing workflow task that blocks the job. Known for a single job only (`JobClient.row`), not in lists. */
  readonly failingTask?: FailingTask;
  /** Task queue of the job's workflow. Known for a single job only. */
  readonly taskQueue?: string;
  /** During set-up: true if a worker is running it. Known for a single job only. */
  readonly isSetUpAttended?: boolean;
  /** Id of a key that this client lacks, if a part of the job cannot be decrypted without it. */
  readonly encryptedWith?: string;
}

/** Returns whether the command has ended for good: the job is closed, or it only keeps its slices. */
export const isOver = ({ endedAt, phase }: Partial<Pick<JobRow, 'endedAt' | 'phase'>>): boolean =>
  endedAt !== undefined || phase === JobPhase.Holding;

/** The job's result, if the job is over. */
export const resultOf = ({ phase, outcome }: Pick<JobRow, 'phase' | 'outcome'>): ShownPhase =>
  phase === JobPhase.Holding ? (outcome?.result ?? phase) : phase;

export interface JobPage {
  readonly rows: readonly JobRow[];
  /** The number of matching jobs, regardless of the limit. */
  readonly total: number;
  /** The number of matching jobs that are open. */
  readonly open: number;
}

/** A job as Temporal lists or describes it. */
export function rowOf(execution: Omit<WorkflowExecutionInfo, 'raw'>): JobRow {
  const { memo, encryptedWith } = readableMemo<JobMemo>(execution.memo ?? {});
  const attribute = (name: JobSearchAttribute): string => String(execution.searchAttributes[name]?.[0] ?? '-');
  const { phaseSince = execution.startTime.getTime(), attempts = 0, label, outcome, waitsUntil } = memo;
  const why = memo.why ?? (encryptedWith === undefined ? undefined : whyNot(encryptedWith));
  // A job that another service started has no attributes until a worker has accepted it.
  const isAccepted = execution.searchAttributes['JobPhase'] !== undefined;
  const slice = memo.slice ?? attribute('JobAccelerator');
  const chips = chipsOfSlices(slice);
  return {
    id: execution.workflowId,
    project: attribute('JobProject'),
    user: attribute('JobUser'),
    ...(memo.isVerified === undefined ? {} : { isVerified: memo.isVerified }),
    slice,
    ...(chips === undefined ? {} : { chips }),
    pool: attribute('JobPool'),
    phase: phaseOf(execution, isAccepted ? (attribute('JobPhase') as JobPhase) : JobPhase.Queued),
    phaseSince: execution.closeTime?.getTime() ?? phaseSince,
    submittedAt: memo.submittedAt ?? outcome?.submittedAt ?? execution.startTime.getTime(),
    ...(execution.closeTime ? { endedAt: execution.closeTime.getTime() } : {}),
    attempts,
    ...(why === undefined ? {} : { why }),
    // A job that was ended from outside has the memo of its last wait.
    ...(waitsUntil === undefined || execution.closeTime ? {} : { waitsUntil }),
    ...(memo.schedule === undefined ? {} : { schedule: memo.schedule }),
    ...(label === undefined ? {} : { label }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(encryptedWith === undefined ? {} : { encryptedWith }),
  };
}

/** The readable fields of a memo, and the id of the key that the others need. */
export function readableMemo<Memo>(memo: Readonly<Record<string, unknown>>): {
  readonly memo: Partial<Memo>;
  readonly encryptedWith: string | undefined;
} {
  const fields = Object.entries(memo);
  return {
    memo: Object.fromEntries(fields.filter(([, value]) => missingKeyOf(value) === undefined)) as Partial<Memo>,
    encryptedWith: fields.map(([, value]) => missingKeyOf(value)).find((keyId) => keyId !== undefined),
  };
}

const whyNot = (keyId: string): string => `encrypted with key '${keyId}'; ${REMEDY_OF_MISSING_KEY}`;

/** The phase that the job set itself, unless its workflow was closed from outside. */
function phaseOf({ status }: Pick<WorkflowExecutionInfo, 'status'>, phase: JobPhase): ShownPhase {
  switch (status.name) {
    case 'TERMINATED':
    case 'TIMED_OUT':
      return 'terminated';
    case 'FAILED':
      return isDone(phase) ? phase : JobPhase.Failed;
    case 'CANCELLED':
      return JobPhase.Cancelled;
    case 'COMPLETED':
      return isDone(phase) ? phase : JobPhase.Succeeded;
    default:
      return phase;
  }
}

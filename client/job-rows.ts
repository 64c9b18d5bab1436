import type { WorkflowExecutionInfo } from '@temporalio/client';
import { missingKeyOf } from '../cloud/codec/codec-key.js';
import { chipsOfSlices } from '../domain/accelerators.js';
import { isDone, JobPhase, type Outcome } from '../domain/job-state.js';
import type { JobSearchAttribute } from '../domain/search-attributes.js';
import type { EpochMs } from '../domain/units.js';
import type { JobMemo } from '../contract/job.js';
import { REMEDY_OF_MISSING_KEY } from './errors.js';
import type { FailingTask } from './failing-task.js';

/** `terminated`: ended in Temporal from outside, without an outcome. */
export type ShownPhase = JobPhase | 'terminated';

/** One job as lists show it: from search attributes and memo alone, so that a list costs one call. */
export interface JobRow {
  readonly id: string;
  readonly project: string;
  readonly user: string;
  /** Whether a server has verified who the user is. Absent: no worker has taken the job. */
  readonly isVerified?: boolean;
  readonly slice: string;
  /** Of all its slices; absent for a type that is no Cloud TPU's. */
  readonly chips?: number;
  readonly pool: string;
  readonly phase: ShownPhase;
  readonly phaseSince: EpochMs;
  readonly submittedAt: EpochMs;
  readonly endedAt?: EpochMs;
  readonly attempts: number;
  readonly why?: string;
  /** REHEARSAL where nothing of it is real. */
  readonly label?: string;
  readonly outcome?: Outcome;
  /** Its workflow stands still. Asked of one job alone (`JobClient.row`): a list does not know it. */
  readonly failingTask?: FailingTask;
  /** That its workflow is on. Of one job alone. */
  readonly taskQueue?: string;
  /** While it is being set up: whether a worker is at it. Of one job alone. */
  readonly isSetUpAttended?: boolean;
  /** Id of a key that this client does not have, where some of the job cannot be read for want of it. */
  readonly encryptedWith?: string;
}

/** Its command has ended for good: it is closed, or it only keeps its slices. */
export const isOver = ({ endedAt, phase }: Partial<Pick<JobRow, 'endedAt' | 'phase'>>): boolean =>
  endedAt !== undefined || phase === JobPhase.Holding;

/** How it came out, where it is over. */
export const resultOf = ({ phase, outcome }: Pick<JobRow, 'phase' | 'outcome'>): ShownPhase =>
  phase === JobPhase.Holding ? (outcome?.result ?? phase) : phase;

export interface JobPage {
  readonly rows: readonly JobRow[];
  /** All that match, whatever the limit. */
  readonly total: number;
  /** Of these, how many are not done. */
  readonly open: number;
}

/** A job as Temporal lists or describes it. */
export function rowOf(execution: Omit<WorkflowExecutionInfo, 'raw'>): JobRow {
  const { memo, encryptedWith } = readable(execution.memo ?? {});
  const attribute = (name: JobSearchAttribute): string => String(execution.searchAttributes[name]?.[0] ?? '-');
  const { phaseSince = execution.startTime.getTime(), attempts = 0, label, outcome } = memo;
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
    ...(label === undefined ? {} : { label }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(encryptedWith === undefined ? {} : { encryptedWith }),
  };
}

/** What of a memo can be read, and the key that is missing for the rest. */
function readable(memo: Record<string, unknown>): { memo: Partial<JobMemo>; encryptedWith: string | undefined } {
  const fields = Object.entries(memo);
  return {
    memo: Object.fromEntries(fields.filter(([, value]) => missingKeyOf(value) === undefined)),
    encryptedWith: fields.map(([, value]) => missingKeyOf(value)).find((keyId) => keyId !== undefined),
  };
}

const whyNot = (keyId: string): string => `encrypted with key '${keyId}'; ${REMEDY_OF_MISSING_KEY}`;

/** The job's own word, except where its workflow was closed over its head. */
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

import type { WorkflowExecutionInfo } from '@temporalio/client';
import { isDone, JobPhase, type Outcome } from '../domain/job-state.js';
import type { JobSearchAttribute } from '../domain/search-attributes.js';
import type { EpochMs } from '../domain/units.js';
import { type JobMemo, WorkflowType } from '../workflows/messages.js';

/** `terminated`: ended in Temporal from outside, without an outcome. */
export type ShownPhase = JobPhase | 'terminated';

/** One job as lists show it: from search attributes and memo alone, so that a list costs one call. */
export interface JobRow {
  readonly id: string;
  readonly project: string;
  readonly user: string;
  readonly slice: string;
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
}

export interface JobFilter {
  readonly project?: string;
  readonly user?: string;
  readonly phase?: string;
  readonly pool?: string;
  /** Rows at most; 100 if absent. */
  readonly limit?: number;
}

export interface JobPage {
  readonly rows: readonly JobRow[];
  /** All that match, whatever the limit. */
  readonly total: number;
  /** Of these, how many are not done. */
  readonly open: number;
}

/** The visibility query of a filter. */
export function queryOf({ project, user, phase, pool }: JobFilter): string {
  const wanted: [JobSearchAttribute, string | undefined][] = [
    ['JobProject', project],
    ['JobUser', user],
    ['JobPhase', phase],
    ['JobPool', pool],
  ];
  const clauses = wanted.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} = '${value.replaceAll("'", "''")}'`],
  );
  return [`WorkflowType = '${WorkflowType.Job}'`, ...clauses].join(' AND ');
}

/** A job as Temporal lists or describes it. */
export function rowOf(execution: Omit<WorkflowExecutionInfo, 'raw'>): JobRow {
  const memo = (execution.memo ?? {}) as Partial<JobMemo>;
  const attribute = (name: JobSearchAttribute): string => String(execution.searchAttributes[name]?.[0] ?? '-');
  const { phaseSince = execution.startTime.getTime(), attempts = 0, why, label, outcome } = memo;
  return {
    id: execution.workflowId,
    project: attribute('JobProject'),
    user: attribute('JobUser'),
    slice: memo.slice ?? attribute('JobAccelerator'),
    pool: attribute('JobPool'),
    phase: phaseOf(execution, attribute('JobPhase') as JobPhase),
    phaseSince: execution.closeTime?.getTime() ?? phaseSince,
    submittedAt: execution.startTime.getTime(),
    ...(execution.closeTime ? { endedAt: execution.closeTime.getTime() } : {}),
    attempts,
    ...(why === undefined ? {} : { why }),
    ...(label === undefined ? {} : { label }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

/** The job's own word, except where its workflow was closed over its head. */
function phaseOf({ status }: Pick<WorkflowExecutionInfo, 'status'>, phase: JobPhase): ShownPhase {
  switch (status.name) {
    case 'TERMINATED':
    case 'TIMED_OUT':
      return 'terminated';
    case 'FAILED':
      return JobPhase.Failed;
    case 'CANCELLED':
      return JobPhase.Cancelled;
    case 'COMPLETED':
      return isDone(phase) ? phase : JobPhase.Succeeded;
    default:
      return phase;
  }
}

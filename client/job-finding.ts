import { type JobFilter, matches, queryOf } from './job-query.js';
import { type JobRow, rowOf, type ShownPhase } from './job-rows.js';
import type { TemporalAccess } from './job-executions.js';

type Finding = Pick<TemporalAccess, 'temporal' | 'calls'>;

/** The most rows that Temporal returns in one call. */
export const PAGE = 1_000;

export interface JobCounts {
  readonly total: number;
  readonly open: number;
  /** Counts of ended jobs by the status of their workflows; phases without jobs are absent. */
  readonly ended: Readonly<Partial<Record<ShownPhase, number>>>;
}

/** Rows in Temporal's order: open jobs, newest first, then ended jobs, latest end first. Each id once, with its last run. */
export async function findJobs(
  { temporal, calls }: Finding,
  filter: JobFilter,
  most = Infinity,
): Promise<readonly JobRow[]> {
  if (most <= 0 || filter.ids?.length === 0) return [];
  const query = queryOf(filter);
  const found = temporal.workflow.list({ query, pageSize: Math.min(most, PAGE) })[Symbol.asyncIterator]();
  const rows = new Map<string, JobRow>();
  while (rows.size < most) {
    // Most rows are already loaded; each page has a separate deadline.
    const next = await calls.bounded(() => found.next());
    if (next.done === true) break;
    const execution = next.value;
    // An operator's reset leaves the run before it behind, closed.
    if (rows.has(execution.workflowId)) continue;
    const row = rowOf(execution);
    if (matches(filter, row)) rows.set(row.id, row);
  }
  return [...rows.values()];
}

export async function countJobs({ temporal, calls }: Finding, filter: JobFilter): Promise<JobCounts> {
  if (filter.ids?.length === 0) return { total: 0, open: 0, ended: {} };
  const query = `${queryOf(filter)} GROUP BY ExecutionStatus`;
  const { count: total, groups } = await calls.bounded(() => temporal.workflow.count(query));
  const ended: Partial<Record<ShownPhase, number>> = {};
  let open = 0;
  for (const { count, groupValues } of groups) {
    const phase = ENDS[String(groupValues[0])];
    if (phase === undefined) open += count;
    else ended[phase] = (ended[phase] ?? 0) + count;
  }
  return { total, open, ended };
}

const ENDS: Readonly<Record<string, ShownPhase>> = {
  Completed: 'succeeded',
  Failed: 'failed',
  Canceled: 'cancelled',
  Terminated: 'terminated',
  TimedOut: 'terminated',
};

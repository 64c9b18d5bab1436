import type { WorkflowStartOptions } from '@temporalio/client';
import { quotaWorkflowId, type QuotaInput } from '../workflows/messages.js';

/**
 * Of workflow tasks that wait in one queue. Without it a pool that loses its place in a worker's cache (a worker that ends, a
 * continue-as-new that a signal crosses) stands behind the first task of every job that was just submitted: minutes at 4,000.
 */
const BEFORE_ALL_JOBS = { priorityKey: 1 };

/**
 * A task of a pool that lost its place in the worker's cache reads its whole history again: 20 s for 10,000 jobs on a busy
 * computer (docs/runs.md). With Temporal's 10 s it was lost each time, and the pool stood still. Temporal's most is 120 s.
 */
const TASK_TIMEOUT_MS = 120_000;

/** How the quota workflow of a pool is started, whoever starts it. */
export function quotaStart(
  pool: string,
  taskQueue: string,
): Pick<WorkflowStartOptions, 'taskQueue' | 'staticSummary' | 'priority' | 'workflowTaskTimeout'> & {
  readonly workflowId: string;
  readonly args: [QuotaInput];
} {
  return {
    workflowId: quotaWorkflowId(pool),
    taskQueue,
    args: [{ v: 1, pool }],
    staticSummary: `quota of pool ${pool}`,
    priority: BEFORE_ALL_JOBS,
    workflowTaskTimeout: TASK_TIMEOUT_MS,
  };
}

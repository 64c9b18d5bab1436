import { WorkflowNotFoundError } from '@temporalio/common';
import type { Context } from '@temporalio/activity';
import type { WorkflowExecutionDescription } from '@temporalio/client';
import type { EpochMs } from '../domain/units.js';
import { type JobRef, quotaWorkflowId } from '../contract/workflow-ids.js';

/** The Temporal client that an activity runs with. */
export type WorkflowClient = Context['client'];

/** Whether the job's chain of runs (continued or reset any number of times) has an open run. NOT_FOUND is not open. */
export async function isChainOpen(client: WorkflowClient, job: JobRef): Promise<boolean> {
  return (await describeChain(client, job)).isOpen;
}

export interface JobChain {
  readonly isOpen: boolean;
  /** Latest time at which it closed. Absent: it is open, or Temporal does not know the time. */
  readonly closedAt?: EpochMs;
}

/** Describes the chain. If a later job of the same id has another first run, the chain had closed before that run began. */
export async function describeChain(client: WorkflowClient, job: JobRef): Promise<JobChain> {
  const execution = await describe(client, job.id);
  if (execution === undefined) return { isOpen: false };
  const first = firstRunOf(execution);
  if (first !== undefined && first !== job.run) return { isOpen: false, closedAt: execution.startTime.getTime() };
  if (execution.status.name === 'RUNNING') return { isOpen: true };
  return { isOpen: false, ...(execution.closeTime ? { closedAt: execution.closeTime.getTime() } : {}) };
}

/** The first run of the chain that the execution belongs to. Undefined: the server does not say. */
export const firstRunOf = ({ raw }: Pick<WorkflowExecutionDescription, 'raw'>): string | undefined =>
  raw.workflowExecutionInfo?.firstRunId || undefined;

export async function isWorkflowOpen(client: WorkflowClient, workflowId: string): Promise<boolean> {
  return (await describe(client, workflowId))?.status.name === 'RUNNING';
}

/** Undefined if Temporal does not know such a workflow, or no longer does. */
export async function describe(client: WorkflowClient, workflowId: string) {
  try {
    return await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/**
 * Checks that no other task queue runs the pool's quota workflow. A namespace has one such workflow per pool, on the task
 * queue of the worker that started it. Jobs of another queue would wait for a workflow that their worker never runs, or
 * follow the other installation's quota file.
 * @returns the problem and its remedy, or undefined if this queue runs the pool or none does
 */
export async function whoElseServes(
  temporal: WorkflowClient,
  pool: string,
  taskQueue: string,
): Promise<string | undefined> {
  const workflowId = quotaWorkflowId(pool);
  const open = await describe(temporal, workflowId);
  if (open?.status.name !== 'RUNNING' || open.taskQueue === taskQueue) return undefined;
  return (
    `its workflow ${workflowId} runs on task queue '${open.taskQueue}', and this worker polls '${taskQueue}': name another ` +
    `pool in the configuration of one of the two, or, where nobody polls '${open.taskQueue}' any more, end it with ` +
    `\`temporal workflow terminate --workflow-id ${workflowId}\``
  );
}

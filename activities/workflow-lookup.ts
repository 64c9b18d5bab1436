import { WorkflowNotFoundError } from '@temporalio/common';
import type { Context } from '@temporalio/activity';
import type { JobRef } from './contract.js';

/** The Temporal client that an activity runs with. */
export type WorkflowClient = Context['client'];

/** Whether the job's chain of runs (continued or reset as often as it may be) has an open run. NOT_FOUND is not open. */
export async function isChainOpen(client: WorkflowClient, job: JobRef): Promise<boolean> {
  const execution = await describe(client, job.id);
  if (execution?.status.name !== 'RUNNING') return false;
  const first = execution.raw.workflowExecutionInfo?.firstRunId;
  return first === undefined || first === null || first === '' || first === job.run;
}

export async function isWorkflowOpen(client: WorkflowClient, workflowId: string): Promise<boolean> {
  return (await describe(client, workflowId))?.status.name === 'RUNNING';
}

/** Undefined where Temporal knows no such workflow (any more). */
export async function describe(client: WorkflowClient, workflowId: string) {
  try {
    return await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Calls `act` for each item, `width` at a time. */
export async function eachOf<Item>(
  items: readonly Item[],
  width: number,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const lane = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
}

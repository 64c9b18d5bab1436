import { quotaWorkflowId } from '../workflows/messages.js';
import { describe, type WorkflowClient } from './workflow-lookup.js';

/**
 * A pool's workflow is one per namespace, and stays on the task queue of who started it. From another queue a worker's jobs
 * would ask a workflow that it never runs: they would wait for ever, or under the other installation's quota file.
 * @returns what is wrong and what to do; undefined where the pool is this queue's, or nobody's yet
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

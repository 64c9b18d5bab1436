import proto from '@temporalio/proto';
import type { TestStack } from '../../end-to-end/test-stack.js';

const { CommandType } = proto.temporal.api.enums.v1;

/**
 * Lets a job continue as new while no worker is there to begin the next run: the stack's worker is stopped, and one workflow task
 * is answered by hand, with what the run before left to the present one. To be called when the job has continued as new before.
 * @returns the first run id of the job's chain
 */
export async function continueAsNewByHand(stack: TestStack, id: string): Promise<{ readonly firstRunId: string }> {
  const { workflowService } = stack.client;
  const { namespace } = stack.server;
  const { events } = await stack.client.workflow.getHandle(id).fetchHistory();
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  if (!started?.continuedExecutionRunId) throw new Error(`job ${id} has not continued as new yet`);
  await stack.stopWorker();
  // The job may wait for an activity: any signal makes a workflow task.
  await stack.client.workflow.getHandle(id).signal('priority', { run: 'of another job', priority: 1 });
  const { taskToken, runId } = await workflowTaskOf(stack, id);
  stack.answeredByTest.add(runId);
  await workflowService.respondWorkflowTaskCompleted({
    namespace,
    taskToken,
    identity: 'test',
    commands: [
      {
        commandType: CommandType.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
        continueAsNewWorkflowExecutionCommandAttributes: {
          workflowType: started.workflowType ?? null,
          taskQueue: { name: stack.taskQueue },
          input: started.input ?? null,
        },
      },
    ],
  });
  return { firstRunId: started.firstExecutionRunId ?? '' };
}

/** The next workflow task of the job. Tasks of other workflows that come first are given back. */
async function workflowTaskOf(
  stack: TestStack,
  id: string,
): Promise<{ readonly taskToken: Uint8Array; readonly runId: string }> {
  const { workflowService, connection } = stack.client;
  const { namespace } = stack.server;
  const taskQueue = { name: stack.taskQueue };
  const others: Uint8Array[] = [];
  try {
    for (;;) {
      const task = await connection.withDeadline(Date.now() + 60_000, () =>
        workflowService.pollWorkflowTaskQueue({ namespace, taskQueue, identity: 'test' }),
      );
      if (!task.taskToken?.length) throw new Error(`no workflow task of job ${id} came`);
      const { workflowId, runId } = task.workflowExecution ?? {};
      if (workflowId === id) return { taskToken: task.taskToken, runId: runId ?? '' };
      others.push(task.taskToken);
    }
  } finally {
    for (const taskToken of others)
      await workflowService.respondWorkflowTaskFailed({ namespace, taskToken, identity: 'test' });
  }
}

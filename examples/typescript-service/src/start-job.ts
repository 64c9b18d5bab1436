import { ApplicationFailure, Client, Connection, WorkflowFailedError } from '@temporalio/client';
import type { Outcome } from 'jobctl/contract';
import { JOB_QUEUE, JOB_WORKFLOW, trainingJob } from './job.js';

/** Starts one job under the id that is given, waits for its end, and says how it ended. */
async function main(): Promise<void> {
  const [workflowId = `train-${Date.now().toString(36)}`] = process.argv.slice(2);
  const address = process.env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233';
  const taskQueue = process.env['JOBCTL_TASK_QUEUE'] ?? JOB_QUEUE;
  const connection = await Connection.connect({ address });
  const { workflow } = new Client({ connection, namespace: process.env['TEMPORAL_NAMESPACE'] ?? 'default' });
  try {
    const handle = await workflow.start(JOB_WORKFLOW, {
      workflowId,
      taskQueue,
      args: [trainingJob(0.001)],
      // The id is the key of idempotency: a second start of the same job is refused, running or ended.
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'FAIL',
    });
    console.log(`started ${handle.workflowId}`);
    const outcome = await outcomeOf(() => handle.result() as Promise<Outcome>);
    console.log(`${workflowId} ${outcome.result}: exit code ${outcome.exitCode}, ${outcome.attempts} attempts`);
    if (outcome.result !== 'succeeded') process.exitCode = 1;
  } finally {
    await connection.close();
  }
}

/**
 * How the job ended: an outcome, also where it failed (the failure's only detail).
 * @throws WorkflowFailedError where there is none: refused (type InvalidJob), cancelled, terminated
 */
async function outcomeOf(result: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await result();
  } catch (error) {
    const cause = error instanceof WorkflowFailedError ? error.cause : undefined;
    if (cause instanceof ApplicationFailure && cause.type === 'JobFailed') return cause.details?.[0] as Outcome;
    throw error;
  }
}

main().catch((error: unknown) => {
  const cause = error instanceof WorkflowFailedError ? error.cause : undefined;
  console.error(cause ?? error);
  process.exit(1);
});

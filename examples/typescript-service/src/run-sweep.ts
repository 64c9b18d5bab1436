import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { JOB_QUEUE, trainingJob } from './job.js';
import type { sweep } from './workflows.js';

/** This service's own queue: jobctl's workers do not know its workflows, and its worker does not know jobctl's. */
const OWN_QUEUE = 'typescript-service';
const LEARNING_RATES = [0.001, 0.01];

/** A worker for this service's workflows and one sweep on it, in one process. */
async function main(): Promise<void> {
  const [workflowId = `sweep-${Date.now().toString(36)}`] = process.argv.slice(2);
  const address = process.env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233';
  const namespace = process.env['TEMPORAL_NAMESPACE'] ?? 'default';
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: OWN_QUEUE,
    workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  });
  const clientConnection = await Connection.connect({ address });
  const { workflow } = new Client({ connection: clientConnection, namespace });
  const jobs = LEARNING_RATES.map((rate, index) => ({ id: `${workflowId}-${index}`, input: trainingJob(rate) }));
  const jobQueue = process.env['JOBCTL_TASK_QUEUE'] ?? JOB_QUEUE;
  try {
    const ends = await worker.runUntil(
      workflow.execute<typeof sweep>('sweep', { workflowId, taskQueue: OWN_QUEUE, args: [{ jobs, jobQueue }] }),
    );
    for (const { job, result } of ends) console.log(`${job} ${result}`);
    if (ends.some(({ result }) => result !== 'succeeded')) process.exitCode = 1;
  } finally {
    await clientConnection.close();
    await connection.close();
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

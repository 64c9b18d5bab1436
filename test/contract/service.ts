import { randomBytes } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import type { TestServer } from '../temporal-server.js';
import { QUIET } from '../workflow-bundle.js';
import { LOADING } from '../../worker/workflow-code.js';

/** Another team's service: a worker of its own queue, in this process, for workflows that know jobctl by its contract alone. */
export class Service {
  readonly taskQueue: string;
  readonly #worker: Worker;
  readonly #connection: NativeConnection;
  readonly #running: Promise<void>;

  private constructor(taskQueue: string, worker: Worker, connection: NativeConnection) {
    this.taskQueue = taskQueue;
    this.#worker = worker;
    this.#connection = connection;
    this.#running = worker.run();
  }

  static async start(server: TestServer, workflowsPath: string): Promise<Service> {
    const taskQueue = `service-${randomBytes(4).toString('hex')}`;
    const connection = await NativeConnection.connect({ address: server.address });
    const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: QUIET });
    const worker = await Worker.create({
      connection,
      namespace: server.namespace,
      taskQueue,
      workflowBundle,
      ...LOADING,
    });
    return new Service(taskQueue, worker, connection);
  }

  async stop(): Promise<void> {
    this.#worker.shutdown();
    await this.#running;
    await this.#connection.close();
  }
}

/** Starts jobctl's workflow as a service does that knows only type, queue and input: no memo, no search attributes. */
export async function startPlainJob(client: Client, taskQueue: string, id: string, input: unknown): Promise<void> {
  await client.workflow.start('job', { workflowId: id, taskQueue, args: [input] });
}

import { Client } from '@temporalio/client';
import { newCodecKey } from '../../cloud/codec/codec-key.js';
import { jobDataConverter } from '../../client/connect.js';
import { until } from '../until.js';
import type { TestStack } from './test-stack.js';

const KEY = 'JOBCTL_TEST_LOST_KEY';
const REFERENCE = `env:${KEY}`;

/**
 * Makes every workflow task of one open workflow fail, as a codec key that a worker has lost does: a signal that nobody without
 * the key can decode. It needs no hook in the product, spares all other workflows, and is cured by giving the worker the key.
 */
export class Poison {
  /** Of the error with which each workflow task fails. */
  readonly error = /a payload is encrypted with key 'lost-key'/;
  readonly #stack: TestStack;
  readonly #client: Client;

  private constructor(stack: TestStack, client: Client) {
    this.#stack = stack;
    this.#client = client;
  }

  static async for(stack: TestStack): Promise<Poison> {
    process.env[KEY] = newCodecKey(new Date(), 'lost-key');
    const dataConverter = await jobDataConverter({ key: REFERENCE });
    const { connection, namespace } = stack.server;
    return new Poison(stack, new Client({ connection, namespace, dataConverter }));
  }

  /**
   * @param signal one that the workflow takes; what it carries is dropped as malformed once it can be read
   * @param attempt of the workflow task that has to be reached
   */
  async give(workflowId: string, signal: string, attempt = 2): Promise<void> {
    const handle = this.#client.workflow.getHandle(workflowId);
    this.#stack.answeredByTest.add((await handle.describe()).runId);
    await handle.signal(signal, 'of a lost key');
    await until(
      `attempt ${attempt} of the workflow task of ${workflowId}`,
      async () => ((await handle.describe()).raw.pendingWorkflowTask?.attempt ?? 0) >= attempt,
      120_000,
    );
  }

  /** Starts another worker, which has the key. */
  async cure(): Promise<void> {
    await this.#stack.stopWorker();
    this.#stack.workerConfig = { codec: { decodeKeys: [REFERENCE] } };
    await this.#stack.startWorker();
  }
}

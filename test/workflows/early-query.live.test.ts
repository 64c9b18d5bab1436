import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { inItsTurn } from '../../contract/early-query.js';
import { INTERCEPTORS, LOADING } from '../../worker/workflow-code.js';
import { TEMPORAL_START_MS, testServer, type TestServer } from '../temporal-server.js';
import { QUIET } from '../workflow-bundle.js';

const QUEUE = 'early-queries';
const ROUNDS = 10;
const QUERIES = 8;

/**
 * Queries that wait while no worker is there, and a signal that comes as one starts. Without the interceptor half of the rounds
 * see the signal at the time of the task before it (measured 2026-11-30, SDK 1.24, server 1.29.1).
 */
describe('a signal that comes while queries wait for a worker', function () {
  this.timeout(TEMPORAL_START_MS);
  let server: TestServer;
  let connection: NativeConnection;
  let worker: () => Promise<Worker>;
  before(async () => {
    server = await testServer();
    const workflowBundle = await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('waits-by-time.ts', import.meta.url)),
      workflowInterceptorModules: [...INTERCEPTORS],
      logger: QUIET,
    });
    const { address, namespace } = server;
    connection = await NativeConnection.connect({ address });
    worker = () =>
      Worker.create({
        ...LOADING,
        connection,
        namespace,
        taskQueue: QUEUE,
        workflowBundle,
        stickyQueueScheduleToStartTimeout: '1s',
      });
  });
  after(() => connection?.close());

  it('is seen at the time of its own task', async () => {
    const { connection: own, namespace } = server;
    const client = new Client({ connection: own, namespace });
    const wrong: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const handle = await client.workflow.start('waitsByTime', { workflowId: `early-${round}`, taskQueue: QUEUE });
      const seen = () => inItsTurn(() => handle.query<number[]>('seen'), pause);
      await (await worker()).runUntil(seen);
      // The SDK drops those of them that stand behind a refused one, and their callers' time runs out (docs/adr/0174).
      const waiting = Array.from({ length: QUERIES }, () =>
        own.withDeadline(Date.now() + 4000, seen).catch(() => undefined),
      );
      // Until the server has given up the worker that was there.
      await pause(1300);
      const next = await worker();
      const [at] = await next.runUntil(async () => {
        await pause(4 * round);
        await handle.signal('wake');
        for (;;) {
          const last = await seen();
          if (last.length > 0) return last;
        }
      });
      await Promise.all(waiting);
      const { events } = await handle.fetchHistory();
      const tasks = (events ?? []).flatMap(({ eventTime, workflowTaskStartedEventAttributes }) =>
        workflowTaskStartedEventAttributes
          ? [Number(eventTime?.seconds) * 1000 + Math.floor((eventTime?.nanos ?? 0) / 1e6)]
          : [],
      );
      if (at === tasks[0]) wrong.push(`round ${round}: ${at} of ${tasks.join()}`);
      await handle.terminate('done');
    }
    assert.deepEqual(wrong, []);
  });
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import {
  type ActivityInterceptorsFactory,
  bundleWorkflowCode,
  DefaultLogger,
  NativeConnection,
  Worker,
} from '@temporalio/worker';
import { claimQueue, ownerOfQueue, takeQueueOver } from '../../cloud/temporal/queue-claim.js';
import { ForeignQueue, QueueGuard } from '../../worker/temporal-connection.js';
import { TEMPORAL_START_MS, type TestServer, testServer } from '../temporal-server.js';
import { LOADING } from '../../worker/workflow-code.js';

const [OURS, THEIRS] = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb'] as const;
const JOBS = 30;

const countedBy =
  (owner: string, taken: string[]): ActivityInterceptorsFactory =>
  () => ({
    inbound: {
      execute: (input, next) => {
        taken.push(owner);
        return next(input);
      },
    },
  });

describe('a task queue', function () {
  this.timeout(90_000);
  let server: TestServer;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    server = await testServer();
  });
  const place = () => {
    const { connection, namespace } = server;
    return { connection, namespace, taskQueue: `stranger-${randomBytes(4).toString('hex')}` };
  };

  it('is the installation that claims it first, whoever asks again', async () => {
    const at = place();
    assert.equal(await ownerOfQueue(at), undefined);
    const holders = await Promise.all([OURS, THEIRS, OURS, THEIRS].map((owner) => claimQueue(at, owner)));
    assert.equal(new Set(holders).size, 1, `two installations have it: ${holders.join(', ')}`);
    assert.equal(await claimQueue(at, 'cccccccccccc'), holders[0]);
    await takeQueueOver(at, 'cccccccccccc');
    assert.equal(await ownerOfQueue(at), 'cccccccccccc');
  });

  it('is refused to a worker of another installation before its first poll, with the name of whose it is', async () => {
    const at = place();
    await new QueueGuard(at, OURS).claim();
    await new QueueGuard(at, OURS).claim();
    await assert.rejects(new QueueGuard(at, THEIRS).claim(), (error) => {
      assert.ok(error instanceof ForeignQueue);
      assert.match(
        error.message,
        new RegExp(`'${at.taskQueue}' .* is installation '${OURS}', and this is installation '${THEIRS}'`),
      );
      assert.match(error.message, /jobctl setup server --take-over/);
      return true;
    });
  });

  it('has no outcome that a stranger decided, though the stranger polls it: as where the server was replaced under it', async () => {
    const at = place();
    await claimQueue(at, OURS);
    const bundle = await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('./decided.ts', import.meta.url)),
      logger: new DefaultLogger('ERROR'),
    });
    const guards = [OURS, THEIRS].map((owner) => new QueueGuard(at, owner));
    // One connection for each: a process may not have two workers of one queue on one connection.
    const connections = await Promise.all(guards.map(() => NativeConnection.connect({ address: server.address })));
    const taken: string[] = [];
    const workers = await Promise.all(
      guards.map((guard, index) =>
        Worker.create({
          ...{ connection: connections[index] as NativeConnection, namespace: at.namespace, taskQueue: at.taskQueue },
          ...LOADING,
          workflowBundle: bundle,
          identity: guard.owner,
          interceptors: { activity: [countedBy(guard.owner, taken), guard.interceptor] },
          activities: { decide: async () => guard.owner },
        }),
      ),
    );
    const running = workers.map((worker) => worker.run());
    try {
      const { workflow } = new Client({ connection: server.connection, namespace: at.namespace });
      const ends = await Promise.all(
        Array.from({ length: JOBS }, (_, index) =>
          workflow.execute('decided', { workflowId: `${at.taskQueue}-${index}`, taskQueue: at.taskQueue }),
        ),
      );
      assert.deepEqual(new Set(ends), new Set([OURS]));
      assert.ok(taken.includes(THEIRS), 'the stranger was given no task: the test shows nothing');
      assert.match(await (guards[1] as QueueGuard).lost, new RegExp(`is installation '${OURS}'`));
    } finally {
      for (const worker of workers) worker.shutdown();
      await Promise.all(running);
      for (const connection of connections) await connection.close();
    }
  });

  it('that the server has forgotten is not decided on either, and one that it does not answer about is', async () => {
    const at = place();
    const guard = new QueueGuard(at, OURS);
    await guard.claim();
    const abroad = new QueueGuard({ ...at, taskQueue: `${at.taskQueue}-forgotten` }, OURS);
    const ended = new AbortController();
    const watching = abroad.watch(ended.signal);
    assert.match(await abroad.lost, /does not know any more/);
    ended.abort();
    await watching;
    const describeSchedule = async (): Promise<never> => {
      throw new Error('14 UNAVAILABLE');
    };
    const silent = new QueueGuard({ ...at, connection: { workflowService: { describeSchedule } } as never }, OURS);
    const intercepted = silent.interceptor({} as never).inbound?.execute;
    assert.equal(await intercepted?.({} as never, async () => 'done'), 'done');
  });
});

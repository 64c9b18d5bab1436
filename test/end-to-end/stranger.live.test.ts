import assert from 'node:assert/strict';
import { ensureOwner } from '../../client/installation.js';
import { takeQueueOver } from '../../cloud/temporal/queue-claim.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { TestStack } from './test-stack.js';

const THEIRS = 'bbbbbbbbbbbb';

/** Seen before: a job that a worker of another installation had accepted failed after a minute, with 0 attempts. */
describe('a stranger among the workers', function () {
  this.timeout(240_000);
  let stack: TestStack;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start();
  });
  after(() => stack?.stop());
  const submit = async () => stack.jobs.submit({ job: jobFile('echo done', { tpu: { accelerator: 'v5litepod-8' } }) });

  it('ends before its first poll, and says whose the queue is: a job ends as it should', async () => {
    const endpoint = stack.rehearsal.endpoints.store;
    const theirs = { endpoint, bucket: 'theirs', projectId: 'rehearsal' };
    await ensureBucket(theirs);
    const { id: owner } = await ensureOwner(createStore(theirs));
    await stack.stopWorker();
    const { id } = await submit();
    stack.workerConfig = { store: { endpoint, bucket: theirs.bucket } };
    stack.spawnWorker();
    await until('the stranger has ended', () => stack.pid === undefined, 60_000);
    const said = `is installation '${stack.owner}', and this is installation '${owner}'`;
    assert.ok(stack.tail().includes(said), stack.tail());
    stack.workerConfig = {};
    await stack.startWorker();
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
  });

  it('that the server became under a worker decides nothing: the worker waits, not ready, until the queue is its own again', async () => {
    const { connection, namespace } = stack.server;
    const place = { connection, namespace, taskQueue: stack.taskQueue };
    await takeQueueOver(place, THEIRS);
    const { id } = await submit();
    const { reasons } = await until('the worker is not ready', async () => {
      const readiness = await stack.readiness();
      return readiness.ready ? undefined : readiness;
    });
    assert.match(reasons.join(), new RegExp(`is installation '${THEIRS}', and this is installation '${stack.owner}'`));
    await takeQueueOver(place, stack.owner);
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
  });
});

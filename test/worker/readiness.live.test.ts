import assert from 'node:assert/strict';
import { ensureSearchAttributes } from '../../client/namespace.js';
import { ownerObject } from '../../domain/store-layout.js';
import { jobFile } from '../end-to-end/job-files.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { until } from '../until.js';
import { startTestServer, TEMPORAL_START_MS, type TestServer } from '../temporal-server.js';

describe('a worker whose surroundings are not complete', function () {
  this.timeout(60_000);
  let server: TestServer;
  let stack: TestStack;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    server = await startTestServer();
    stack = await TestStack.start({ server, isNotReady: true });
  });
  after(async () => {
    await stack.stop();
    await server.stop();
  });

  it('is not ready, says what is missing and what to do, takes no job, and goes on when it is there', async () => {
    const { operatorService } = server.connection;
    await operatorService.removeSearchAttributes({ namespace: server.namespace, searchAttributes: ['JobPool'] });
    const owner = (await stack.store.read(ownerObject)) as Buffer;
    await stack.store.remove(ownerObject);
    const others = await stack.client.workflow.start('quota', {
      workflowId: 'quota/default',
      taskQueue: 'of-another-installation',
      args: [{ v: 1, pool: 'default' }],
    });
    stack.spawnWorker();
    const reasons = await until('it says what is missing', async () => {
      const answer = await stack.readiness();
      return !answer.ready && answer.reasons.length === 3 ? answer.reasons : undefined;
    });
    assert.match(
      reasons[0] ?? '',
      /^search attribute JobPool of Temporal namespace default: missing\. Run jobctl setup server, or temporal operator search-attribute create .*--name JobPool --type Keyword/,
    );
    assert.match(
      reasons[1] ?? '',
      /bucket e2e-.*: has no installation's owner id \(system\/owner\): run 'jobctl setup server'/,
    );

    assert.match(
      reasons[2] ?? '',
      /^pool default: its workflow quota\/default runs on task queue 'of-another-installation', and this worker polls 'e2e-.*': name another pool .*`temporal workflow terminate --workflow-id quota\/default`/,
    );

    await others.terminate();
    await ensureSearchAttributes(server.connection, server.namespace);
    await until('one reason is left', async () => (await stack.readiness()).reasons.length === 1);
    const { id } = await stack.jobs.submit({ job: jobFile('true') });
    assert.equal((await stack.jobs.row(id)).phase, 'queued');
    await stack.store.replace(ownerObject, owner);
    await until('it is ready', async () => (await stack.readiness()).ready);
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
  });
});

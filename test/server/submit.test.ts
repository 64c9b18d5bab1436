import assert from 'node:assert/strict';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { jobFile } from '../end-to-end/job-files.js';
import { until } from '../until.js';
import { ServerStack } from './server-stack.js';

const ALICE = 'alice@example.org';
const job = (command = 'echo hello', more: object = {}) =>
  jobFile(command, { project: 'vision', tpu: { accelerator: 'v5litepod-1' }, ...more });

describe('a job through the server', function () {
  this.timeout(120_000);
  let stack: ServerStack;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await ServerStack.start();
  });
  after(() => stack?.stop());

  const ended = (id: string) =>
    until(
      `${id} has ended`,
      async () => {
        const { body } = await stack.call(ALICE, 'GET', `/v1/jobs/${id}/wait?timeoutMs=20000`);
        return body['isOver'] === true ? (body['outcome'] as Record<string, unknown>) : undefined;
      },
      90_000,
    );

  it('runs as the user of the token, verified, in the project that they are a member of', async () => {
    const submitted = await stack.call(ALICE, 'POST', '/v1/jobs', { job: job() });
    assert.equal(submitted.status, 201, submitted.text);
    const id = String(submitted.body['id']);
    assert.equal((await ended(id))['result'], 'succeeded');
    const { body } = await stack.call(ALICE, 'GET', `/v1/jobs/${id}`);
    assert.equal(body['user'], ALICE);
    assert.equal(body['isVerified'], true);
    assert.equal(body['project'], 'vision');
    const { text } = await stack.call(ALICE, 'GET', `/v1/jobs/${id}/logs?host=0`);
    assert.equal(text, 'hello\n');
  });
});

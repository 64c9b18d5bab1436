import assert from 'node:assert/strict';
import { jobFile } from '../../end-to-end/job-files.js';
import { ServerStack } from '../../server/server-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

const ALICE = 'alice@example.org';
const MALLORY = 'mallory@example.org';

/** By name, with what each said. */
const FORGERIES: Readonly<Record<string, string>> = {
  'quota/default/applied/pool': `[access]\noperators = ["user:${MALLORY}"]\n`,
  'quota/default/state.json': '{"v":1}',
  'system/owner': '000000000000',
  'audit/2026-11-24/00-00-00.000-forged-1.jsonl': '{}\n',
  'jobs/after/run': 'squatted',
  'jobs/after/job-keys/forged.json': '{}',
  'jobs/before/owner.json': JSON.stringify({ user: MALLORY, project: 'speech', pool: 'default' }),
  'jobs/before/outcome.json': '{"result":"failed"}',
};
const FORGED = Object.keys(FORGERIES);

/**
 * Finding F7 (docs/runs.md, commit 19b9c1e): whoever writes the bucket decides. There each of these objects had an effect:
 * the forged pool file was in force within 36 s, the id was taken for ever, the audit was blind.
 */
describe('F7: the bucket is no second control plane', function () {
  this.timeout(180_000);
  let stack: ServerStack;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await ServerStack.start();
  });
  after(() => stack?.stop());

  const run = async (name: string): Promise<Record<string, unknown>> => {
    const job = jobFile('echo hi', { name, project: 'vision', tpu: { accelerator: 'v5litepod-1' } });
    const submitted = await stack.call(ALICE, 'POST', '/v1/jobs', { job, name });
    assert.equal(submitted.status, 201, submitted.text);
    return until(
      `${name} has ended`,
      async () => {
        const { body } = await stack.call(ALICE, 'GET', `/v1/jobs/${name}/wait?timeoutMs=10000`);
        return body['isOver'] === true ? body : undefined;
      },
      90_000,
    );
  };

  it('a job runs, and forged objects of each kind change nothing of the next', async () => {
    assert.equal((await run('before'))['isOver'], true);
    // With the rights of a host, or of a submitter of old: any object of the job bucket.
    const jobs = stack.stack.store;
    for (const [name, content] of Object.entries(FORGERIES)) await jobs.replace(name, content);
    await stack.stack.stopWorker();
    await stack.endServer('SIGTERM');
    await Promise.all([stack.stack.startWorker(), stack.startServer()]);

    const freeze = await stack.call(MALLORY, 'POST', '/v1/pools/default/admission', { admission: 'frozen' });
    assert.equal(freeze.status, 403, freeze.text);
    const logs = await stack.call(MALLORY, 'GET', '/v1/jobs/before/logs');
    assert.equal(logs.status, 403, logs.text);
    const pool = await stack.call(MALLORY, 'GET', '/v1/pools/default');
    assert.equal(pool.body['pool'], 'default', pool.text);
    const outcome = await stack.call(ALICE, 'GET', '/v1/objects/content?name=jobs/before/outcome.json');
    assert.match(outcome.text, /"result": "succeeded"/);
    const after = await run('after');
    assert.equal((after['outcome'] as Record<string, unknown>)['result'], 'succeeded');
    assert.match(
      stack.stack.tail(10_000),
      new RegExp(`polls.*"owner":"${stack.stack.owner}"|"owner":"${stack.stack.owner}".*polls`),
    );
  });

  it('and they are named, by the worker that starts', () => {
    const [warning = ''] = stack.stack
      .tail(10_000)
      .split('\n')
      .filter((line) => line.includes('is not read'))
      .slice(-1);
    for (const name of FORGED) assert.ok(warning.includes(name), `${name}: ${warning}`);
  });
});

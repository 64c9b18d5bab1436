import assert from 'node:assert/strict';
import { JobClient } from '../../../client/job-client.js';
import type { JobInput } from '../../../contract/job.js';
import { WorkflowType } from '../../../contract/workflow-ids.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { ServerStack } from '../../server/server-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

const ALICE = 'alice@example.org';
const TPU = { tpu: { accelerator: 'v5litepod-1' } };
/** Member 1 fails in the first round. */
const COMMAND = 'case "$JOBCTL_JOB_ID" in *-r1-*) ;; *-1) exit 3;; esac';

describe('an array in a pool in verified mode', function () {
  this.timeout(180_000);
  let servers: ServerStack;
  let jobs: JobClient;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    servers = await ServerStack.start();
    const token = await servers.issuer.token({ email: ALICE });
    jobs = await JobClient.connect({ server: servers.urls[0] ?? '', token: async () => token });
  });
  after(async () => {
    await jobs?.close();
    await servers?.stop();
  });

  const arrayOf = (command: string): Record<string, unknown> =>
    jobFile(command, {
      ...{ name: 'exp', project: 'vision', retries: { task: 0 }, tpu: { accelerator: 'v5litepod-1' } },
      array: { matrix: { n: '1..3' } },
    });

  it('runs by the one signature of its group, and is retried by another', async () => {
    const { id, members } = await jobs.submit({ job: arrayOf(COMMAND) });
    assert.equal(members, 3);
    assert.equal((await jobs.waitGroup(id)).marks, 'sfs', servers.stack.tail());
    const rows = await jobs.find({ group: id });
    assert.deepEqual(new Set(rows.map(({ user, isVerified }) => `${user} ${isVerified}`)), new Set([`${ALICE} true`]));
    assert.match(await jobs.retryGroup(id, ''), new RegExp(`^1 member of group ${id} runs again`));
    assert.deepEqual(await jobs.waitGroup(id), { marks: 'sss', rounds: '010' });
  });

  it('is listed while it waits for others, and begins when its user lets it', async () => {
    const { id: holds } = await jobs.submit({ job: jobFile('sleep 600', { project: 'vision', ...TPU }) });
    const { id } = await jobs.submit({ job: { ...arrayOf('true'), after: holds } });
    await until('it is listed', async () => (await jobs.groups({ group: id }))[0]?.awaited === `${holds} to succeed`);
    assert.equal((await jobs.describeGroup(id)).awaited, `${holds} to succeed`);
    assert.equal(await jobs.beginGroup(id, ''), `group ${id} waits for no others any more: its members begin`);
    assert.equal((await jobs.waitGroup(id)).marks, 'sss');
    await until(
      'so is its end',
      async () => (await jobs.groups({ user: ALICE, group: id }))[0]?.counts?.['succeeded'] === 3,
    );
    await jobs.cancel(holds);
  });

  it('lets in no job that its signature does not cover', async () => {
    const { client, taskQueue } = servers.stack;
    const { id } = await jobs.submit({ job: arrayOf('true') });
    await jobs.waitGroup(id);
    const { submission } = (await client.workflow.getHandle(`group/${id}`).result()) as { submission: JobInput };
    const forged: Readonly<Record<string, readonly [string, JobInput]>> = {
      'a place that it does not have': [`${id}-3`, { ...submission, member: { group: id, index: 3 } }],
      'a retry that nobody signed': [`${id}-r1-0`, { ...submission, member: { group: id, index: 0, round: 1 } }],
      'another group': ['forged-0', { ...submission, member: { group: 'forged', index: 0 } }],
      'the whole array as a job': [`${id}x`, submission],
    };
    for (const [name, [workflowId, input]] of Object.entries(forged)) {
      const run = client.workflow.execute(WorkflowType.Job, { workflowId, taskQueue, args: [input] });
      await assert.rejects(run, (error: Error & { cause?: { type?: string } }) => {
        assert.equal(error.cause?.type, 'InvalidJob', name);
        return true;
      });
    }
  });
});

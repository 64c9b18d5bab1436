import assert from 'node:assert/strict';
import { JobInvalid } from '../../../client/errors.js';
import { grantedSignal, revokedSignal, type JobView } from '../../../contract/job.js';
import { logPrefix } from '../../../domain/store-layout.js';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { TestStack } from '../../end-to-end/test-stack.js';
import { quotaFileText } from '../../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

const POOL = 'ruled';
const LOG_BYTES = 65_536;
const POOL_FILE = `
zones = ["us-central1-a"]
[allow]
notify = ["sweep-*"]
[limits]
open_jobs_per_user = 2
log_bytes_per_attempt = ${LOG_BYTES}
[limits.priority_floor]
vision = 2
[quota]
admins = ["root"]
`;
const QUOTA_FILE = quotaFileText({ v5litepod: 64 }, { vision: { members: ['.*'], share: 1 } });

/**
 * F9, F10 and F12 on a real stack: what a pool file allows and limits holds for jobs that are started in Temporal directly, with
 * whatever input, and for edits of jobs that run. At 19b9c1e each of these jobs was taken, the edits were made, the forged
 * revocation left its job waiting for ever, and the job of 1.9 MB ended as `terminated`.
 */
describe('a pool with rules', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let users = 0;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ pool: POOL, quota: QUOTA_FILE, poolFile: POOL_FILE });
  });
  after(() => stack.stop());

  const job = (command: string, more: object = {}): object => ({
    ...{ name: 'ruled', pool: POOL, tpu: { accelerator: 'v5litepod-1' }, command: { run: command } },
    ...more,
  });
  /** As docs/contract.md tells services to; nothing of the client's is asked. */
  async function start(file: object, user = `user-${users++}`): Promise<string> {
    const workflowId = `ruled-${users++}`;
    await stack.client.workflow.start('job', {
      workflowId,
      taskQueue: stack.taskQueue,
      args: [{ v: 1, user, job: file }],
    });
    return workflowId;
  }
  const refused = (id: string, why: RegExp): Promise<void> =>
    assert.rejects(stack.jobs.wait(id), (error: Error) => {
      assert.ok(error instanceof JobInvalid, String(error));
      assert.match(error.message, why);
      return true;
    });
  const running = (id: string, attempt = 1): Promise<JobView> =>
    until(`attempt ${attempt} of ${id} runs`, async () => {
      const view = await stack.jobs.describe(id);
      return view.phase === 'running' && view.attempt === attempt ? view : undefined;
    });

  it('refuses choices of a direct start, and of an edit', async () => {
    const tpu = {
      accelerator: 'v5litepod-1',
      project: 'other-project',
      service_account: 'x@other.iam.gserviceaccount.com',
    };
    await refused(
      await start(job('true', { tpu, notify: { to: { workflow: { id: 'evil', signal: 's' } } } })),
      /^tpu\.project: 'other-project' is not allowed in pool ruled\n[^]*\ntpu\.service_account: [^]*\nnotify\.to\.workflow\.id: 'evil' is not allowed in pool ruled\n {2}allowed: sweep-\*\n {2}for another one ask root \(admins of the pool\): \[allow\] notify in .*pool\.toml$/,
    );
    const id = await start(job('sleep 60', { notify: { to: { workflow: { id: 'sweep-1', signal: 's' } } } }));
    await running(id);
    const edit = (target: string) => ({ set: [{ path: ['notify', 'to', 'workflow', 'id'], value: target }] });
    await assert.rejects(
      stack.jobs.restart(id, 'x', edit('evil')),
      /notify\.to\.workflow\.id: 'evil' is not allowed in pool ruled/,
    );
    await stack.jobs.restart(id, 'x', edit('sweep-2'));
    const { spec } = await running(id, 2);
    assert.deepEqual(spec.notify?.[0]?.to, { workflow: { id: 'sweep-2', signal: 's' } });
    await stack.jobs.cancel(id);
  });

  it('refuses a job too many of one user, also one whose starter says nothing of it, until one has ended in any way', async () => {
    const first = await start(job('sleep 60'), 'ann');
    await running(first);
    const second = await start(job('sleep 60'), 'ann');
    await running(second);
    const why = /^pool ruled: user 'ann' has 2 open jobs \(ruled-\d+, ruled-\d+\), and the pool takes 2 at most\n/;
    await refused(await start(job('true'), 'ann'), why);
    await refused(await start(job('true', { user: 'ann' }), 'somebody'), why);
    await stack.client.workflow.getHandle(first).terminate('test');
    const third = await start(job('true'), 'ann');
    assert.equal((await stack.jobs.wait(third)).result, 'succeeded');
    await stack.jobs.cancel(second);
  });

  it('has a floor for priorities, at submit and in the verb, for admins too', async () => {
    await refused(
      await start(job('true', { priority: 1 })),
      /^priority: 1 is higher than project vision may have in this pool: 2 at most/,
    );
    const id = await start(job('sleep 60', { priority: 2 }), 'bob');
    await running(id);
    for (const by of ['bob', 'root'])
      await assert.rejects(
        stack.jobs.quota(POOL).setPriority(id, 1, by),
        /priority: 1 is higher than project vision may have in this pool: 2 at most/,
      );
    await stack.jobs.quota(POOL).setPriority(id, 4, 'bob');
    await stack.jobs.cancel(id);
  });

  it('keeps so much of a log, says so, and the command goes on', async () => {
    const id = await start(job('yes 0123456789 | head -c 300000; echo the end; exit 3'));
    const outcome = await stack.jobs.wait(id).catch((error: { outcome?: unknown }) => error.outcome);
    assert.equal((outcome as { exitCode?: number }).exitCode, 3);
    const objects = await stack.store.list(`${logPrefix(id, 1, 'command')}host-0.`);
    const bytes = Buffer.concat(
      await Promise.all(objects.map(async ({ name }) => (await stack.store.read(name)) ?? Buffer.alloc(0))),
    );
    const want = Buffer.from('0123456789\n'.repeat(30_000)).subarray(0, LOG_BYTES);
    assert.ok(bytes.subarray(0, LOG_BYTES).equals(want));
    assert.match(
      bytes.subarray(LOG_BYTES).toString(),
      /^\n\[jobctl\] this log ends here: pool ruled keeps 65536 bytes of each log of an attempt \(\[limits\] log_bytes_per_attempt\)\..*\n$/,
    );
  });

  it('says of a job that is too large what it is, and does not let it end without a word', async () => {
    const big = (bytes: number): object => job('true', { env: { BIG: 'x'.repeat(bytes) } });
    await refused(
      await start(big(1_900_000)),
      /^input: the job is 1900\d+ bytes of JSON, and 393216 are the most\n {2}put long values into a file/,
    );
    await refused(await start(big(600_000)), /^input: the job is 600\d+ bytes of JSON/);
    const wrong = Object.fromEntries(Array.from({ length: 4_900 }, (_, index) => [`key ${index}`, '']));
    await refused(
      await start(job('true', { env: wrong })),
      /is no name of a variable[^]*\n\.\. and 4850 more problems$/,
    );
    await assert.rejects(stack.jobs.submit({ job: big(600_000) }), /^JobInvalid: input: the job is/);
  });

  it('a forged revocation of a time to come does nothing; one of now costs a lease and no more', async () => {
    const id = await start(job('sleep 300'));
    await running(id);
    const handle = stack.client.workflow.getHandle(id);
    const run = (await handle.describe()).raw.workflowExecutionInfo?.firstRunId ?? '';
    const forged = (epoch: number) => ({ run, number: 1, epoch, reason: 'forged', cause: 'quota' as const });
    await handle.signal(revokedSignal, forged(999_999_999_999_999));
    await handle.signal(grantedSignal, { run, number: 2, epoch: 999_999_999_999_999, tier: 0 });
    await until('both are dropped', async () =>
      /jobctl_refused_messages_total\{[^}]*signal="granted"/.test(await stack.metrics()),
    );
    assert.equal((await stack.jobs.describe(id)).phase, 'running');
    await handle.signal(revokedSignal, forged(Date.now()));
    const back = await running(id, 2);
    assert.equal(back.quotaPreemptions, 1);
    await stack.jobs.cancel(id);
    await cloudIsEmpty(new RehearsalAdmin(stack.rehearsal.endpoints.admin));
  });
});

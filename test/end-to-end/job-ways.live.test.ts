import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attemptObject } from '../../domain/store-layout.js';
import { until } from '../until.js';
import { jobFile } from './job-files.js';
import { cloudIsEmpty } from './nothing-left.js';
import type { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import { type TestStack, writeKeyPair } from './test-stack.js';
import { withStack } from './with-stack.js';

const ONE_HOST = { accelerator: 'v5litepod-8' };

/** Others than those of job-life.live.test.ts; cheaper tests show each part of them from nearer by. */
describe('a job, from submit to its outcome, by ways that are tried in .ci/long', function () {
  this.timeout(90_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((...own) => {
    [stack, admin] = own;
  });

  const log = (id: string, attempt: number, host: number): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host, attempt });

  const attemptRecord = async (id: string, attempt: number): Promise<{ startedAt: number; endedAt: number }> =>
    JSON.parse(String(await stack.store.read(attemptObject(id, attempt)))) as { startedAt: number; endedAt: number };

  const nothingLeft = (): Promise<void> => cloudIsEmpty(admin);

  it('runs the command on every host of a slice of the mode tpu-vm, and leaves nothing', async () => {
    const job = jobFile('echo "host $JOBCTL_HOST_INDEX of $JOBCTL_NUM_HOSTS"', { tpu: { allocation_mode: 'tpu-vm' } });
    const { id } = await stack.jobs.submit({ job });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    for (const host of [0, 1, 2, 3]) assert.equal(await log(id, 1, host), `host ${host} of 4\n`);
    await nothingLeft();
  });

  it('sets a venv up and runs the command in it', async () => {
    const job = jobFile('python -c "import sys; print(sys.prefix != sys.base_prefix)"', {
      setup: { modules: ['venv', 'command'] },
      venv: { name: 'work', python: 'python3' },
      tpu: ONE_HOST,
    });
    const { id } = await stack.jobs.submit({ job });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.equal(await log(id, 1, 0), 'True\n');
  });

  it('makes a second attempt when the slice has vanished, and keeps both logs', async () => {
    const { id } = await stack.jobs.submit({
      job: jobFile(
        'echo "attempt $JOBCTL_ATTEMPT after \'$JOBCTL_PREVIOUS_ATTEMPT_END\'"; [ "$JOBCTL_ATTEMPT" = 1 ] && sleep 600; true',
      ),
    });
    await until('every host has printed', async () =>
      (await Promise.all([0, 1, 2, 3].map((host) => log(id, 1, host)))).every((text) => text !== ''),
    );
    const [first] = (await admin.status()).nodes;
    await admin.post('preempt', { name: first?.name, mode: 'vanish' });
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts, outcome.preemptions], ['succeeded', 2, 1], stack.tail());
    for (const host of [0, 1, 2, 3]) {
      assert.equal(await log(id, 1, host), "attempt 1 after ''\n");
      assert.equal(await log(id, 2, host), "attempt 2 after 'slices-lost'\n");
    }
    const [lost, second] = await Promise.all([attemptRecord(id, 1), attemptRecord(id, 2)]);
    assert.ok(lost.startedAt < lost.endedAt && lost.endedAt <= second.startedAt, JSON.stringify({ lost, second }));
    assert.equal(outcome.startedAt, lost.startedAt);
    await nothingLeft();
  });

  it('takes a command that a shutdown of its VM ended for what it was, though the API says so later', async () => {
    const script = '[ "$JOBCTL_ATTEMPT" = 2 ] && exit 0; echo runs; sleep 600';
    const { id } = await stack.jobs.submit({ job: jobFile(script, { retries: { task: 0 }, tpu: ONE_HOST }) });
    await until('the command runs', async () => (await log(id, 1, 0)).includes('runs'));
    const [slice] = (await stack.jobs.describe(id)).slices;
    await admin.post('configure', { preemptedLagMs: 3_000 });
    await admin.post('preempt', { name: slice?.ref.name, mode: 'signal' });
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts, outcome.preemptions], ['succeeded', 2, 1], stack.tail());
  });

  it('goes to the next zone where a right is missing in the first, and says what Google says while it is queued there', async () => {
    await admin.post('configure', { capacity: { 'us-west4-a/v5litepod': 0 } });
    const { id } = await stack.jobs.submit({
      job: jobFile('true', { tpu: { ...ONE_HOST, zone: undefined, zones: ['us-central1-a', 'us-west4-a'] } }),
      name: 'queued-by-google',
    });
    await admin.post('refuse', {
      method: 'CreateQueuedResource',
      code: 'PERMISSION_DENIED',
      nameMatches: id,
      zone: 'us-central1-a',
      message:
        'User does not have permission to submit requests for accelerator type "v5litepod-8" in location "us-central1-a" (or it may not exist).',
    });
    const slices = (): Promise<string> => stack.jobs.describe(id).then((view) => JSON.stringify(view.slices));
    await until('it says that it is queued', async () =>
      /"zone":"us-west4-a".*Google has queued it until there are chips \(WAITING_FOR_RESOURCES\)/.test(await slices()),
    );
    await admin.post('configure', { capacity: {} });
    const { result, attempts } = await stack.jobs.wait(id);
    await admin.stopRefusing();
    assert.deepEqual([result, attempts], ['succeeded', 1], stack.tail());
    await nothingLeft();
  });

  it('replaces a machine on which the command ends by a fault twice in a row, and blames no second one for the same', async () => {
    const bad = 'if [ "$JOBCTL_HOST_INDEX" = 1 ]; then case $JOBCTL_NODE_NAME in *BAD) kill -SEGV $$;; esac; fi; true';
    const retries = { task: 1, infrastructure: 1 };
    const mended = await stack.jobs.submit({ job: jobFile(bad.replace('BAD', '-g1'), { retries }) });
    const always = await stack.jobs.submit({ job: jobFile(bad.replace('BAD', ''), { retries: { task: 2 } }) });
    const { result, attempts } = await stack.jobs.wait(mended.id);
    assert.deepEqual([result, attempts], ['succeeded', 3], stack.tail());
    const view = await stack.jobs.describe(mended.id);
    assert.match(
      view.events.map(({ text }) => text).join('\n'),
      /exited with code 139 \(SIGSEGV\) on host 1: it ended by SIGSEGV, twice in a row on the same machine; its slice is replaced; trying again \(1 of 1\)/,
    );
    assert.equal(view.slices[0]?.generation, 2);
    const { cause, ...failed } = await stack.jobs.wait(always.id);
    assert.deepEqual([failed.result, cause?.by, failed.attempts], ['failed', 'task', 4], stack.tail());
    assert.equal((await stack.jobs.describe(always.id)).slices[0]?.generation, 2, 'one machine was replaced');
    await nothingLeft();
  });

  it("connects with the submitter's own key where the job names one, and refuses one that cannot be read", async () => {
    const { privateKeyFile } = writeKeyPair(mkdtempSync(join(tmpdir(), 'jobctl-own-key-')));
    const { id } = await stack.jobs.submit({
      job: jobFile('echo in', { ssh: { private_key: privateKeyFile }, tpu: ONE_HOST }),
    });
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    const missing = await stack.jobs.submit({ job: jobFile('true', { ssh: { private_key: '/nowhere/id_rsa' } }) });
    await assert.rejects(
      stack.jobs.wait(missing.id),
      /ssh\.private_key: '\/nowhere\/id_rsa' cannot be read by the worker \(ENOENT\)/,
    );
  });
});

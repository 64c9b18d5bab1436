import assert from 'node:assert/strict';
import { JobRefused } from '../../../client/errors.js';
import { attemptObject, attemptSpecObject } from '../../../domain/store-layout.js';
import { until } from '../../until.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import type { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import type { TestStack } from '../../end-to-end/test-stack.js';
import { withStack } from '../../end-to-end/with-stack.js';

/** Runs until it is told to end, and says by what. */
const SAVES = `trap 'echo "saved for $(cat "$JOBCTL_NOTICE_FILE")"; exit 0' TERM; echo "began after \${JOBCTL_PREVIOUS_ATTEMPT_END:-nothing}"; sleep 600 & wait $!`;

describe('a job that people stop, resume, requeue and restart', function () {
  this.timeout(90_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  withStack((...own) => {
    [stack, admin] = own;
  });

  const log = (id: string, attempt: number): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host: 0, attempt });
  const submit = async (command: string, more: object = {}): Promise<string> =>
    (await stack.jobs.submit({ job: jobFile(command, { tpu: { accelerator: 'v5litepod-8' }, grace: 5, ...more }) })).id;
  const inPhase = (id: string, phase: string): Promise<unknown> =>
    until(`${id} is ${phase}`, async () => (await stack.jobs.row(id)).phase === phase, 40_000).catch(
      async (error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(await stack.jobs.row(id))}\n${stack.tail()}`);
      },
    );
  const prints = (id: string, attempt: number, text: string): Promise<unknown> =>
    until(`attempt ${attempt} prints ${text}`, async () => (await log(id, attempt)).includes(text), 40_000);
  const endOf = async (id: string, attempt: number): Promise<unknown> =>
    (JSON.parse(String(await stack.store.read(attemptObject(id, attempt)))) as { end?: string }).end;
  const nodes = async (): Promise<readonly string[]> => (await admin.status()).nodes.map(({ name }) => name);

  it('stop keeps the slice, resume with a change runs on it, stop --release gives it back, resume gets another', async () => {
    const id = await submit(SAVES);
    await prints(id, 1, 'began after nothing');
    const told = await stack.jobs.stop(id, 'alice');
    assert.match(told, /has 5 s to save, then its slices are kept for 8 h at most/);
    await inPhase(id, 'paused');
    assert.match(await log(id, 1), /saved for \{"v":1,"cause":"stop","reason":"alice stopped it"/);
    const { why } = await stack.jobs.row(id);
    assert.match(
      why ?? '',
      /alice stopped it; its slices are kept, at about \$\d+\.\d\d an hour if they were real, until /,
    );
    const kept = await nodes();
    assert.equal(kept.length, 1);
    assert.match(await stack.jobs.stop(id, 'alice'), /is paused already/);

    const set = [{ path: ['env', 'LEARNING_RATE'], value: 0.5 }];
    await stack.jobs.resume(id, 'alice', { set });
    await prints(id, 2, 'began after stopped');
    assert.deepEqual(await nodes(), kept, 'on the same slice');
    assert.equal((await stack.jobs.describe(id)).spec.env['LEARNING_RATE'], '0.5');
    assert.match(String(await stack.store.read(attemptSpecObject(id, 2))), /"LEARNING_RATE": 0.5/);
    await assert.rejects(stack.jobs.resume(id, 'alice'), JobRefused);

    await stack.jobs.stop(id, 'bob', { release: true });
    await inPhase(id, 'released');
    assert.deepEqual(await nodes(), []);
    await assert.rejects(stack.jobs.restart(id, 'bob'), /has no slices to start on: `jobctl resume/);
    await stack.jobs.resume(id, 'bob', { job: jobFile('echo done', { tpu: { accelerator: 'v5litepod-8' } }) });
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts, outcome.preemptions], ['succeeded', 3, 0], stack.tail());
    assert.deepEqual(await Promise.all([1, 2, 3].map((attempt) => endOf(id, attempt))), [
      'stopped',
      'stopped',
      'exited',
    ]);
    await assert.rejects(stack.jobs.stop(id, 'bob'), /has ended: its outcome is final/);
  });

  it('restart --replace gives up the slices that it names alone, on nobody’s account', async () => {
    const more = { slices: 2, retries: { infrastructure: 0, preemption: 0, task: 0 } };
    const id = await submit(SAVES, more);
    await prints(id, 1, 'began after nothing');
    const before = await nodes();
    await assert.rejects(stack.jobs.restart(id, 'alice', { replace: [0, 2] }), /has no slice 2: its slices are 0 to 1/);
    const told = await stack.jobs.restart(id, 'alice', { replace: [1] });
    assert.match(told, /then it starts again with other machines for slice 1$/);
    await prints(id, 2, 'began after restarted');
    const after = await nodes();
    assert.deepEqual([after.filter((name) => before.includes(name)).length, after.length], [1, 2]);
    const { slices } = await stack.jobs.describe(id);
    assert.deepEqual(
      slices.map(({ generation }) => generation).toSorted((a, b) => a - b),
      [1, 2],
    );
    await stack.jobs.cancel(id);
    await stack.jobs.wait(id);
    await cloudIsEmpty(admin);
  });

  it('restart --replace is refused while a job waits for its slices: it would lose its place', async () => {
    await admin.post('configure', { capacity: { 'us-central1-a/v5litepod': 0 } });
    const id = await submit(SAVES, { tpu: { accelerator: 'v5litepod-8', allocation_mode: 'queued-resources' } });
    await inPhase(id, 'provisioning');
    const set = [{ path: ['env', 'A'], value: 'b' }];
    await assert.rejects(stack.jobs.restart(id, 'alice', { replace: 'all', set }), /nothing of it runs yet/);
    assert.match(
      await stack.jobs.restart(id, 'alice', { set }),
      /keeps waiting, by the changed job file; it waits for chips without an end/,
    );
    await stack.jobs.cancel(id);
    await stack.jobs.wait(id);
    await admin.post('configure', { capacity: {} });
    await cloudIsEmpty(admin);
  });

  it('restart --replace of an atomic job replaces all, and a second restart keeps what the first asked for', async () => {
    const tpu = { accelerator: 'v5litepod-8', allocation_mode: 'queued-resources' };
    const id = await submit(`${SAVES.replace('exit 0', 'sleep 2; exit 0')}`, { slices: 2, atomic: true, tpu });
    await prints(id, 1, 'began after nothing');
    const before = await nodes();
    assert.match(await stack.jobs.restart(id, 'alice', { replace: [1] }), /then it starts again with other machines$/);
    assert.match(await stack.jobs.restart(id, 'alice'), /with other machines$/);
    await prints(id, 2, 'began after restarted');
    const after = await nodes();
    assert.deepEqual([after.length, after.filter((name) => before.includes(name))], [2, []]);
    await stack.jobs.cancel(id);
    await stack.jobs.wait(id);
    await cloudIsEmpty(admin);
  });

  it('requeue --zone asks in that one of its zones first', async () => {
    const zones = ['us-central1-a', 'us-west4-a', 'us-south1-a'];
    const tpu = { accelerator: 'v5litepod-8', zone: undefined, zones };
    const id = await submit(SAVES, { tpu });
    await prints(id, 1, 'began after nothing');
    await assert.rejects(
      stack.jobs.requeue(id, 'alice', { zone: 'us-east5-a' }),
      /is not asked for in 'us-east5-a': its job file names us-central1-a, us-west4-a, us-south1-a/,
    );
    const told = await stack.jobs.requeue(id, 'alice', { zone: 'us-south1-a' });
    assert.match(told, /asks again, in us-south1-a first, with its first submit time/);
    await prints(id, 2, 'began after requeued');
    const { slices } = await stack.jobs.describe(id);
    assert.deepEqual(
      slices.map(({ ref }) => ref.zone),
      ['us-south1-a'],
    );
    await stack.jobs.cancel(id);
    await stack.jobs.wait(id);
    await cloudIsEmpty(admin);
  });

  it('restart takes another command to the same slice, and refuses another slice with both values', async () => {
    const id = await submit(SAVES);
    await prints(id, 1, 'began');
    const before = await nodes();
    const other = jobFile('echo other', { tpu: { accelerator: 'v5litepod-16' } });
    await assert.rejects(
      stack.jobs.restart(id, 'alice', { job: other }),
      /tpu\.accelerator: 'v5litepod-16' cannot take the place of 'v5litepod-8' in a job that is open\n.*submit another job/s,
    );
    await stack.jobs.restart(id, 'alice', {
      set: [{ path: ['command', 'run'], value: 'cat ~/.jobctl/starts.log; sleep 600' }],
    });
    await prints(id, 2, `${id}-a2`);
    assert.deepEqual(await nodes(), before);
    assert.match(await log(id, 1), /"cause":"stop","reason":"alice restarted it"/);
    assert.match(await log(id, 2), new RegExp(`${id}-a1[\\s\\S]*${id}-a2`), 'the same host');
    await stack.jobs.cancel(id);
    assert.equal((await stack.jobs.wait(id)).result, 'cancelled');
  });

  it('requeue gives slice and lease back and asks again; a cancel while it is paused cancels it', async () => {
    const id = await submit(SAVES);
    await prints(id, 1, 'began');
    const before = await nodes();
    await stack.jobs.requeue(id, 'alice');
    await prints(id, 2, 'began after requeued');
    assert.notDeepEqual(await nodes(), before);
    const { submittedAt } = await stack.jobs.row(id);
    assert.equal((await stack.jobs.describe(id)).submittedAt, submittedAt);
    await stack.jobs.stop(id, 'alice');
    await inPhase(id, 'paused');
    await stack.jobs.cancel(id);
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.cause?.message], ['cancelled', 'cancelled while paused'], stack.tail());
    await cloudIsEmpty(admin);
  });

  it('a stop that is over (timeouts.stop), or whose slice is lost, gives back what it held', async () => {
    const brief = await submit(SAVES, { timeouts: { stop: 2 } });
    await prints(brief, 1, 'began');
    await stack.jobs.stop(brief, 'alice');
    await inPhase(brief, 'released');
    const lost = await submit(SAVES);
    await prints(lost, 1, 'began');
    await stack.jobs.stop(lost, 'alice');
    await inPhase(lost, 'paused');
    await admin.post('preempt', { name: (await stack.jobs.describe(lost)).slices[0]?.ref.name });
    await inPhase(lost, 'released');
    await cloudIsEmpty(admin);
    for (const id of [brief, lost]) {
      await stack.jobs.cancel(id);
      assert.equal((await stack.jobs.wait(id)).result, 'cancelled');
    }
  });
});

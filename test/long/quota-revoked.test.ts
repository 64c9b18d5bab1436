import assert from 'node:assert/strict';
import { everybodysQuota } from '../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { describeQuery, type JobView, revokedSignal } from '../../contract/job.js';
import { jobFile } from '../end-to-end/job-files.js';
import { poolState } from '../end-to-end/pool-watch.js';
import { mostChipsAtOnce, RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { storedLog } from '../end-to-end/stored-log.js';
import { TestStack } from '../end-to-end/test-stack.js';

const POOL = 'revoked';
/** Room for two v5litepod-8. */
const CHIPS = 16;
const QUOTA = everybodysQuota({ v5litepod: CHIPS });
const tpu = { accelerator: 'v5litepod-8' };
const FOR_B = "its chips are for job train-b (project 'b')";
/** The second time it is let run to its end. A shell ends only after the foreground command, so it waits for a background one. */
const SAVES = `
if [ "$JOBCTL_ATTEMPT" = 2 ]; then echo "after: $JOBCTL_PREVIOUS_ATTEMPT_END"; exit 0; fi
trap 'cat "$JOBCTL_NOTICE_FILE"; echo saved; exit 0' TERM
echo started
while :; do sleep 0.1; done`;
const STUBBORN = `
[ "$JOBCTL_ATTEMPT" = 2 ] && exit 0
trap '' TERM
echo started
while :; do sleep 0.1; done`;

describe('a job whose lease is revoked', function () {
  this.timeout(90_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({ quota: QUOTA, pool: POOL });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
  });
  after(() => stack.stop());

  const submit = async (command: string, more = {}): Promise<string> =>
    (await stack.jobs.submit({ job: jobFile(command, { pool: POOL, tpu, ...more }), user: 'alice' })).id;
  const view = (id: string): Promise<JobView> => stack.client.workflow.getHandle(id).query(describeQuery);

  /** As the quota workflow says it, and as nobody may: twice, of another job of that id, of an old epoch. */
  async function revoke(id: string, number = 1): Promise<void> {
    const handle = stack.client.workflow.getHandle(id);
    const run = (await handle.describe()).memo?.['run'] as string;
    const epoch = (await poolState(stack.client, POOL))?.epoch as number;
    const news = { run, number, epoch, reason: FOR_B, cause: 'quota' } as const;
    await handle.signal(revokedSignal, { ...news, run: 'another', reason: 'wrong run' });
    await handle.signal(revokedSignal, { ...news, number: number + 1, reason: 'wrong number' });
    await handle.signal(revokedSignal, { ...news, epoch: 1, reason: 'old epoch' });
    await handle.signal(revokedSignal, news);
    await handle.signal(revokedSignal, { ...news, reason: 'said again' });
  }

  const log = (id: string, attempt: number): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host: 0, attempt });
  const hasStarted = (id: string): Promise<unknown> =>
    until(`${id} runs`, async () => (await log(id, 1)).includes('started'), 60_000);

  it('is told, saves, is evicted, asks again with its first submit time, and ends well', async () => {
    const id = await submit(SAVES);
    await hasStarted(id);
    const before = await view(id);
    await revoke(id);
    const outcome = await stack.jobs.wait(id);
    assert.equal(outcome.result, 'succeeded', JSON.stringify(outcome));
    assert.deepEqual([outcome.attempts, outcome.preemptions, outcome.quotaPreemptions], [2, 0, 1]);
    const [notice, saved] = (await log(id, 1)).split('\n').slice(-3);
    assert.deepEqual(JSON.parse(notice as string), { v: 1, cause: 'quota', reason: FOR_B, graceSeconds: 30 });
    assert.equal(saved, 'saved');
    assert.equal(await log(id, 2), 'after: revoked\n');
    const record = JSON.parse(String(await stack.store.read(`jobs/${id}/attempts/1.json`))) as { end?: string };
    assert.equal(record.end, 'revoked');
    const after = await view(id);
    assert.equal(after.submittedAt, before.submittedAt);
    const story = after.events.map(({ text }) => text);
    const told = story.findIndex((text) => text.startsWith(`evicting: preempted by quota: ${FOR_B}`));
    const queued = story.findIndex((text) => text.startsWith('queued: waits for quota of project everyone again'));
    assert.ok(told !== -1 && told < queued, story.join('\n'));
    assert.equal(after.slices[0]?.generation, 2);
  });

  it('loses its command within its grace when that ignores SIGTERM, and a cancel meanwhile still cancels it', async () => {
    const [stubborn, cancelled] = await Promise.all([submit(STUBBORN, { grace: 1 }), submit(STUBBORN, { grace: 20 })]);
    await Promise.all([hasStarted(stubborn), hasStarted(cancelled)]);
    await Promise.all([revoke(stubborn), revoke(cancelled)]);
    await until('it is being stopped', async () => (await view(cancelled)).phase === 'evicting');
    await stack.jobs.cancel(cancelled);
    await revoke(cancelled);
    assert.equal((await stack.jobs.wait(stubborn)).result, 'succeeded');
    const outcome = await stack.jobs.wait(cancelled);
    assert.deepEqual([outcome.result, outcome.attempts], ['cancelled', 1], JSON.stringify(outcome));
  });

  it('gives up slices that were never there, and the chips are free', async () => {
    await admin.post('hold', { state: 'WAITING_FOR_RESOURCES' });
    const id = await submit('exit 0');
    await until('its request waits', async () =>
      (await admin.status()).queuedResources.some(({ state }) => state === 'WAITING_FOR_RESOURCES'),
    );
    await revoke(id);
    await until('it asked again', async () =>
      (await view(id)).events.some(({ text }) => /queued: .* again/.test(text)),
    );
    await admin.post('release', {});
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts, outcome.quotaPreemptions], ['succeeded', 1, 1]);
    await until('no lease is left', async () => {
      const pool = await poolState(stack.client, POOL);
      return pool?.leases.length === 0 && pool.waiting.length === 0;
    });
    assert.ok(mostChipsAtOnce(await admin.journal()) <= CHIPS);
  });
});

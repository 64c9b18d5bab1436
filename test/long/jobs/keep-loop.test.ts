import assert from 'node:assert/strict';
import { WorkflowFailedError } from '@temporalio/client';
import { purgeJob } from '../../../client/job-records.js';
import { jobPrefix, outcomeObject } from '../../../domain/store-layout.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { setUpsOf } from '../../../cli/commands/verbs/status-timeline.js';
import { slowness, until } from '../../until.js';
import { jobFile, SLOW_SET_UP } from '../../end-to-end/job-files.js';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import { RehearsalAdmin } from '../../end-to-end/rehearsal-admin.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { TestStack } from '../../end-to-end/test-stack.js';

describe('a job that goes on after its command has ended', function () {
  this.timeout(90_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    // A loop of four rounds is longer than that.
    stack = await TestStack.start({ timings: { jobHistoryEvents: 70 } });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
  });
  after(() => stack.stop());

  const submit = async (command: string, more: object): Promise<string> =>
    (await stack.jobs.submit({ job: jobFile(command, { tpu: { accelerator: 'v5litepod-8' }, ...more }) })).id;
  const nodes = async (): Promise<number> => (await admin.status()).nodes.length;
  const nothingLeft = (): Promise<void> => cloudIsEmpty(admin);
  const isClosed = async (id: string): Promise<boolean> => (await stack.jobs.row(id)).endedAt !== undefined;
  const log = (id: string, attempt: number): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host: 0, attempt });

  it('keeps its slice on failure, with its outcome final, until somebody deletes it', async () => {
    const id = await submit('echo broken; exit 3', { keep: 'on-failure' });
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.exitCode], ['failed', 3], stack.tail());
    assert.equal(await isClosed(id), false, 'its outcome is known before it closes');
    const { phase, why, outcome: shown } = await stack.jobs.row(id);
    assert.deepEqual([phase, shown], ['holding', outcome]);
    assert.match(why ?? '', /failed: .* code 3 .*its slices are kept \(keep: on-failure\), at about \$\d/);
    // People see it before the store has it.
    await until('its outcome is stored', () => stack.store.stat(outcomeObject(id)));
    assert.equal(await nodes(), 1);
    await assert.rejects(stack.jobs.restart(id, 'alice'), /its outcome is final\n`jobctl delete/);
    await stack.jobs.cancel(id);
    const ended: unknown = await stack.client.workflow
      .getHandle(id)
      .result()
      .catch((error: unknown) => error);
    assert.ok(ended instanceof WorkflowFailedError && ended.cause?.name === 'ApplicationFailure', String(ended));
    assert.deepEqual(await stack.jobs.wait(id), outcome, 'a cancel changes no outcome');
    await until('its slice is gone', async () => (await stack.jobs.openSlices(id)).length === 0);
    await nothingLeft();
  });

  it('gives its slice back when the time of keep is over, and at once where there is nothing to keep it for', async () => {
    const kept = await submit('true', { keep: { when: 'always', for: 2 } });
    const good = await submit('true', { keep: 'on-failure' });
    assert.equal((await stack.jobs.wait(good)).result, 'succeeded');
    await until('the good one is closed', () => isClosed(good), 20_000);
    assert.equal((await stack.jobs.wait(kept)).result, 'succeeded');
    await until('the kept one is closed', () => isClosed(kept), 20_000);
    const events = (await stack.jobs.describe(kept)).events.map(({ text }) => text);
    assert.ok(events.includes('its slices go: the time of keep is over'), events.join('\n'));
    await nothingLeft();
  });

  it('purge removes what the bucket has of one job, and of no other', async () => {
    const [id, other] = [await submit('echo gone', {}), await submit('echo stays', {})];
    await Promise.all([id, other].map((job) => stack.jobs.wait(job)));
    const before = await stack.store.list(jobPrefix(other));
    const { objects, bytes } = await purgeJob(stack.store, id);
    assert.ok(objects > 3 && bytes > 100, `${objects} objects, ${bytes} bytes`);
    assert.deepEqual(await stack.store.list(jobPrefix(id)), []);
    assert.equal((await stack.store.list(jobPrefix(other))).length, before.length);
    assert.deepEqual(await purgeJob(stack.store, id), { objects: 0, bytes: 0 });
  });

  it('loops over runs of its workflow: an attempt after each end, on the same slice, whatever the code', async () => {
    const id = await submit(
      'echo "round $JOBCTL_ATTEMPT after ${JOBCTL_PREVIOUS_ATTEMPT_END:-nothing}"; exit $((JOBCTL_ATTEMPT % 2))',
      {
        job: { loop: true },
      },
    );
    const first = (await stack.client.workflow.getHandle(id).describe()).runId;
    const { submittedAt } = await stack.jobs.row(id);
    await until('it is in its fourth round', async () => (await log(id, 4)).includes('round'), 60_000);
    assert.equal(await log(id, 1), 'round 1 after nothing\n');
    assert.equal(await log(id, 4), 'round 4 after exited\n');
    assert.equal(await nodes(), 1);
    assert.notEqual((await stack.client.workflow.getHandle(id).describe()).runId, first, 'it continued as new');
    const row = await stack.jobs.row(id);
    assert.deepEqual([row.submittedAt, row.label], [submittedAt, 'REHEARSAL'], 'as in its first run');
    await stack.jobs.cancel(id);
    assert.equal((await stack.jobs.wait(id)).result, 'cancelled');
    await nothingLeft();
  });

  it('a restart while it is set up ends the set-up, and the next one begins at once', async () => {
    const id = await submit('echo ran', SLOW_SET_UP);
    await until('its module runs', async () => (await stack.store.list(`jobs/${id}/logs/`)).length > 0, 40_000);
    await stack.jobs.restart(id, 'alice', { set: [{ path: ['setup', 'modules'], value: ['command'] }] });
    const outcome = await stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts], ['succeeded', 2], stack.tail());
    assert.equal(await log(id, 2), 'ran\n');
    const setUps = await setUpsOf(stack.store, { id });
    assert.deepEqual(
      setUps.map(({ attempt, record }) => [attempt, record.endedAt === undefined]),
      [
        [1, true],
        [2, false],
      ],
      'the timeline has the one that was cut',
    );
    const events = (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
    assert.doesNotMatch(events, /could not be ended|is gone/, 'it was told, not missed');
    await nothingLeft();
  });

  it('a cancel while it is set up ends the set-up and leaves nothing', async () => {
    const id = await submit('echo never', SLOW_SET_UP);
    await until('its module runs', async () => (await stack.store.list(`jobs/${id}/logs/`)).length > 0, 40_000);
    await stack.jobs.cancel(id);
    const { result, cause } = await stack.jobs.wait(id);
    assert.deepEqual([result, cause?.message], ['cancelled', 'cancelled while setting-up'], stack.tail());
    await nothingLeft();
  });

  it('timeouts.run stops a command that goes on for too long', async () => {
    // Its shell has to have come to the trap by then.
    const run = Math.ceil(2 * slowness());
    const long = await submit('trap "cat $JOBCTL_NOTICE_FILE; exit 0" TERM; sleep 6000 & wait $!', {
      timeouts: { run },
    });
    const outcome = await stack.jobs.wait(long);
    assert.deepEqual([outcome.result, outcome.cause?.by], ['failed', 'task']);
    assert.equal(outcome.cause?.message, `the command ran for ${run} s, as long as timeouts.run allows`);
    const told = `"cause":"cancel","reason":"its command has run for ${run} s (timeouts.run)"`;
    assert.ok((await log(long, 1)).includes(told), await log(long, 1));
    await nothingLeft();
  });
});

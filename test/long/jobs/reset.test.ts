import assert from 'node:assert/strict';
import { FullPool } from '../../end-to-end/full-pool.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { withFullPool } from '../../end-to-end/with-full-pool.js';
import { until } from '../../until.js';
import { continueAsNewByHand } from './continue-as-new.js';

const POOL = 'reset';

/** With the default limits of a history: the run that is reset holds every signal that its job ever got. */
describe('a running job whose workflow begins anew', function () {
  this.timeout(120_000);
  let full: FullPool;
  withFullPool(POOL, (own) => void (full = own), {});

  const runIdOf = async (id: string): Promise<string> =>
    (await full.stack.client.workflow.getHandle(id).describe()).runId;

  /** The job goes on where it was: the same slice, the same start of its command. Then it ends as every job does. */
  async function goesOn(id: string, slice: string | undefined): Promise<void> {
    await until(`${id} runs`, async () => (await full.stack.jobs.describe(id)).phase === 'running', 60_000);
    const { attempt, slices } = await full.stack.jobs.describe(id);
    assert.deepEqual([attempt, slices.length, slices[0]?.generation], [1, 1, 1]);
    const { nodes } = await full.admin.status();
    assert.deepEqual([nodes.length, nodes[0]?.name], [1, slice]);
    const inits = await full.inits();
    await full.stack.jobs.cancel(id);
    assert.equal((await full.stack.jobs.wait(id)).result, 'cancelled');
    for (const host of [0, 1, 2, 3]) {
      const log = await storedLog(full.stack.store, { id, stream: 'command', host });
      assert.equal(log.match(/started/g)?.length, 1, `host ${host} was started once`);
    }
    await full.nothingIsLeft(inits);
  }

  for (const type of ['FirstWorkflowTask', 'LastWorkflowTask'])
    for (const mode of ['tpu-vm', 'queued-resources'])
      it(`adopts its ${mode} slice after a reset to ${type}`, async () => {
        const id = await full.submit(undefined, { tpu: { allocation_mode: mode } });
        await full.hasPrinted(id);
        const [slice] = (await full.admin.status()).nodes;
        const before = await runIdOf(id);
        await full.temporal('reset', '--workflow-id', id, '--type', type, '--reason', 'test');
        await until('a new run is there', async () => (await runIdOf(id)) !== before);
        await goesOn(id, slice?.name);
      });

  for (const type of ['FirstWorkflowTask', 'LastWorkflowTask'])
    it(`adopts the generation that its slice is at after a reset to ${type}, and starts no earlier one beside it`, async () => {
      const id = await full.submit();
      await full.hasPrinted(id);
      const [first] = (await full.admin.status()).nodes;
      await full.admin.post('preempt', { name: first?.name });
      const { store } = full.stack;
      await until(
        'attempt 2 has printed',
        async () => (await store.list(`jobs/${id}/logs/a2/command/`)).length === 4,
        60_000,
      );
      const [second] = (await full.admin.status()).nodes;
      assert.notEqual(second?.name, first?.name);
      const before = await runIdOf(id);
      const since = (await full.admin.journal()).length;
      await full.temporal('reset', '--workflow-id', id, '--type', type, '--reason', 'test');
      await until('a new run is there', async () => (await runIdOf(id)) !== before);
      await until(`${id} runs`, async () => (await full.stack.jobs.describe(id)).phase === 'running', 60_000);
      const { slices } = await full.stack.jobs.describe(id);
      assert.deepEqual(
        slices.map(({ generation }) => generation),
        [2],
      );
      assert.ok(second?.name.endsWith(`/${slices[0]?.ref.name}`), `${second?.name} is there`);
      const creates = (await full.admin.journal())
        .slice(since)
        .filter(({ details }) => String(details['method']).startsWith('Create'));
      assert.deepEqual(creates, [], 'nothing was created after the reset');
      await until('on attempt 2', async () => (await full.stack.jobs.describe(id)).attempt === 2, 60_000);
      const inits = await full.inits();
      await full.stack.jobs.cancel(id);
      assert.equal((await full.stack.jobs.wait(id)).result, 'cancelled');
      for (const host of [0, 1, 2, 3]) {
        const log = await storedLog(store, { id, stream: 'command', host, attempt: 2 });
        assert.equal(log.match(/started/g)?.length, 1, `host ${host} was started once in attempt 2`);
      }
      await full.nothingIsLeft(inits);
    });

  it('takes news of its slice that arrive before the first task of a run that continued as new', async () => {
    const short = await FullPool.start(`${POOL}-short`);
    try {
      const id = await short.running();
      const run = (await short.stack.client.workflow.getHandle(id).describe()).runId;
      const handle = short.stack.client.workflow.getHandle(id);
      await until('it continued as new', async () => (await handle.describe()).runId !== run, 60_000);
      const [slice] = (await short.stack.jobs.describe(id)).slices;
      const next = await continueAsNewByHand(short.stack, id);
      const news = { kind: 'lost', cause: 'failed', message: 'said between two runs' };
      await handle.signal('sliceNews', { name: slice?.ref.name, run: next.firstRunId, news });
      await short.stack.startWorker();
      await until('the news was taken', async () =>
        (await short.stack.jobs.describe(id)).events.some(({ text }) => text.includes(news.message)),
      );
      await short.stack.jobs.cancel(id);
      assert.equal((await short.stack.jobs.wait(id)).result, 'cancelled');
    } finally {
      await short.stack.stop();
    }
  });
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FullPool } from '../../end-to-end/full-pool.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { poolState } from '../../end-to-end/pool-watch.js';
import { homesWith } from '../../end-to-end/vm-homes.js';
import { withFullPool } from '../../end-to-end/with-full-pool.js';
import { until } from '../../until.js';

const POOL = 'moments';

/** Other moments than those of terminate-reset.test.ts. */
describe('workflows that are terminated, reset, cancelled or continued as new', function () {
  this.timeout(90_000);
  let full: FullPool;
  withFullPool(POOL, (own) => void (full = own), undefined, 1);

  const runIdOf = async (id: string): Promise<string> =>
    (await full.stack.client.workflow.getHandle(id).describe()).runId;

  it('terminate after a continue-as-new leaves nothing, and the continue-as-new itself took nothing away', async () => {
    const id = await full.running();
    const first = await runIdOf(id);
    await until('it continued as new', async () => (await runIdOf(id)) !== first, 60_000);
    const [slice] = (await full.admin.status()).nodes;
    const again = await runIdOf(id);
    await until('and once more', async () => (await runIdOf(id)) !== again, 60_000);
    const { nodes } = await full.admin.status();
    assert.deepEqual([nodes[0]?.name, nodes[0]?.state], [slice?.name, 'READY'], 'its slice serves on');
    assert.equal((await full.stack.jobs.describe(id)).attempt, 1, 'and so does its attempt');
    const inits = await full.inits();
    await full.terminate(id);
    await full.nothingIsLeft(inits);
  });

  it('a job that is reset after its end ends again as it had ended, and its command is not run again', async () => {
    const id = await full.submit('echo once; exit 3');
    const outcome = await full.stack.jobs.wait(id);
    await full.nothingIsLeft();
    const before = await runIdOf(id);
    await full.temporal('reset', '--workflow-id', id, '--type', 'FirstWorkflowTask', '--reason', 'test');
    await until('a new run is there', async () => (await runIdOf(id)) !== before);
    assert.deepEqual(await full.stack.jobs.wait(id), outcome, full.stack.tail());
    assert.deepEqual([outcome.exitCode, outcome.attempts], [3, 1]);
    for (const { name } of await full.stack.store.list(`jobs/${id}/logs/a`))
      assert.equal(String(await full.stack.store.read(name)), 'once\n', name);
    await full.nothingIsLeft();
  });

  it('a set-up that somebody asked for is done before the job continues as new, and its end is told', async () => {
    const step = '[ ! -e ~/was ] || until [ -e ~/go ]; do sleep 0.2; done; touch ~/was';
    const id = await full.submit('echo started; sleep 600', {
      setup: { modules: ['slow', 'command'] },
      modules: { slow: { setup: [{ name: 'wait', run: step }] } },
    });
    await full.hasPrinted(id);
    await full.stack.jobs.setUp(id, 'alice', { modules: ['slow'], force: true });
    const handle = full.stack.client.workflow.getHandle(id);
    const asked = await runIdOf(id);
    const isLongDue = async (): Promise<boolean> => {
      const { historyLength, runId } = await handle.describe();
      return historyLength > 60 || runId !== asked;
    };
    await until('the job is long due to continue as new', isLongDue, 60_000);
    assert.equal(await runIdOf(id), asked, 'and has waited for its set-up');
    for (const home of homesWith('was', full.stack.rehearsalDirectory)) writeFileSync(join(home, 'go'), '');
    await until(
      'its end is told',
      async () => {
        const { events } = await full.stack.jobs.describe(id);
        return events.some(({ text }) => text === 'the set-up that was asked for is done on all hosts');
      },
      60_000,
    );
    await until('it continued as new then', async () => (await runIdOf(id)) !== asked, 60_000);
    await full.stack.jobs.cancel(id);
    assert.equal((await full.stack.jobs.wait(id)).result, 'cancelled');
    await full.nothingIsLeft();
  });

  it('a slice workflow that is terminated before its pool has heard of it is replaced too', async () => {
    const id = await full.submit('true');
    const slice = full.stack.client.workflow.getHandle(`slice/jc-${id}-g1`);
    // At once: its first act is to tell the pool of itself.
    const isTerminated = (): Promise<boolean> =>
      slice.terminate('by a test').then(
        () => true,
        () => false,
      );
    for (const end = Date.now() + 60_000; !(await isTerminated());) assert.ok(Date.now() < end, full.stack.tail());
    const { result, preemptions } = await full.stack.jobs.wait(id);
    assert.deepEqual([result, preemptions], ['succeeded', 0], full.stack.tail());
    await full.nothingIsLeft();
  });

  it('a job that was terminated while it waited is forgotten, though its turn never came', async () => {
    const holder = await full.running();
    const id = await full.submit();
    await until('it waits', () => full.isWaiting(id));
    await full.terminate(id);
    await until('it is forgotten', async () => !(await full.isWaiting(id)));
    await full.stack.jobs.cancel(holder);
    await full.nothingIsLeft();
  });

  it('a pool that the janitor starts by its wake signal grants like every other', async () => {
    const pool = `${POOL}-woken`;
    // As the janitor does it: the signal is there before the first line of the workflow.
    await full.stack.client.workflow.signalWithStart('quota', {
      workflowId: `quota/${pool}`,
      taskQueue: full.stack.taskQueue,
      args: [{ v: 1, pool }],
      signal: 'wake',
      signalArgs: [],
    });
    const { id } = await full.stack.jobs.submit({
      job: jobFile('true', { pool, tpu: { accelerator: 'v5litepod-8' } }),
    });
    assert.equal((await full.stack.jobs.wait(id)).result, 'succeeded', full.stack.tail());
  });

  it('a quota workflow does not end by a cancel: it keeps its leases, and grants on', async () => {
    const holder = await full.running();
    const epoch = (await poolState(full.stack.client, POOL))?.epoch;
    const handle = full.stack.client.workflow.getHandle(`quota/${POOL}`);
    await handle.cancel();
    const waiter = await full.submit('true');
    await until('it waits', () => full.isWaiting(waiter));
    await full.stack.jobs.cancel(holder);
    assert.equal((await full.stack.jobs.wait(waiter)).result, 'succeeded', full.stack.tail());
    assert.equal((await handle.describe()).status.name, 'RUNNING');
    assert.equal((await poolState(full.stack.client, POOL))?.epoch, epoch, 'and never lost its memory');
    await full.nothingIsLeft();
  });
});

import assert from 'node:assert/strict';
import { ensureJanitorSchedule } from '../../client/installation.js';
import { janitorScheduleId } from '../../contract/janitor.js';
import { until } from '../until.js';
import type { FullPool } from './full-pool.js';
import { withFullPool } from './with-full-pool.js';

const POOL = 'sweep-watch';

/** docs/adr/0152. The schedule comes once an hour, and the pool hears of nothing for as long. */
describe('the look for what the janitor would see to', function () {
  this.timeout(240_000);
  let full: FullPool;
  withFullPool(POOL, (own) => void (full = own), { sweepLookMs: 500, poolLookMs: 3_600_000 }, 1);

  const sweeps = async (): Promise<number> => {
    const { client, taskQueue } = full.stack;
    const query = `WorkflowType = 'janitor' AND TaskQueue = '${taskQueue}'`;
    return (await client.workflow.count(query)).count;
  };
  const counted = async (): Promise<number> =>
    Number(/^jobctl_sweeps_total (\d+)/m.exec(await full.stack.metrics())?.[1] ?? 0);
  const logged = (text: string) => () => full.stack.tail(10_000).includes(text);

  it('says once that there is no schedule, and looks at nothing without one', async () => {
    await until('it is said', logged('the janitor looks at nothing'), 30_000);
    assert.equal(await counted(), 0);
  });

  it('starts no sweep while all is well, and one for a slice that nobody owns; none while the schedule is paused', async () => {
    const { client, taskQueue } = full.stack;
    await ensureJanitorSchedule(client, taskQueue);
    const id = await full.running();
    const [looked, before] = [await counted(), await sweeps()];
    await until('it has looked three times', async () => (await counted()) >= looked + 3, 60_000);
    assert.equal(await sweeps(), before);

    const schedule = client.schedule.getHandle(janitorScheduleId(taskQueue));
    await schedule.pause();
    await until('that is said', logged('its schedule is paused'), 60_000);
    const inits = await full.inits();
    const [slice] = (await full.stack.jobs.describe(id)).slices;
    // Neither the slice itself nor its pool may be quicker than the sweep.
    await full.admin.post('hold', { state: 'DELETING' });
    await full.terminate(`quota/${POOL}`);
    await full.terminate(id);
    await full.terminate(`slice/${slice?.ref.name}`);
    const paused = await counted();
    assert.equal(await sweeps(), before);

    await schedule.unpause();
    await until('a sweep has come', async () => (await sweeps()) > before, 60_000);
    await until('it deletes', async () => {
      const { status } = await client.workflow.getHandle(`slice/${slice?.ref.name}`).describe();
      return status.name === 'RUNNING';
    });
    await full.admin.post('release', {});
    await full.nothingIsLeft(inits);
    await until('all is well again', async () => (await counted()) > paused, 60_000);
  });
});

import { until } from '../until.js';
import { type Ending, endWhile, leavesNothing, PHASES, TELLS } from './ending-in-phases.js';
import type { FullPool } from './full-pool.js';
import { withFullPool } from './with-full-pool.js';

describe('a job that is ended from outside, in each phase', function () {
  this.timeout(90_000);
  let full: FullPool;
  withFullPool('ending-live', (own) => void (full = own));

  for (const phase of Object.keys(PHASES) as (keyof typeof PHASES)[])
    for (const ending of ['cancel', 'terminate'] satisfies Ending[])
      it(leavesNothing(phase, ending), () => endWhile(full, phase, ending));

  it('a cancelled process that ignores SIGTERM had its grace, and its last lines are kept', async () => {
    const id = await full.submit(TELLS);
    await full.hasPrinted(id);
    await full.stack.jobs.cancel(id);
    await full.stack.jobs.wait(id);
    await full.stoppedWithGrace(id);
    await full.nothingIsLeft();
  });

  it('a cancel that comes between two supervisions stops the command with its grace all the same', async () => {
    const { client, jobs } = full.stack;
    const id = await full.submit(TELLS);
    await full.hasPrinted(id);
    // The record that is written between two of them is held up.
    const nameMatches = `${id}/attempts/1.json`;
    await full.admin.post('refuse', { method: 'objects.insert', code: 'UNAVAILABLE', nameMatches });
    await until('nobody watches it', async () => {
      const { raw } = await client.workflow.getHandle(id).describe();
      return raw.pendingActivities?.some(
        ({ activityType, attempt }) => activityType?.name === 'recordAttempt' && (attempt ?? 0) > 1,
      );
    });
    await jobs.cancel(id);
    await until('the job ends', async () => (await jobs.row(id)).phase === 'finishing');
    await full.admin.stopRefusing();
    await jobs.wait(id);
    await full.stoppedWithGrace(id);
    await full.nothingIsLeft();
  });
});

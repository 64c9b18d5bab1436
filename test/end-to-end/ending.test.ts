import { endWhile, leavesNothing, TELLS } from './ending-in-phases.js';
import type { FullPool } from './full-pool.js';
import { withFullPool } from './with-full-pool.js';

/** In its other phases: ending.live.test.ts. */
describe('a job that is ended from outside', function () {
  this.timeout(90_000);
  let full: FullPool;
  withFullPool('ending', (own) => void (full = own));

  for (const [phase, ending] of [
    ['queued', 'cancel'],
    ['running', 'terminate'],
  ] as const)
    it(leavesNothing(phase, ending), () => endWhile(full, phase, ending));

  it('a cancelled process that ignores SIGTERM had its grace, and its last lines are kept', async () => {
    const id = await full.submit(TELLS);
    await full.hasPrinted(id);
    await full.stack.jobs.cancel(id);
    await full.stack.jobs.wait(id);
    await full.stoppedWithGrace(id);
    await full.nothingIsLeft();
  });
});

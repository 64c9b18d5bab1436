import assert from 'node:assert/strict';
import { afterWorkerError, type WorkerErrors } from '../../../domain/recovery/budgets.js';

const DAY = 86_400_000;

describe('errors of workers', () => {
  /** What the last of several errors comes to, each of a call that lasted so long. */
  const facts = (lastedMs: readonly number[]): readonly string[] => {
    let errors: WorkerErrors = 0;
    return lastedMs.map((lasted) => {
      const after = afterWorkerError(errors, lasted);
      ({ errors } = after);
      return after.fact;
    });
  };

  it('six of them, days apart, are few; six at once are too many, and five are not', () => {
    assert.deepEqual(new Set(facts(Array.from({ length: 60 }, () => 2 * DAY))), new Set(['few']));
    assert.deepEqual(facts([5_000, 0, 90_000, 4, 1, 2]), ['few', 'few', 'few', 'few', 'few', 'too many']);
  });

  it('a call that worked for ten minutes begins the row anew', () => {
    const row = [0, 0, 0, 0];
    assert.equal(facts([...row, 0, 10 * 60_000 - 1]).at(-1), 'too many');
    assert.deepEqual(facts([...row, 0, 10 * 60_000, ...row, 0]).slice(-6), [
      ...Array.from({ length: 5 }, () => 'few'),
      'too many',
    ]);
  });

  it('are followed by pauses that double, up to five minutes', () => {
    const pauses = [0, 1, 2, 3, 4, 20].map((before) => afterWorkerError(before, 0).pauseMs / 1000);
    assert.deepEqual(pauses, [2, 4, 8, 16, 32, 300]);
    assert.equal(afterWorkerError(4, DAY).pauseMs, 2_000);
  });
});

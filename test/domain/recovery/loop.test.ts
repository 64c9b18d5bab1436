import assert from 'node:assert/strict';
import { afterEnd, gaveUpText } from '../../../domain/recovery/budgets.js';

describe('a job that loops', () => {
  const MINUTE = 60_000;
  it('waits twice as long after each quick end, gives up at the tenth, and begins anew after a long run', () => {
    const pauses: (number | undefined)[] = [];
    let quickEnds = 0;
    for (let end = 1; end <= 10; end++) {
      const next = afterEnd(quickEnds, MINUTE - 1);
      quickEnds = next.quickEnds;
      pauses.push(next.pauseMs);
    }
    const seconds = [1, 2, 4, 8, 16, 32, 64, 128, 256];
    assert.deepEqual(pauses, [...seconds.map((second) => second * 1000), undefined]);
    assert.equal(quickEnds, 10);
    assert.deepEqual(afterEnd(9, MINUTE), { quickEnds: 0, pauseMs: 1000 });
    assert.match(gaveUpText('the command exited with code 0'), /code 0; it ended 10 times in a row, each within 60 s/);
  });
});

import assert from 'node:assert/strict';
import { problemOf } from '../../cloud/machines/own/claiming.js';
import { failedOnce, inspectedWell, LIKE_NEW } from '../../cloud/machines/own/pool-record.js';

const BUSY = { busy: 'accelerator devices are in use by process 7 (dmon)', warnings: [] };

describe('what is remembered of a machine', () => {
  it('that somebody else uses is told, and never counted', () => {
    const once = failedOnce(LIKE_NEW, 'its disk is full', 1);
    const busy = [2, 3, 4].reduce((record, at) => inspectedWell(record, BUSY, at), once);
    assert.deepEqual(busy, { failures: 0, lastProblem: { at: 4, text: BUSY.busy } });
    assert.equal(failedOnce(busy, 'its disk is full', 5).aside, undefined);
  });

  it('is the newest reason why it is put aside, and since when', () => {
    const aside = [1, 2, 3].reduce((record, at) => failedOnce(record, `problem ${at}`, at), LIKE_NEW);
    assert.deepEqual(aside.aside, { at: 2, reason: 'problem 3' });
  });

  it('is nothing once it was well', () => {
    const warned = inspectedWell(LIKE_NEW, { warnings: ['another model'] }, 1);
    assert.deepEqual(warned, { failures: 0, warning: 'another model' });
    assert.deepEqual(inspectedWell(failedOnce(warned, 'x', 2), { warnings: [] }, 3), LIKE_NEW);
  });

  it('is unusable for a problem and for another user, and not for a warning', () => {
    assert.equal(problemOf({ problems: ['a'], ...BUSY }), `a; ${BUSY.busy}`);
    assert.equal(problemOf({ problems: [], warnings: ['odd'] }), undefined);
  });
});

import assert from 'node:assert/strict';
import { doneTwiceActivity } from '../../activities/done-twice.js';
import { doneTwiceText } from '../../domain/done-twice.js';
import { logPrefix } from '../../domain/store-layout.js';

const job = { id: 'train', run: 'run' };

/** Attempts of eleven steps each. @param firstOf the step at which an attempt begins */
async function askedOf(attempts: number, firstOf: (attempt: number) => number) {
  const read: number[] = [];
  const { findDoneTwice } = doneTwiceActivity({
    logSides: async (prefix, host) => {
      const attempt = Array.from({ length: attempts }, (_, index) => index + 1).find(
        (each) => prefix === logPrefix(job.id, each, 'command'),
      );
      assert.ok(attempt !== undefined && host === 0, `${prefix} of host ${host}`);
      read.push(attempt);
      return Buffer.from(Array.from({ length: 11 }, (_, at) => `step ${firstOf(attempt) + at}\n`).join(''));
    },
  });
  return { found: await findDoneTwice({ job, attempts }), read };
}

describe('the attempts whose logs tell what was done twice', () => {
  it('are all of a few', async () => {
    const { found, read } = await askedOf(3, (attempt) => 10 * attempt);
    assert.deepEqual(read, [1, 2, 3]);
    assert.equal(found && doneTwiceText(found), 'step 20 by attempt 2; step 30 by attempt 3');
  });

  it('are the first and the last of many: who begins at the same checkpoint again does not begin where the job did', async () => {
    const { found, read } = await askedOf(300, (attempt) => (attempt === 1 ? 1 : 500));
    assert.deepEqual(read, [1, ...Array.from({ length: 19 }, (_, index) => 282 + index)]);
    assert.deepEqual(
      found?.again.filter(({ isAll }) => isAll),
      [],
    );
    assert.equal(found?.again.length, 18);
  });

  it('are none where no log can be read', async () => {
    assert.equal(await doneTwiceActivity({}).findDoneTwice({ job, attempts: 2 }), undefined);
  });
});

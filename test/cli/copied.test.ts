import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { copyProblem, errorLines } from '../../cli/jobs/outputs/copied.js';

describe('the errors of a download', () => {
  it('are each told once, with the number of its files', () => {
    const link = '/x/sub is a symbolic link: nothing is written through it';
    assert.deepEqual(errorLines([...Array<string>(300).fill(link), 'b: gone', link]), [
      `${link} (301 files)`,
      'b: gone',
    ]);
    assert.deepEqual(errorLines(['a', 'b']), ['a', 'b']);
  });

  it('of a full disk name the folder and what to do', () => {
    try {
      writeFileSync('/dev/full', 'x');
    } catch (error) {
      const want =
        '/data/out: no space is left on its disk (ENOSPC); free some, or choose another folder; the same command goes on where it was';
      return assert.equal(copyProblem(error, '/data/out'), want);
    }
    throw new Error('/dev/full took a byte');
  });

  it('of a quota of disk space are told alike, and others as they are', () => {
    assert.match(
      copyProblem(Object.assign(new Error('x'), { code: 'EDQUOT' }), '/d'),
      /^\/d: its user's quota of disk space/,
    );
    assert.equal(copyProblem(new Error('b: gone'), '/d'), 'b: gone');
  });
});

import assert from 'node:assert/strict';
import { errorLines } from '../../cli/jobs/outputs/download-file.js';

describe('the errors of a download', () => {
  it('are each told once, with the number of its files', () => {
    const link = '/x/sub is a symbolic link: nothing is written through it';
    assert.deepEqual(errorLines([...Array<string>(300).fill(link), 'b: gone', link]), [
      `${link} (301 files)`,
      'b: gone',
    ]);
    assert.deepEqual(errorLines(['a', 'b']), ['a', 'b']);
  });
});

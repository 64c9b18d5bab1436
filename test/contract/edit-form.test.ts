import assert from 'node:assert/strict';
import { editForm } from '../../contract/job-forms.js';

/** By whoever may send an update: a path of 100,000 keys took all memory of the worker that held the job, and of every other job. */
describe('the form of an edit', () => {
  const edit = (keys: number) =>
    editForm({ v: 1, by: 'alice', set: [{ path: Array.from({ length: keys }, () => 'a'), value: 1 }] });

  it('takes a path longer than any of a job file', () => assert.equal(edit(50).kind, 'valid'));
  it('takes none that is longer still', () => assert.equal(edit(51).kind, 'malformed'));
});

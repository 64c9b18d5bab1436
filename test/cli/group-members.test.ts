import assert from 'node:assert/strict';
import type { JobClient } from '../../client/job-client.js';
import { memberJob } from '../../cli/jobs/groups/members.js';
import { ExitCode } from '../../cli/terminal/cli-error.js';
import { type GroupState } from '../../domain/array/group-state.js';

describe('the job of a member', () => {
  const array = { axes: [{ name: 'n', from: 1, to: 4 }], exclude: [{ n: 2 }], isFailFast: false, size: 4 };
  const state: GroupState = { marks: 's-xo', rounds: '1000' };
  const client = { describeGroup: async () => ({ group: 'exp', array, state, notes: [] }) } as unknown as JobClient;

  it('is that of its last round', async () => {
    assert.equal(await memberJob(client, 'exp', 0), 'exp-r1-0');
    assert.equal(await memberJob(client, 'exp', 3), 'exp-3');
  });

  it('is never the one of somebody else that has its id', () =>
    assert.rejects(memberJob(client, 'exp', 2), { exitCode: ExitCode.NotFound, message: /exp-2 is not of group exp/ }));

  for (const index of [1, 4, 9_999])
    it(`is missing for ${index}`, () =>
      assert.rejects(memberJob(client, 'exp', index), { message: /group exp has no such member/ }));
});

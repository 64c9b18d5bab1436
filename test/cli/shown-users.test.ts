import assert from 'node:assert/strict';
import { holderLines, shareLines } from '../../cli/commands/verbs/pool.js';
import { lookOf } from '../../cli/terminal/render/look.js';
import { chipHolders, userShares } from '../../quota/chip-holders.js';
import { lease, pool, project, request } from '../quota/builders.js';

const LOOK = lookOf({ isTTY: false }, {});
const RUN = '0190a0b0-1111-7222-8333-444455556666';
const at = { submittedAt: 0, startedAt: 0 };

/** `top`, and `quota show --jobs`. */
describe('names in what a pool shows of its users', () => {
  const config = pool({ v4: 64 }, project('a', { v4: 64 }));
  const viewOf = (...users: readonly { readonly user: string; readonly isVerified?: true }[]) => ({
    config,
    leases: users.map((user, index) => lease(`job-${index}/${RUN}/1`, { v4: 8 }, { ...at, ...user })),
    requests: users.map((user, index) => request(`late-${index}/${RUN}/1`, { v4: 8 }, { submittedAt: 0, ...user })),
  });
  const first = (lines: readonly string[], column: number): readonly string[] =>
    lines.map((line) => line.trim().split(/ {2,}/)[column] ?? '');

  it('nobody is verified: the title says so', () => {
    const view = viewOf({ user: 'alice' }, { user: 'bob' });
    assert.deepEqual(first(holderLines(chipHolders(view), 0, LOOK), 1), ['USER (unverified)', 'alice', 'bob']);
    assert.deepEqual(first(shareLines(userShares(view), LOOK), 0), ['USER (unverified)', 'alice', 'bob']);
  });

  it('a job that asks in several zones is one job, with the chips of each', () => {
    const held = lease(`hedged/${RUN}/1`, { v4: 8 }, { ...at, user: 'alice' });
    const beside = { ...held, id: `${held.id}/beside-1`, state: 'draining' as const };
    const former = { ...held, id: `hedged/${RUN}/0`, state: 'draining' as const };
    const [share] = userShares({ config, leases: [held, beside, former], requests: [] });
    assert.deepEqual([share?.jobs, share?.chips], [1, 12]);
  });

  it('some are: who took the name of one is marked, and is another user', () => {
    const view = viewOf({ user: 'alice', isVerified: true }, { user: 'alice' });
    assert.deepEqual(first(holderLines(chipHolders(view), 0, LOOK), 1), ['USER', 'alice', 'alice (unverified)']);
    assert.deepEqual(first(shareLines(userShares(view), LOOK), 0).toSorted(), ['USER', 'alice', 'alice (unverified)']);
    assert.deepEqual(
      userShares(view).map(({ user, isVerified, jobs, waitingJobs }) => [user, isVerified, jobs, waitingJobs]),
      [
        ['alice', true, 1, 1],
        ['alice', false, 1, 1],
      ],
    );
    assert.deepEqual(
      chipHolders(view).map(({ job, isVerified }) => [job, isVerified]),
      [
        ['job-0', true],
        ['job-1', false],
      ],
    );
  });
});

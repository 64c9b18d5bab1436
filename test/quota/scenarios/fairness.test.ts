import assert from 'node:assert/strict';
import { decide } from '../../../quota/decide.js';
import { nominalQuota } from '../../../quota/nominal-quota.js';
import { lease, pool, project, request } from '../builders.js';
import { GRACE_AND_DRAIN_MS, inMinutes, job, MINUTE, poolOf, story } from './pool-story.js';

const HOUR = 60 * MINUTE;

describe('quota, scenario: who goes and who stays', () => {
  it("a new user's first job does not displace another's running second one of the same project", () => {
    const simulation = story(poolOf(8, { p: 8 }));
    const running = ['first', 'second'].map((id) =>
      simulation.submit(job(id, 4, { project: 'p', user: 'old', work: 120 })),
    );
    const newcomer = simulation.submit(job('new', 4, { project: 'p', user: 'new', at: 30, work: 10 }));
    simulation.run();
    assert.ok(running.every(({ stays }) => stays.length === 1 && stays[0]?.revokedAt === undefined));
    assert.equal(inMinutes(newcomer.stays[0]?.grantedAt), 122, 'it starts when the first chips are seen gone');
  });

  it('the winner starts only when the chips of its victim are free', () => {
    const simulation = story(poolOf(8, { owner: 8 }));
    const borrower = simulation.submit(job('borrower', 8, { work: 120 }));
    const owner = simulation.submit(job('owner', 8, { project: 'owner', at: 30, work: 10 }));
    simulation.run();
    assert.equal(inMinutes(borrower.stays[0]?.revokedAt), 30);
    assert.equal(owner.stays[0]?.grantedAt, borrower.stays[0]?.goneAt);
    assert.equal(inMinutes(owner.stays[0]?.grantedAt), 30 + inMinutes(GRACE_AND_DRAIN_MS));
    assert.equal(borrower.outcome, 'done', 'and the borrower comes back and ends');
  });

  it('a large borrowed job of high priority goes for small in-quota ones of low priority', () => {
    const simulation = story(poolOf(32, { owner: 16 }));
    const large = simulation.submit(job('large', 32, { priority: 1, work: 120 }));
    const small = [0, 1].map((index) =>
      simulation.submit(job(`small-${index}`, 4, { project: 'owner', priority: 5, at: 30, work: 20 })),
    );
    simulation.run();
    assert.equal(inMinutes(large.stays[0]?.revokedAt), 30);
    for (const { stays } of small) assert.equal(inMinutes(stays[0]?.grantedAt), 30 + inMinutes(GRACE_AND_DRAIN_MS));
    assert.equal(large.outcome, 'done');
  });

  it('large borrowed jobs of priority 1 are spared while there are small ones of priority 5 to evict', () => {
    const leases = [
      lease('large', { v4: 16 }, { priority: 1 }),
      ...[0, 1, 2, 3].map((index) => lease(`small-${index}`, { v4: 4 }, { priority: 5, startedAt: index })),
    ];
    const config = pool({ v4: 32 }, project('owner', { v4: 16 }));
    const asked = request('own', { v4: 8 }, { project: 'owner', priority: 5 });
    const { preemptions } = decide({ config, requests: [asked], leases }, HOUR);
    assert.deepEqual(preemptions.map(({ id }) => id).sort(), ['small-2', 'small-3'], 'the latest started');
  });

  it('a shrunk pool drains as leases end; in-quota demand has to cover what is too much as well', () => {
    const simulation = story(poolOf(32, { owner: 8 }));
    const borrowers = [0, 1, 2, 3].map((index) =>
      simulation.submit(job(`b${index}`, 8, { priority: 5 - index, work: 300 })),
    );
    simulation.configure(poolOf(16, { owner: 8 }), 20 * MINUTE);
    simulation.run(29 * MINUTE);
    assert.ok(
      borrowers.every(({ stays }) => stays[0]?.revokedAt === undefined),
      'shrinking alone evicts nobody',
    );
    const owner = simulation.submit(job('owner', 8, { project: 'owner', at: 30, work: 10 }));
    simulation.run(60 * MINUTE);
    // 32 leased of 16: 16 too much and 8 asked.
    assert.deepEqual(
      borrowers.map(({ stays }) => inMinutes(stays[0]?.revokedAt)),
      [30, 30, 30, Number.NaN],
    );
    assert.equal(inMinutes(owner.stays[0]?.grantedAt), 30 + inMinutes(GRACE_AND_DRAIN_MS));
  });
});

describe('quota, scenario: numbers', () => {
  it('a float tie: 0.1 + 0.2 and 0.3 of a pool are the same share, and time decides', () => {
    // In doubles 0.1 + 0.2 > 0.3: the project whose share is written in two halves would come second, though it asked first.
    const config = pool(
      { v4: 30 },
      project('halves', { v4: 3 }),
      project('whole', { v4: 3 }),
      project('busy', { v4: 24 }),
    );
    const leases = [
      lease('l1', { v4: 1 }, { project: 'halves' }),
      lease('l2', { v4: 1 }, { project: 'whole' }),
      lease('l3', { v4: 26 }, { project: 'busy' }),
    ];
    const ask = (id: string, name: string, submittedAt: number): ReturnType<typeof request> =>
      request(id, { v4: 2 }, { project: name, submittedAt });
    const first = decide({ config, leases, requests: [ask('x', 'halves', 1), ask('y', 'whole', 2)] }, HOUR);
    const second = decide({ config, leases, requests: [ask('x', 'halves', 2), ask('y', 'whole', 1)] }, HOUR);
    assert.deepEqual(
      first.grants.map(({ id }) => id),
      ['x'],
    );
    assert.deepEqual(
      second.grants.map(({ id }) => id),
      ['y'],
    );
  });

  it('five projects with 0.2 of 32: 7, 7, 6, 6, 6 by largest remainder and name, and all five run at once', () => {
    const names = ['e', 'd', 'c', 'b', 'a'];
    const nominal = nominalQuota(32, new Map(names.map((name) => [name, 0.2])));
    assert.deepEqual(Object.fromEntries(nominal), { a: 7, b: 7, c: 6, d: 6, e: 6 });
    const config = pool({ v4: 32 }, ...names.map((name) => project(name, { v4: nominal.get(name) ?? 0 })));
    const requests = names.map((name) => request(name, { v4: 6 }, { project: name }));
    const guest = request('guest', { v4: 4 }, { priority: 1 });
    const { grants } = decide({ config, leases: [], requests: [guest, ...requests] }, MINUTE);
    assert.deepEqual(grants.map(({ id }) => id).sort(), ['a', 'b', 'c', 'd', 'e'], 'best effort comes after them');
  });
});

import assert from 'node:assert/strict';
import { poolAccounts, type ProjectAccount } from '../../quota/pool-accounts.js';
import type { LimitedQuota, QuotaLease, QuotaRequest } from '../../quota/quota-config.js';

const T0 = Date.UTC(2026, 10, 21, 12);
const project = (name: string, ...nominal: Record<string, number>[]) => ({ name, shares: {}, nominal, members: [] });
const config: LimitedQuota = {
  kind: 'limited',
  tiers: [{ v4: 64 }, { v4: 16, v6e: 8 }],
  projects: [
    project('Vision', { v4: 32 }, { v4: 8 }),
    project('speech', { v4: 16 }),
    project('idle'),
    project('ads', { v4: 16 }),
  ],
};
let serial = 0;
function lease(over: Partial<QuotaLease>): QuotaLease {
  const id = `job-${serial++}/run/1`;
  return {
    ...{ id, project: 'vision', user: 'u', priority: 3, submittedAt: T0, startedAt: T0, tier: 0 },
    units: { v4: 8 },
    ...over,
  };
}
function request(over: Partial<QuotaRequest>): QuotaRequest {
  return {
    id: `wait-${serial++}/run/1`,
    project: 'vision',
    user: 'u',
    priority: 3,
    submittedAt: T0,
    units: { v4: 8 },
    ...over,
  };
}
function accountOf(
  rows: readonly ProjectAccount[],
  name: string,
  type = 'v4',
): Omit<ProjectAccount, 'project' | 'type'> {
  const found = rows.find((row) => row.project === name && row.type === type);
  assert.ok(found, `${name} has no row of ${type}`);
  const { project: _project, type: _type, ...account } = found;
  return account;
}
const NOTHING = { nominal: 0, used: 0, borrowed: 0, lent: 0, draining: 0, waiting: 0 };

describe('the accounts of a pool', () => {
  it('a lease that does not fit whole on what is left of its nominal quota is borrowed whole', () => {
    const leases = [
      lease({ units: { v4: 24 } }),
      lease({ units: { v4: 16 }, startedAt: T0 + 1 }),
      lease({ priority: 1 }),
    ];
    const { projects } = poolAccounts({ config, requests: [], leases });
    // By priority 8 and 24 lie on 40; the 16 that started last is borrowed, though nobody needs it. 8 of it are nobody's.
    assert.deepEqual(accountOf(projects, 'Vision'), { ...NOTHING, nominal: 40, used: 48, borrowed: 16, lent: 2 });
  });

  it('what is borrowed is lent by those who leave quota unused, in proportion, and all of it adds up', () => {
    const borrowers = [lease({ project: 'guest', units: { v4: 24 } })];
    const { projects } = poolAccounts({ config, requests: [], leases: [...borrowers, lease({ project: 'ads' })] });
    // Unused over all tiers: vision 40, speech 16, ads 8. 64 of 72 are promised, so 16 of 24 are lent.
    assert.deepEqual(
      ['Vision', 'speech', 'ads'].map((name) => accountOf(projects, name).lent),
      [10, 4, 2],
    );
    assert.deepEqual(accountOf(projects, 'guest'), { ...NOTHING, used: 24, borrowed: 24 });
  });

  it('units that are promised to nobody are lent by nobody', () => {
    const leases = [lease({ project: 'guest', tier: 1, units: { v4: 8, v6e: 8 } })];
    const { projects } = poolAccounts({ config, requests: [], leases });
    assert.equal(accountOf(projects, 'Vision').lent, 0);
    assert.equal(accountOf(projects, 'guest', 'v6e').borrowed, 8);
  });

  it('a draining lease counts in its tier and not for its project', () => {
    const { projects, tiers } = poolAccounts({
      config,
      requests: [],
      leases: [lease({ state: 'draining' }), lease({})],
    });
    assert.deepEqual(accountOf(projects, 'Vision'), { ...NOTHING, nominal: 40, used: 8, draining: 8 });
    assert.deepEqual(tiers[0], { tier: 0, type: 'v4', total: 64, inUse: 16, draining: 8, free: 48 });
  });

  it('names are one without regard to case; a project without anything has no row', () => {
    const { projects, idle } = poolAccounts({ config, requests: [request({ project: 'VISION' })], leases: [] });
    assert.deepEqual(
      projects.map((row) => row.project),
      ['Vision', 'speech', 'ads'],
    );
    assert.deepEqual(idle, ['idle']);
    assert.equal(accountOf(projects, 'Vision').waiting, 8);
  });

  it('a pool that was shrunk has less than nothing free, and lends no more than is unused', () => {
    const small: LimitedQuota = { kind: 'limited', tiers: [{ v4: 8 }], projects: [project('speech', { v4: 8 })] };
    const leases = [lease({ project: 'guest', units: { v4: 32 }, tier: 3 })];
    const { tiers, projects } = poolAccounts({ config: small, requests: [], leases });
    assert.equal(tiers[0]?.free, -24);
    assert.equal(accountOf(projects, 'speech').lent, 8);
  });

  it('an unlimited pool has neither tiers nor loans', () => {
    const pool = { config: { kind: 'unlimited' as const }, requests: [request({})], leases: [lease({})] };
    const { tiers, projects } = poolAccounts(pool);
    assert.deepEqual([tiers, accountOf(projects, 'vision')], [[], { ...NOTHING, used: 8, waiting: 8 }]);
  });
});

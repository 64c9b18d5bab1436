import assert from 'node:assert/strict';
import { nominalQuota } from '../../quota/nominal-quota.js';
import { accepted, MEMBERS, POOL, problemsOf, SCHEMA, SHARES } from './quota-files.js';

describe('quota file', () => {
  it("Bastion's is read unchanged: tiers, memberships, shares as whole units", () => {
    const tiers = '[[total_resources]]\nv4 = 1024\nv5e = 16\n[[total_resources]]\nv4 = 10\n';
    const { config, warnings } = accepted(SCHEMA + tiers + MEMBERS + SHARES);
    assert.deepEqual(config.tiers, [{ v4: 1024, v5litepod: 16 }, { v4: 10 }]);
    assert.deepEqual(config.projects, [
      { name: 'a', shares: { v4: 0.6 }, members: ['u1', 'b.*'], nominal: [{ v4: 614 }, { v4: 6 }] },
      { name: 'B', shares: { v4: 0.4 }, members: ['u1'], nominal: [{ v4: 410 }, { v4: 4 }] },
    ]);
    assert.deepEqual(warnings, []);
  });
  it('one plain table is one tier', () => {
    assert.deepEqual(accepted(SCHEMA + POOL + MEMBERS + SHARES).config.tiers, [{ v4: 1024 }]);
  });
  it('a config is plain JSON', () => {
    const { config } = accepted(SCHEMA + POOL + MEMBERS + SHARES);
    assert.deepEqual(JSON.parse(JSON.stringify(config)), config);
  });
  it('line ends and byte order marks of another system change nothing', () => {
    const text = SCHEMA + POOL + MEMBERS + SHARES;
    assert.deepEqual(accepted(`\uFEFF${text.replaceAll('\n', '\r\n')}`), accepted(text));
  });
  it('a missing table is refused, each by its name', () => {
    assert.deepEqual(problemsOf(SCHEMA + POOL + SHARES), [
      'q.toml:1:1: project_membership: is missing',
      '  a quota file needs [project_membership]',
    ]);
    assert.deepEqual(
      problemsOf('').filter((line) => !line.startsWith(' ')),
      ['toml-schema', 'total_resources', 'project_membership', 'project_resources'].map(
        (table) => `q.toml:1:1: ${table}: is missing`,
      ),
    );
  });
  it('names that every object has are names of types and projects like others', () => {
    const { config } = accepted(
      `${SCHEMA}[total_resources]\nconstructor = 4\n[project_membership]\n__proto__ = ["u"]\n[project_resources.__proto__]\nconstructor = 0.5\n`,
    );
    assert.deepEqual(
      config.projects.map(({ name, nominal }) => [name, JSON.stringify(nominal)]),
      [['__proto__', '[{"constructor":2}]']],
    );
  });
});

describe('nominal quota', () => {
  const cases: Record<string, { total: number; shares: Record<string, number>; want: Record<string, number> }> = {
    'shares that add up to 1 leave nothing': { total: 1024, shares: { a: 0.6, b: 0.4 }, want: { a: 614, b: 410 } },
    'shares below 1 are taken as written': { total: 10, shares: { a: 0.3, b: 0.3 }, want: { a: 3, b: 3 } },
    'ties go by name': { total: 1, shares: { b: 0.5, a: 0.5 }, want: { a: 1, b: 0 } },
    'shares over 1 are weights': { total: 100, shares: { a: 3, b: 1 }, want: { a: 75, b: 25 } },
    'thirds are exact': { total: 9, shares: { a: 0.1, b: 0.1, c: 0.1 }, want: { a: 1, b: 1, c: 0 } },
    'tenths are tenths, not doubles': { total: 10, shares: { a: 0.1, b: 0.2, c: 0.7 }, want: { a: 1, b: 2, c: 7 } },
    'a tiny share is read too': { total: 1e9, shares: { a: 1e-9 }, want: { a: 1 } },
    'no share is nothing': { total: 8, shares: { a: 0 }, want: { a: 0 } },
  };
  for (const [name, { total, shares, want }] of Object.entries(cases)) {
    it(name, () => assert.deepEqual(Object.fromEntries(nominalQuota(total, new Map(Object.entries(shares)))), want));
  }
});

import assert from 'node:assert/strict';
import { formatProblems } from '../../domain/problem.js';
import { nominalQuota } from '../../quota/nominal-quota.js';
import type { QuotaConfig } from '../../quota/quota-config.js';
import { parseQuotaFile } from '../../quota/quota-file.js';
import type { ParsedQuotaFile } from '../../quota/quota-file.js';

const SCHEMA = '[toml-schema]\nversion = "1"\n';
const POOL = '[total_resources]\nv4 = 1024\n';
const MEMBERS = '[project_membership]\na = ["u1", "b.*"]\nB = ["u1"]\n';
const SHARES = '[project_resources.a]\nv4 = 0.6\n[project_resources.b]\nv4 = 0.4\n';

const parse = (text: string): ParsedQuotaFile => parseQuotaFile(text, 'q.toml');

function accepted(text: string): { config: Extract<QuotaConfig, { kind: 'limited' }>; warnings: readonly string[] } {
  const parsed = parse(text);
  assert.ok(parsed.ok, parsed.ok ? '' : formatProblems(parsed.problems));
  assert.ok(parsed.config.kind === 'limited');
  return { config: parsed.config, warnings: parsed.warnings };
}

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
  it('a project in membership alone has no nominal quota', () => {
    const { config } = accepted(`${SCHEMA}${POOL}${MEMBERS}[project_resources]\n`);
    assert.deepEqual(
      config.projects.map(({ nominal }) => nominal),
      [[{}], [{}]],
    );
  });

  const warnings: Record<string, { shares: string; want: readonly string[] }> = {
    'shares over 1 are scaled down': {
      shares: '[project_resources]\na = {v4 = 0.7}\nb = {v4 = 0.7}\n',
      want: ['project_resources: the shares of v4 add up to 1.4: scaled down to 1'],
    },
    'a project without members': {
      shares: '[project_resources.c]\nv4 = 0.1\n',
      want: ['project_resources.c: not in project_membership: nobody can submit to it'],
    },
    'a type that the pool lacks': {
      shares: '[project_resources.a]\nv9 = 0.1\n',
      want: ['project_resources.a.v9: the pool has no v9: ignored'],
    },
  };
  for (const [name, { shares, want }] of Object.entries(warnings)) {
    it(`${name}: a warning`, () => assert.deepEqual(accepted(SCHEMA + POOL + MEMBERS + shares).warnings, want));
  }

  const TABLES = '  known here: toml-schema, total_resources, project_membership, project_resources';
  const PATTERN = '  a regular expression in RE2 syntax that matches the whole user id, such as "team-.*"';
  const wrong: Record<string, { text: string; want: readonly string[] }> = {
    'a version that is a number': {
      text: `[toml-schema]\nversion = 1\n${POOL}${MEMBERS}${SHARES}`,
      want: ['q.toml:2:11: version: 1 is not the version that jobctl reads', '  write version = "1"'],
    },
    'no version': {
      text: `[toml-schema]\n${POOL}${MEMBERS}${SHARES}`,
      want: ['q.toml:1:2: toml-schema.version: is missing', '  write version = "1"'],
    },
    'no memberships': {
      text: SCHEMA + POOL + SHARES,
      want: ['q.toml:1:1: project_membership: is missing', '  a quota file needs [project_membership]'],
    },
    'a key without a value': {
      text: `${SCHEMA}x = \n`,
      want: ['q.toml:3:5: not TOML: Unspecified values are invalid'],
    },
    'a table that is there twice': {
      text: `${SCHEMA}[toml-schema]\n`,
      want: ['q.toml:3:2: not TOML: Defining a key multiple times is invalid'],
    },
    'an unknown table': {
      text: `${SCHEMA}${POOL}${MEMBERS}${SHARES}[total_resource]\n`,
      want: ['q.toml:12:2: total_resource: no such key in a quota file', '  did you mean total_resources?', TABLES],
    },
    'a negative number': {
      text: `${SCHEMA}[total_resources]\nv4 = -1\n${MEMBERS}${SHARES}`,
      want: ['q.toml:4:6: v4: -1 is not a whole number of 0 or more'],
    },
    'half a unit': {
      text: `${SCHEMA}[total_resources]\nv4 = 1.5\n${MEMBERS}${SHARES}`,
      want: ['q.toml:4:6: v4: 1.5 is not a whole number of 0 or more'],
    },
    'a share that is NaN': {
      text: `${SCHEMA}${POOL}${MEMBERS}[project_resources.a]\nv4 = nan\n`,
      want: ['q.toml:9:6: v4: NaN is not a share: a number of 0 or more'],
    },
    'a share that is text, in an inline table': {
      text: `${SCHEMA}${POOL}${MEMBERS}[project_resources]\na = {v4 = "x"}\n`,
      want: ["q.toml:9:11: v4: 'x' is not a share: a number of 0 or more"],
    },
    'patterns that are none': {
      text: `${SCHEMA}${POOL}[project_membership]\na = ["(", "(?=x)", 3]\n${SHARES}`,
      want: [
        "q.toml:6:6: a[0]: '(' is no pattern: error parsing regexp: missing closing ): `(`",
        PATTERN,
        "q.toml:6:11: a[1]: '(?=x)' is no pattern: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
        PATTERN,
        'q.toml:6:20: a[2]: 3 is no pattern: it is not text',
        PATTERN,
      ],
    },
    'names that differ by case only': {
      text: `${SCHEMA}${POOL}[project_membership]\na = ["u"]\nA = ["v"]\n${SHARES}`,
      want: [
        "q.toml:7:1: A: 'A' and 'a' differ by case only",
        '  project names are compared without regard to case: keep one',
      ],
    },
    'one type under two names': {
      text: `${SCHEMA}[total_resources]\nv5e = 1\nv5litepod = 2\n${MEMBERS}${SHARES}`,
      want: ['q.toml:5:1: v5litepod: v5litepod is given twice', '  v5e is another name of v5litepod'],
    },
    'a number where a table belongs': {
      text: `total_resources = 3\n${SCHEMA}${MEMBERS}${SHARES}`,
      want: ['q.toml:1:19: total_resources: 3 is not a table', '  write [total_resources] and lines of name = value'],
    },
  };
  for (const [name, { text, want }] of Object.entries(wrong)) {
    it(`${name}: refused with place, value and what is allowed`, () => {
      const parsed = parse(text);
      assert.deepEqual(parsed.ok ? ['accepted'] : formatProblems(parsed.problems).split('\n'), want);
    });
  }
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

import assert from 'node:assert/strict';
import { checkFiles } from '../../quota/files/pool-files.js';
import { resolveProject } from '../../quota/membership.js';
import { accepted, MEMBERS, POOL, problemsOf, SCHEMA, SHARES } from './quota-files.js';

/** docs/facts.md, "Predecessors": what jobctl does in each case of its table. One `describe` a row. */

type Refusals = Readonly<Record<string, { readonly text: string; readonly want: readonly string[] }>>;

function refuses(cases: Refusals): void {
  for (const [name, { text, want }] of Object.entries(cases)) {
    it(`${name}: refused with place, value and what is allowed`, () => assert.deepEqual(problemsOf(text), want));
  }
}

const nominalOf = (text: string): Record<string, unknown> =>
  Object.fromEntries(accepted(text).config.projects.map(({ name, nominal }) => [name, nominal[0]]));
const withPool = (shares: string, pool = POOL): string => SCHEMA + pool + MEMBERS + shares;

describe('quota file: version missing or not "1"', () => {
  refuses({
    'a number': {
      text: `[toml-schema]\nversion = 1\n${POOL}${MEMBERS}${SHARES}`,
      want: ['q.toml:2:11: version: 1 is not the version that jobctl reads', '  write version = "1"'],
    },
    'another one': {
      text: `[toml-schema]\nversion = "2"\n${POOL}${MEMBERS}${SHARES}`,
      want: ["q.toml:2:11: version: '2' is not the version that jobctl reads", '  write version = "1"'],
    },
    none: {
      text: `[toml-schema]\n${POOL}${MEMBERS}${SHARES}`,
      want: ['q.toml:1:2: toml-schema.version: is missing', '  write version = "1"'],
    },
  });
});

describe('quota file: invalid TOML, NaN, negative, non-number, bad regex, unknown key', () => {
  const TABLES = '  known here: toml-schema, total_resources, project_membership, project_resources';
  const UNITS = 'a whole number from 0 to 2147483647';
  const PATTERN = '  a regular expression in RE2 syntax that matches the whole user id, such as "team-.*"';
  refuses({
    'a key without a value': {
      text: `${SCHEMA}x = \n`,
      want: ['q.toml:3:5: not TOML: a value is missing, or text is not in quotes: key = "value"'],
    },
    'a table that is there twice': {
      text: `${SCHEMA}[toml-schema]\n`,
      want: ['q.toml:3:2: not TOML: the key is there twice'],
    },
    'twenty thousand levels': {
      text: `${withPool(SHARES)}x = ${'['.repeat(20_000)}${']'.repeat(20_000)}\n`,
      want: ['q.toml:1:1: not TOML: nested too deeply'],
    },
    'an unknown table': {
      text: `${withPool(SHARES)}[total_resource]\n`,
      want: ['q.toml:12:2: total_resource: no such key in a quota file', '  did you mean total_resources?', TABLES],
    },
    'an unknown key': {
      text: `${SCHEMA}versoin = "1"\n${POOL}${MEMBERS}${SHARES}`,
      want: ['q.toml:3:1: versoin: no such key in a quota file', '  did you mean version?', '  known here: version'],
    },
    'a negative number': {
      text: withPool(SHARES, '[total_resources]\nv4 = -1\n'),
      want: [`q.toml:4:6: v4: -1 is not ${UNITS}`],
    },
    'half a unit': {
      text: withPool(SHARES, '[total_resources]\nv4 = 1.5\n'),
      want: [`q.toml:4:6: v4: 1.5 is not ${UNITS}`],
    },
    'more units than are counted exactly': {
      text: withPool(SHARES, '[total_resources]\nv4 = 2147483648\n'),
      want: [`q.toml:4:6: v4: 2147483648 is not ${UNITS}`],
    },
    'a share that is NaN': {
      text: withPool('[project_resources.a]\nv4 = nan\n'),
      want: ['q.toml:9:6: v4: NaN is not a share: a number of 0 or more'],
    },
    'a share that is infinite': {
      text: withPool('[project_resources.a]\nv4 = inf\n'),
      want: ['q.toml:9:6: v4: Infinity is not a share: a number of 0 or more'],
    },
    'a share below 0': {
      text: withPool('[project_resources.a]\nv4 = -0.1\n'),
      want: ['q.toml:9:6: v4: -0.1 is not a share: a number of 0 or more'],
    },
    'a share that is text, in an inline table': {
      text: withPool('[project_resources]\na = {v4 = "x"}\n'),
      want: ["q.toml:9:11: v4: 'x' is not a share: a number of 0 or more"],
    },
    'a number where a table belongs': {
      text: `total_resources = 3\n${SCHEMA}${MEMBERS}${SHARES}`,
      want: ['q.toml:1:19: total_resources: 3 is not a table', '  write [total_resources] and lines of name = value'],
    },
    'text where a list of patterns belongs': {
      text: `${SCHEMA}${POOL}[project_membership]\na = "u1"\n${SHARES}`,
      want: ["q.toml:6:5: a: 'u1' is not a list of patterns", '  such as ["user1", "team-.*"]'],
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
    'a name of no type': {
      text: withPool(SHARES, '[total_resources]\n__proto__ = 3\n'),
      want: ['q.toml:4:1: __proto__: is no name of a type', '  letters, digits and . _ - with a letter or digit first'],
    },
  });
});

describe('quota file: shares of a type add up to less than 1', () => {
  it("they are taken as written: the rest is nobody's nominal quota", () => {
    const text = withPool('[project_resources]\na = {v4 = 0.25}\nb = {v4 = 0.5}\n', '[total_resources]\nv4 = 100\n');
    assert.deepEqual(nominalOf(text), { a: { v4: 25 }, B: { v4: 50 } });
    assert.deepEqual(accepted(text).warnings, []);
  });
});

describe('quota file: shares of a type add up to more than 1', () => {
  it('they are scaled down to 1, with a warning that names the sum', () => {
    const text = withPool(
      '[project_resources]\na = {v4 = 0.7, v6e = 0.5}\nb = {v4 = 0.7, v6e = 0.5}\n',
      '[total_resources]\nv4 = 100\nv6e = 8\n',
    );
    assert.deepEqual(nominalOf(text), { a: { v4: 50, v6e: 4 }, B: { v4: 50, v6e: 4 } });
    assert.deepEqual(accepted(text).warnings, [
      'q.toml:9:2: project_resources: the shares of v4 add up to 1.4: scaled down to 1',
    ]);
  });
});

describe('quota file: a type in project_resources that total_resources lacks', () => {
  it('a warning', () => {
    assert.deepEqual(accepted(withPool('[project_resources.a]\nv9 = 0.1\n')).warnings, [
      'q.toml:9:1: v9: the pool has no v9 (it has v4): that share is ignored',
    ]);
  });
});

describe('quota file: a project in project_resources with no membership', () => {
  const text = withPool('[project_resources.guests]\nv4 = 0.1\n');
  it('a warning: nobody can submit to it', () => {
    assert.deepEqual(accepted(text).warnings, [
      'q.toml:8:2: guests: not in project_membership: nobody can submit to it',
    ]);
  });
  it('nobody can', () => {
    const choice = resolveProject(accepted(text).config, { user: 'u1', project: 'guests', mode: 'trusted' });
    assert.equal(choice.ok ? 'taken' : choice.message, "project: 'u1' may not submit to 'guests': it has no members");
  });
});

describe('quota file: a project in membership without resources', () => {
  it('it has no nominal quota, and its members may submit', () => {
    const text = withPool('[project_resources]\n');
    assert.deepEqual(nominalOf(text), { a: {}, B: {} });
    assert.deepEqual(resolveProject(accepted(text).config, { user: 'bob', mode: 'trusted' }), {
      ok: true,
      project: 'a',
    });
  });
});

describe('quota file: project names', () => {
  it('are compared without regard to case, and shown as written', () => {
    const text = `${SCHEMA}${POOL}[project_membership]\nTeamA = ["u"]\n[project_resources.teama]\nv4 = 0.5\n`;
    assert.deepEqual(nominalOf(text), { TeamA: { v4: 512 } });
    assert.deepEqual(resolveProject(accepted(text).config, { user: 'u', project: 'TEAMA', mode: 'trusted' }), {
      ok: true,
      project: 'TeamA',
    });
  });
  refuses({
    'two that differ by case only': {
      text: `${SCHEMA}${POOL}[project_membership]\na = ["u"]\nA = ["v"]\n${SHARES}`,
      want: [
        "q.toml:7:1: A: 'A' and 'a' differ by case only",
        '  project names are compared without regard to case: keep one',
      ],
    },
  });
});

describe('quota file: no project named', () => {
  const { config } = accepted(withPool(SHARES));
  it("the user's only project", () =>
    assert.deepEqual(resolveProject(config, { user: 'bob', mode: 'trusted' }), { ok: true, project: 'a' }));
  it('several: an error that lists them', () => {
    const choice = resolveProject(config, { user: 'u1', mode: 'trusted' });
    assert.equal(choice.ok ? '' : choice.message, "project: 'u1' is a member of several projects: a, B");
  });
  it('a member of none runs in none', () =>
    assert.deepEqual(resolveProject(config, { user: 'zed', mode: 'trusted' }), { ok: true, project: 'none' }));
  it('unless the pool requires a project', () => {
    const poolFile = { name: 'p.toml', text: '[quota]\nrequire_project = true\nadmins = ["ann"]\n' };
    const checked = checkFiles({ quotaFile: { name: 'q.toml', text: withPool(SHARES) }, poolFile });
    assert.ok(checked.ok);
    const refusal = {
      ok: false,
      message: "project: the pool takes no job without a project, and 'zed' has named none that is theirs",
      hint: 'ask ann for a membership',
    };
    assert.deepEqual(resolveProject(checked.config, { user: 'zed', mode: 'trusted' }), refusal);
    assert.deepEqual(resolveProject(checked.config, { user: 'zed', project: 'none', mode: 'trusted' }), refusal);
    assert.deepEqual(resolveProject(checked.config, { user: 'bob', mode: 'trusted' }), { ok: true, project: 'a' });
  });
});

describe('quota file: none at all', () => {
  it('the pool is unlimited', () => {
    assert.deepEqual(checkFiles({}), {
      ok: true,
      config: { kind: 'unlimited' },
      defaults: { pool: 'default' },
      warnings: [],
    });
  });
});

describe('quota file: user not a member of the project named', () => {
  it('refused, with what the user may use', () => {
    assert.deepEqual(
      resolveProject(accepted(withPool(SHARES)).config, { user: 'bob', project: 'B', mode: 'trusted' }),
      {
        ok: false,
        message: "project: 'bob' may not submit to 'B': not a member",
        hint: "'bob' may use: a",
      },
    );
  });
});

describe('quota file: unit of a type', () => {
  it('types may have any name, and v5e is v5litepod', () => {
    const { config } = accepted(
      withPool('[project_resources.a]\nV5E = 0.5\n', '[total_resources]\nv5e = 16\n7x = 8\n'),
    );
    assert.deepEqual(config.tiers, [{ v5litepod: 16, '7x': 8 }]);
    assert.deepEqual(config.projects[0]?.nominal, [{ v5litepod: 8 }]);
  });
  refuses({
    'one type under two names': {
      text: withPool(SHARES, '[total_resources]\nv5e = 1\nv5litepod = 2\n'),
      want: ['q.toml:5:1: v5litepod: v5litepod is given twice', '  v5e is another name of v5litepod'],
    },
  });
});

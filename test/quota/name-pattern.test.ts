import assert from 'node:assert/strict';
import type { Subject } from '../../domain/access.js';
import { maySubmitFor, NO_ACCESS_RULES, rolesOf, isMember, resolveProject, looseName } from '../../quota/membership.js';
import { judgeSubmission } from '../../quota/submission.js';
import type { QuotaConfig } from '../../quota/quota-config.js';
import { pool, project } from './builders.js';
import { accepted, POOL, problemsOf, SCHEMA, SHARES } from './quota-files.js';

const poolOf = (...members: readonly string[]): QuotaConfig => pool({ v4: 8 }, { ...project('vision'), members });
const person = (id: string, ...groups: readonly string[]): Subject => ({ kind: 'user', id, groups });

/** Every place in which a verified name is compared with what an operator wrote: whether `user` is let in by `entry`. */
const PLACES: Readonly<Record<string, (entry: string, user: string) => boolean>> = {
  'member of a project': (entry, user) => isMember({ ...project('p'), members: [entry] }, user, 'verified'),
  'project of a job': (entry, user) => {
    const choice = resolveProject(poolOf(entry), { user, mode: 'verified' });
    return choice.ok && choice.project === 'vision';
  },
  'a project that a job names, as a worker judges it': (entry, user) =>
    judgeSubmission(poolOf(entry), {
      ...{ user, project: 'vision', mode: 'verified', shown: 'v4-8', key: 'tpu.accelerator' },
      ask: { units: { v4: 8 } },
    }).ok,
  'role of member': (entry, user) =>
    rolesOf(person(user), { pool: 'p', project: 'vision' }, { rules: NO_ACCESS_RULES, config: poolOf(entry) }).includes(
      'member',
    ),
  'whom a service submits for': (entry, user) =>
    maySubmitFor({ kind: 'service', id: 'ci', groups: [] }, user, {
      ...NO_ACCESS_RULES,
      services: [{ subject: 'ci', submitFor: [entry] }],
    }),
  operators: (entry, user) =>
    rolesOf(
      person(user),
      { pool: 'p' },
      { rules: { ...NO_ACCESS_RULES, operators: [`user:${entry}`] }, config: poolOf() },
    ).includes('operator'),
  'admins of a project': (entry, user) =>
    rolesOf(
      person(user),
      { pool: 'p', project: 'vision' },
      { rules: { ...NO_ACCESS_RULES, projectAdmins: { vision: [`user:${entry}`] } }, config: poolOf() },
    ).includes('admin'),
  groups: (entry, user) =>
    rolesOf(
      person('x', user),
      { pool: 'p' },
      { rules: { ...NO_ACCESS_RULES, operators: [`group:${entry}`] }, config: poolOf() },
    ).includes('operator'),
};

/** A name, and those who are somebody else. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  'j.doe@example.org': [
    'jxdoe@example.org',
    'j-doe@example.org',
    'j.doe@exampleXorg',
    'J.DOE@example.org',
    'j.doe@example.org.',
    'xj.doe@example.org',
    'j.doe@example.org\n',
    'j．doe@example.org',
    'j.doe@example.org@evil.org',
    '',
  ],
  'ann+ml@example.org': ['annnml@example.org', 'annml@example.org'],
  'j.d': ['jxd'],
  '.+@example.org': ['eve@example.org'],
  'rené.b@example.org': ['renéxb@example.org', 'rene\u0301.b@example.org', 'rene.b@example.org'],
  'rene\u0301.b@example.org': ['rene\u0301xb@example.org'],
};

describe('names of verified users (docs/adr/0105)', () => {
  for (const [place, isLetIn] of Object.entries(PLACES)) {
    it(`${place}: a name lets in its owner, and nobody who is called almost so`, () => {
      for (const [name, others] of Object.entries(OTHERS)) {
        assert.ok(isLetIn(name, name), name);
        for (const other of others)
          assert.equal(isLetIn(name, other), false, `${name} let ${JSON.stringify(other)} in`);
      }
    });
  }

  it('what is no plain name is a pattern as before, of the whole name', () => {
    const cases: readonly (readonly [entry: string, user: string, want: boolean])[] = [
      ['.*@example\\.org', 'eve@example.org', true],
      ['.*@example\\.org', 'eve@examplexorg', false],
      ['j\\.doe@example\\.org', 'j.doe@example.org', true],
      ['j\\.doe@example\\.org', 'jxdoe@example.org', false],
      ['ann|bob', 'bob', true],
      ['ann|bob', 'bobby', false],
      ['ann|bob', 'annabob', false],
      ['ann|bob', 'xbob', false],
      ['(?m)^ann$', 'ann\neve', false],
      ['(?i)ann', 'ANN', true],
    ];
    for (const place of ['member of a project', 'project of a job', 'whom a service submits for'] as const)
      for (const [entry, user, want] of cases) assert.equal(PLACES[place]?.(entry, user), want, `${place}: ${entry}`);
  });

  it('in trusted mode the file means what it means for Bastion', () => {
    for (const user of ['j.doe', 'jxdoe'])
      assert.ok(isMember({ ...project('p'), members: ['j.doe'] }, user, 'trusted'), user);
  });
});

describe('members that say more than they seem to', () => {
  const cases: Readonly<Record<string, { entry: string; known?: readonly string[]; want: RegExp | undefined }>> = {
    'a dot before the @, and who else is meant by it': {
      entry: 'j.doe@example.org',
      known: ['j.doe@example.org', 'jxdoe@example.org', 'ann'],
      want: /any character, here jxdoe@example\.org; write 'j\\\.doe@example\\\.org'/,
    },
    'a + that a mail system takes for a letter': { entry: 'ann+ml@example.org', want: /a \+ repeats/ },
    'a pattern of addresses with a bare dot': {
      entry: '.*@mail.example.org',
      known: ['eve@mail.example.org', 'eve@mailyexample.org'],
      want: /here eve@mailyexample\.org; write '\.\*@mail\\\.example\\\.org'/,
    },
    'a dot in brackets, or behind a backslash, is a dot': { entry: '[a.]+@example\\.org', want: undefined },
    'an address without a dot before the @': { entry: 'alice@example.org', want: undefined },
    'a login name': { entry: 'alice', want: undefined },
    'patterns of login names': { entry: 'team-.{2}', want: undefined },
  };
  for (const [name, { entry, known, want }] of Object.entries(cases))
    it(name, () => {
      const loose = looseName(entry, known);
      if (want === undefined) assert.equal(loose, undefined);
      else assert.match(`${loose?.message}; ${loose?.hint}`, want);
    });

  it('are warned of in the quota file, with their place', () => {
    const { warnings } = accepted(
      `${SCHEMA}${POOL}[project_membership]\na = ["j.doe@example.org"]\nB = ["jxdoe@example.org"]\n${SHARES}`,
    );
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /^q\.toml:\d+:\d+: a\[0\]: .*here jxdoe@example\.org/);
  });

  it('an empty one is refused', () => {
    const problems = problemsOf(`${SCHEMA}${POOL}[project_membership]\na = [""]\n${SHARES}`);
    assert.match(problems.join('\n'), /'' is no pattern: it is empty/);
  });
});

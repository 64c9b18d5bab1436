import assert from 'node:assert/strict';
import type { Subject } from '../../domain/access.js';
import { type AccessRules, maySubmitFor, NO_ACCESS_RULES, rolesOf } from '../../quota/membership.js';
import type { LimitedQuota } from '../../quota/quota-config.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';

const config: LimitedQuota = {
  kind: 'limited',
  tiers: [{ v4: 8 }],
  projects: [{ name: 'Vision', shares: {}, nominal: [{}], members: ['alice', 'bob.*'] }],
};
const rules: AccessRules = {
  operators: ['group:ops', 'user:olga'],
  projectAdmins: { vision: ['user:vera', 'group:leads'] },
  services: [{ subject: 'ci', submitFor: ['a.*'] }],
  readers: 'project',
};
const user = (id: string, ...groups: string[]): Subject => ({ kind: 'user', id, groups });
const service = (id: string): Subject => ({ kind: 'service', id, groups: [] });
const job = { pool: 'default', job: 'j', owner: 'alice', project: 'vision' };
const of = (subject: Subject, object: Parameters<typeof rolesOf>[1] = job): string =>
  rolesOf(subject, object, { rules, config }).join(' ');

describe('what a subject is to a job', () => {
  const cases: Readonly<Record<string, readonly [Subject, string]>> = {
    'its user, who is a member too': [user('alice'), 'owner member authenticated'],
    'a member by pattern': [user('bobby'), 'member authenticated'],
    'an admin of the project, by name': [user('vera'), 'admin authenticated'],
    'an admin of the project, by group': [user('x', 'leads'), 'admin authenticated'],
    'an operator, by group': [user('x', 'ops'), 'operator authenticated'],
    'a service that may submit for its user': [service('ci'), 'service authenticated'],
    'a person with the name of that service': [user('ci'), 'authenticated'],
    'a service with the name of an operator who is a person': [service('olga'), 'authenticated'],
    'a stranger in a group of a like name': [user('x', 'op', 'ops2'), 'authenticated'],
  };
  for (const [name, [subject, want]] of Object.entries(cases)) it(name, () => assert.equal(of(subject), want));

  it('is nothing of a project that the quota file does not name', () => {
    assert.equal(of(user('alice'), { ...job, owner: 'zoe', project: 'none' }), 'authenticated');
  });

  it('needs the whole name of a user that a service may submit for', () => {
    assert.equal(maySubmitFor(service('ci'), 'alice', rules), true);
    assert.equal(maySubmitFor(service('ci'), 'zalice', rules), false);
    assert.equal(maySubmitFor(service('other'), 'alice', rules), false);
    assert.equal(maySubmitFor(service('ci'), 'alice', NO_ACCESS_RULES), false);
  });
});

describe('[access] of a pool file', () => {
  const parse = (text: string) => parsePoolFile(text, 'pool.toml', 'default');

  it('is read as written, project names in any case', () => {
    const parsed = parse(
      '[access]\noperators = ["group:ops"]\nreaders = "pool"\n[access.projects.Vision]\nadmins = ["user:vera@e.org"]\n[[access.services]]\nsubject = "ci"\nsubmit_for = [".*@e[.]org"]\n',
    );
    assert.ok(parsed.ok);
    assert.deepEqual(parsed.access, {
      operators: ['group:ops'],
      projectAdmins: { vision: ['user:vera@e.org'] },
      services: [{ subject: 'ci', submitFor: ['.*@e[.]org'] }],
      readers: 'pool',
    });
  });

  const wrong: Readonly<Record<string, readonly [string, RegExp]>> = {
    'an operator without a kind': [
      '[access]\noperators = ["olga"]\n',
      /^pool\.toml:2:\d+: operators\[0\]: 'olga' is no principal/,
    ],
    'a pattern that is none': [
      '[[access.services]]\nsubject = "ci"\nsubmit_for = ["("]\n',
      /pool\.toml:3:\d+: submit_for\[0\]: '\(' is no pattern: /,
    ],
    'readers that are none of the words': ['[access]\nreaders = "all"\n', /pool\.toml:2:\d+: readers: /],
    'two spellings of a project': ['[access.projects.a]\n[access.projects.A]\n', /'A' and 'a' differ by case only/],
  };
  for (const [name, [text, want]] of Object.entries(wrong))
    it(`refuses ${name}, with its place`, async () => {
      const parsed = parse(text);
      assert.ok(!parsed.ok);
      const { formatProblems } = await import('../../domain/problem.js');
      assert.match(formatProblems(parsed.problems), want);
    });
});

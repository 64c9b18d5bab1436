import assert from 'node:assert/strict';
import { resolveProject, patternProblem } from '../../quota/membership.js';
import { UNLIMITED } from '../../quota/quota-config.js';
import type { QuotaConfig } from '../../quota/quota-config.js';
import { pool, project } from './builders.js';

const withMembers = (name: string, ...members: string[]): ReturnType<typeof project> => ({ ...project(name), members });
const POOL: QuotaConfig = pool(
  { v4: 8 },
  withMembers('Vision', 'alice', 'b.*'),
  withMembers('speech', 'alice', '(?i)carol', '(?P<team>x)-.*'),
  withMembers('empty'),
);

describe('quota project of a job', () => {
  const cases: Record<string, { user: string; named?: string; want: string }> = {
    'the only one of a member, as written': { user: 'bob', want: 'Vision' },
    'none for a member of none': { user: 'zed', want: 'none' },
    'the one named, without regard to case': { user: 'alice', named: 'VISION', want: 'Vision' },
    'none where none is named': { user: 'bob', named: 'none', want: 'none' },
    "Python's (?i) works": { user: 'CAROL', want: 'speech' },
    "Python's (?P<name>..) works": { user: 'x-1', want: 'speech' },
    'a pattern matches the whole user id only': { user: 'alice2', want: 'none' },
    'users are case-sensitive': { user: 'Alice', want: 'none' },
  };
  for (const [name, { user, named, want }] of Object.entries(cases)) {
    it(name, () =>
      assert.deepEqual(resolveProject(POOL, { user, project: named, mode: 'trusted' }), { ok: true, project: want }),
    );
  }

  const refusals: Record<string, { user: string; named?: string; want: readonly string[] }> = {
    'several and none named': {
      user: 'alice',
      want: [
        "project: 'alice' is a member of several projects: Vision, speech",
        'name one with --project, or project: in the job file',
      ],
    },
    'not a member': {
      user: 'bob',
      named: 'speech',
      want: ["project: 'bob' may not submit to 'speech': not a member", "'bob' may use: Vision"],
    },
    'no members at all': {
      user: 'zed',
      named: 'empty',
      want: [
        "project: 'zed' may not submit to 'empty': it has no members",
        'leave project out to run in none, best effort',
      ],
    },
    'an unknown project': {
      user: 'bob',
      named: 'visoin',
      want: ["project: 'visoin' is not in the quota file", "did you mean Vision?\n'bob' may use: Vision"],
    },
  };
  for (const [name, { user, named, want }] of Object.entries(refusals)) {
    it(`${name}: refused`, () => {
      const choice = resolveProject(POOL, { user, project: named, mode: 'trusted' });
      assert.deepEqual(choice.ok ? [] : [choice.message, choice.hint], want);
    });
  }

  it('an unlimited pool takes any', () => {
    assert.deepEqual(resolveProject(UNLIMITED, { user: 'u', project: 'x', mode: 'trusted' }), {
      ok: true,
      project: 'x',
    });
    assert.deepEqual(resolveProject(UNLIMITED, { user: 'u', mode: 'trusted' }), { ok: true, project: 'none' });
  });

  it('H1: an unlimited pool whose users are verified has no project but none', () => {
    const choose = (project?: string) => resolveProject(UNLIMITED, { user: 'u', project, mode: 'verified' });
    for (const project of [undefined, 'none', 'None']) assert.deepEqual(choose(project), { ok: true, project: 'none' });
    const choice = choose('vision');
    assert.deepEqual(choice.ok ? [] : [choice.message, choice.hint], [
      "project: the pool has no quota file, so 'vision' has no members",
      'leave project out, or ask an operator for a quota file of the pool that names vision and you',
    ]);
  });

  it('a pattern that explodes elsewhere is matched in linear time', () => {
    const explosive = pool(
      { v4: 8 },
      withMembers('a', '(a+)+'),
      withMembers('b', '(a*)*(a*)*b'),
      withMembers('c', '(a|a)*c'),
    );
    assert.deepEqual(resolveProject(explosive, { user: `${'a'.repeat(29)}!`, mode: 'trusted' }), {
      ok: true,
      project: 'none',
    });
    assert.deepEqual(resolveProject(explosive, { user: `${'a'.repeat(20_000)}!`, mode: 'trusted' }), {
      ok: true,
      project: 'none',
    });
    assert.deepEqual(resolveProject(explosive, { user: 'a'.repeat(20_000), mode: 'trusted' }), {
      ok: true,
      project: 'a',
    });
  });
});

describe('a membership pattern', () => {
  const wrong: Record<string, { pattern: string; want: string }> = {
    'of nested counts': { pattern: '((a{1,1000}){1,1000})', want: 'error parsing regexp: expression too large' },
    'of a great count': { pattern: 'a{1001}', want: 'error parsing regexp: invalid repeat count: `{1001}`' },
    'of many counts': { pattern: '(?:a{0,100}){0,10}'.repeat(50), want: 'its repeats, multiplied out, are too large' },
    'of many characters': { pattern: 'x'.repeat(1001), want: 'it has 1001 characters; 1000 are the most' },
    'with a look behind': {
      pattern: '(?<=a)b',
      want: 'error parsing regexp: invalid named capture: `(?<=a)b`',
    },
    'with a backreference': { pattern: '(a)\\1', want: 'error parsing regexp: invalid escape sequence: `\\1`' },
  };
  for (const [name, { pattern, want }] of Object.entries(wrong)) {
    it(`${name} is refused with a sentence`, () => assert.equal(patternProblem(pattern), want));
  }
  const good = ['a{1000}', '\\pL{1000}', '(?i)team-[a-z]+', '(?P<team>x)-.*', '('.repeat(400) + 'a' + ')'.repeat(400)];
  for (const pattern of good) {
    it(`${pattern.slice(0, 20)} is taken`, () => assert.equal(patternProblem(pattern), undefined));
  }
});

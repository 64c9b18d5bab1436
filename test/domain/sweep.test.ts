import assert from 'node:assert/strict';
import { memberIndexes } from '../../domain/array/array.js';
import { memberOf } from '../../domain/array/members.js';
import {
  countsByWord,
  countsText,
  freshState,
  groupIdProblem,
  groupOfMember,
  LAST_ROUND,
  memberId,
  memberWithId,
  nextRound,
  retriedState,
} from '../../domain/array/group-state.js';
import { parseJobFile } from '../../domain/job-file/parse.js';
import { sweepOptions } from '../../domain/job-file/set-option.js';
import { formatProblem, formatProblems } from '../../domain/problem.js';

const FILE = 'name: exp\ntpu: {accelerator: v5litepod-1, zone: us-central1-a}\ncommand: {run: train}\n';

const setOf = (sweeps: readonly string[]): readonly string[] => [
  ...(sweepOptions(sweeps) as ReadonlyMap<string, string>).keys(),
];

describe('--sweep', () => {
  const swept: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
    'a list of values': [['env.LR=0.1,0.01'], ['array.matrix.LR=[0.1,0.01]', 'env.LR=${array.LR}']],
    'a range': [['env.SEED=1..5'], ['array.matrix.SEED=1..5', 'env.SEED=${array.SEED}']],
    'a list of YAML': [['env.X=["a,b", c]'], ['array.matrix.X=["a,b", c]', 'env.X=${array.X}']],
    'one value': [['slices=2'], ['array.matrix.slices=[2]', 'slices=${array.slices}']],
    'two keys of one last part': [
      ['env.LR=1,2', 'secrets.LR=a,b'],
      [
        'array.matrix.LR=[1,2]',
        'env.LR=${array.LR}',
        'array.matrix.secrets_LR=[a,b]',
        'secrets.LR=${array.secrets_LR}',
      ],
    ],
    'an element of a list': [
      ['tpu.zones[0]=a,b'],
      ['array.matrix.tpu_zones_0=[a,b]', 'tpu.zones[0]=${array.tpu_zones_0}'],
    ],
    "a name of jobctl's": [['env.INDEX=1,2'], ['array.matrix.env_INDEX=[1,2]', 'env.INDEX=${array.env_INDEX}']],
  };
  for (const [name, [sweeps, options]] of Object.entries(swept))
    it(`is an axis and a reference to it: ${name}`, () => assert.deepEqual(setOf(sweeps), options));

  const wrong: Readonly<Record<string, RegExp>> = {
    'env.LR': /^--sweep env\.LR: 'env\.LR' has no =/,
    '=1,2': /'' is not a key of a job/,
    'env.LR=': /env\.LR=: names no values/,
    'array.matrix.x=1': /'array\.matrix\.x' is not a key of a job/,
    'a b=1': /'a b' is not a key of a job/,
    'env.LR=1..': /env\.LR=1\.\.: is a range without one of its ends/,
    'env.LR=..5': /is a range without one of its ends/,
    'env.LR=[1, 2': /is a list without its closing \]/,
    'env.LR=1,2,': /has a comma without a value beside it/,
  };
  for (const [sweep, why] of Object.entries(wrong))
    it(`refuses ${sweep}`, () => {
      const options = sweepOptions([sweep]);
      assert.ok('message' in options);
      assert.match(formatProblem(options), why);
    });

  it('refuses a key that is swept twice: the first values would be lost', () => {
    const options = sweepOptions(['env.LR=1,2', 'env.B=1', 'env.LR=3']);
    assert.ok('message' in options);
    assert.match(formatProblem(options), /--sweep env\.LR: 'env\.LR' is swept twice\n {2}name all its values at once/);
  });

  it('is what messages name, not the --set for which it stands', () => {
    for (const [sweep, why] of [
      ['env.A=5..1', /^--sweep env\.A=5\.\.1: array\.matrix\.A: '5\.\.1' is an empty range/],
      ['env.A=1,1', /^--sweep env\.A=1,1: array\.matrix\.A: .* is a list with 1 twice/],
      ['name=a,b', /^--sweep name=a,b: name: .*differs from member to member/],
    ] as const) {
      const saidAs = sweepOptions([sweep]) as ReadonlyMap<string, string>;
      const options = {
        file: 'a.yaml',
        env: {},
        set: [...saidAs.keys()],
        overrides: { saidAs },
        mayBeArray: true,
      } as const;
      const parsed = parseJobFile(FILE, options);
      assert.ok(!parsed.ok, sweep);
      assert.match(formatProblems(parsed.problems), why);
    }
  });

  it('makes of a file without an array the same as an array in it', () => {
    const set = setOf(['env.LR=0.1,0.01', 'env.SEED=1..3']);
    const parsed = parseJobFile(FILE, { file: 'a.yaml', env: {}, set, mayBeArray: true });
    assert.ok(parsed.ok, parsed.ok ? '' : formatProblems(parsed.problems));
    assert.equal(parsed.array && memberIndexes(parsed.array).length, 6);
    const member = memberOf(parsed.raw, 4);
    assert.ok(member.ok);
    assert.deepEqual((member.file['env'] as Record<string, unknown>)['LR'], 0.01);
    assert.deepEqual((member.file['env'] as Record<string, unknown>)['SEED'], 2);
  });

  it('names the flag of a value that is wrong', () => {
    const set = setOf(['slices=1,0']);
    const parsed = parseJobFile(FILE, { file: 'a.yaml', env: {}, set, mayBeArray: true });
    assert.ok(!parsed.ok);
    assert.match(
      formatProblems(parsed.problems),
      /--set slices=\$\{array\.slices\}: slices: 0 is not .* \(member 1: slices=0\)/,
    );
  });
});

describe('the state of a group', () => {
  it('has the failed wait again in the next round, and nobody else', () => {
    const state = { marks: 'sf-ctrkxow', rounds: '0120000000' };
    assert.equal(nextRound(state), 3);
    assert.deepEqual(retriedState(state), { marks: 'sw-cwwwwow', rounds: '0320333300' });
  });

  it('knows its members by their ids, in every round, and nobody else', () => {
    for (const round of [0, 1, 9, LAST_ROUND])
      for (const index of [0, 7, 9_999])
        assert.deepEqual(memberWithId('exp', memberId({ group: 'exp', index, round })), { group: 'exp', index, round });
    for (const id of [
      'exp',
      'exp-',
      'exp-x',
      'exp-01',
      'exp-r0-1',
      'exp-r01-1',
      'exp-r36-1',
      'expo-1',
      'exp-1-2',
      'exp-r1',
    ])
      assert.equal(memberWithId('exp', id), undefined, id);
  });

  it('begins with all members waiting, and says how many are how', () => {
    const { marks } = freshState(4, (index) => index !== 1);
    assert.equal(marks, 'w-ww');
    assert.equal(
      countsText(countsByWord('w-osffkn')),
      '1 open, 1 waiting, 1 succeeded, 2 failed, 1 skipped by fail_fast, 1 never begun',
    );
  });

  it('is of no group whose members could not be named, or would be those of a retry', () => {
    assert.equal(groupIdProblem('e'.repeat(41), 10_000, 50), undefined);
    assert.match(
      groupIdProblem('e'.repeat(42), 10_000, 50) ?? '',
      /has 42 characters, and 41 are the most for an array of 10000/,
    );
    for (const id of ['exp-r1', 'exp-3', 'exp-12345', 'exp-r1-3'])
      assert.match(groupIdProblem(id, 3, 50) ?? '', /ends like a member or a retry of another group/, id);
    for (const id of ['exp-r1a', 'exp3', 'exp-123456', '3']) assert.equal(groupIdProblem(id, 3, 50), undefined, id);
  });

  it('is named by the ids of its members, in every round', () => {
    for (const round of [0, 1, LAST_ROUND])
      assert.equal(groupOfMember(memberId({ group: 'exp-7f3k', index: 12, round })), 'exp-7f3k');
    for (const id of ['exp', 'exp-7f3k', 'exp-r1', '-3', 'exp-123456']) assert.equal(groupOfMember(id), undefined, id);
  });
});
